"""The folder of a server, as commands beside it open it: its control store, key file and journal."""

from __future__ import annotations

import getpass
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.errors import InvalidKey, SourceNotFound, WrongUsage
from discreet.guard.vault.keys import KeyAction
from discreet.guard.vault.wrapping import WrappingKey

if TYPE_CHECKING:
    from discreet.guard.control import ControlStore
    from discreet.guard.control.documents import Documents
    from discreet.server.settings import Settings
    from discreet.server.store_heads import ServerStores
    from discreet.stores.seal import Seal

BACKED_UP = "back up to "  # how the journal records a backup, before its place
OWN_KEY = Path("keys") / "master.key"

data_argument = click.argument(
    "data", metavar="DIR", type=click.Path(path_type=Path, file_okay=False)
)
key_file_option = click.option(
    "--key-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The server's key. Default: the one in server.yaml, or keys/master.key in DIR.",
)

reason_option = click.option(
    "--reason", metavar="TEXT", required=True, help="The reason, for the journal."
)


@dataclass
class ServerFolder:
    """An opened folder: its control store, where its key is, and who does something now.

    `seal` authenticates the stores, once the control store was checked with the server's key.
    """

    control: ControlStore
    key_file: Path | None
    act: KeyAction
    settings: Settings
    seal: Seal | None = None

    def key(self) -> WrappingKey:
        """Return the server's key."""
        from discreet.guard.vault.key_services import read_server_key

        if self.key_file is None:
            raise WrongUsage(
                f"This server has no key yet. Make one: discreet key create {self.settings.data}"
            )
        return read_server_key(self.key_file, self.settings.key_address)

    def documents(self) -> Documents:
        """Return the documents with their secrets unsealed."""
        return self._open()[0]

    def authenticate(self, *, also: WrappingKey | None = None) -> None:
        """Check a sealed control store with the server's key, or with `also`, if there is one.

        Without a key it can be read, and every change is refused.
        """
        if self.key_file is None or not self.control.is_sealed:
            return
        try:
            self._open()
        except InvalidKey:
            if also is None:
                raise
            self._open(key=also)

    @contextmanager
    def stores(self) -> Generator[ServerStores]:
        """Open ledger and journal; those that are not there are made."""
        from discreet.dp.ledger.ledger import Ledger
        from discreet.guard.journal import Journal
        from discreet.server.store_heads import ServerStores

        settings = self.settings
        ledger = Ledger(settings.ledger or settings.place("ledger.sqlite"))
        journal = Journal(settings.journal or settings.place("journal.sqlite"))
        try:
            yield ServerStores(settings, self.control, ledger, journal)
        finally:
            journal.close()
            ledger.close()

    def _open(self, *, key: WrappingKey | None = None) -> tuple[Documents, Seal | None]:
        from discreet.guard.vault.authentication import open_control

        if key is None and self.key_file is not None:
            key = self.key()
        documents, self.seal = open_control(self.control, key, act=self.act)
        return documents, self.seal

    def backups(self) -> list[Path]:
        """Return the backups that are in the folder, or where they were written according to the journal."""
        own = self.settings.place("backups")
        found = sorted(path for path in own.glob("*") if path.is_file()) if own.is_dir() else []
        return [*found, *(path for path in _recorded_backups(self.settings) if path.is_file())]

    def record(self, kind: str, what: str) -> None:
        """Record an act in the journal before it is done, also before the first start."""
        _record(self.settings, self.act, kind, what, seal=self.seal)


def _recorded_backups(settings: Settings) -> list[Path]:
    from discreet.guard.journal import Journal
    from discreet.guard.journal.search import EntryFilter

    place = settings.journal or settings.place("journal.sqlite")
    if isinstance(place, Path) and not place.is_file():
        return []
    journal = Journal(place)
    try:
        reasons = [
            entry.event.reason or "" for entry in journal.entries(EntryFilter(kind="backup"))
        ]
    finally:
        journal.close()
    return [Path(what.removeprefix(BACKED_UP)) for what in reasons if what.startswith(BACKED_UP)]


def record_in(data: Path, kind: str, what: str, *, key_file: Path | None = None) -> None:
    """Record what is done to a server's folder as a whole in its journal, if there is one."""
    from discreet.guard.vault.keys import KeyAction
    from discreet.server.folder import require_protected
    from discreet.server.settings import read_settings

    require_protected(data)
    settings = read_settings(data)
    if not settings.journal and not settings.place("journal.sqlite").is_file():
        return
    if settings.control or settings.place("control.sqlite").is_file():
        with open_server_folder(data, key_file) as served:
            served.record(kind, what)
    else:
        _record(settings, KeyAction(_system_user(), datetime.now(UTC)), kind, what)


def _record(
    settings: Settings, act: KeyAction, kind: str, what: str, *, seal: Seal | None = None
) -> None:
    from discreet.guard.journal import Event, Journal

    journal = Journal(settings.journal or settings.place("journal.sqlite"))
    try:
        if seal is not None:
            journal.authenticate(seal)
        event = Event(at=act.at, kind=kind, user=act.by, protocol="cli", reason=what)
        journal.record(event)
    finally:
        journal.close()


@contextmanager
def open_server_folder(
    data: Path, key_file: Path | None = None, *, make: bool = False, authenticate: bool = True
) -> Generator[ServerFolder]:
    """Open a server's folder, and check its control store; with `make`, one that is not there is made."""
    from discreet.guard.control import ControlStore
    from discreet.guard.vault.keys import KeyAction
    from discreet.server.folder import make_folder, require_protected
    from discreet.server.settings import read_settings

    settings = read_settings(data)
    place = settings.control or settings.place("control.sqlite")
    if isinstance(place, Path) and not place.exists() and not make:
        raise SourceNotFound(
            f"There is no server in {data}. Make one: discreet serve --data {data}, or "
            f"discreet key create {data}"
        )
    if make:
        make_folder(data)
    else:
        require_protected(data)
    act = KeyAction(_system_user(), datetime.now(UTC))
    control = ControlStore(place)
    try:
        served = ServerFolder(control, _key_file(settings, key_file), act, settings)
        if authenticate:
            served.authenticate()
        yield served
    finally:
        control.close()


def _key_file(settings: Settings, key_file: Path | None) -> Path | None:
    """Return where the server's key is: as given, as in its settings, or in its folder."""
    if key_file is not None:
        return key_file
    if settings.key_file is not None:
        return settings.data / settings.key_file
    own = settings.place(str(OWN_KEY))
    return own if own.exists() else None


def _system_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a machine that has no name for this user
        return "unknown"
