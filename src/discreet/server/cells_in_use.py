"""Cells, in the data and in backups, that still need a version of a key."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Generator, Iterable
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.engines.connect import open_database
from discreet.engines.databases.database import Database
from discreet.errors import DiscreetError, KeyInUse
from discreet.guard.access.authority import Authority
from discreet.guard.control import ControlStore
from discreet.guard.vault.columns import versions_in
from discreet.server.backup import CONTROL, DATA, read_backup, unpack
from discreet.server.gateway.vault import SessionVault
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.server.settings import Settings

_MOST_NAMED = 5


@dataclass(frozen=True)
class CellsInUse:
    """How many cells of a column need one of the given versions."""

    table: str
    column: str
    cells: int

    @property
    def again(self) -> str:
        """The statement that re-encrypts them."""
        return f"ALTER TABLE {self.table} ALTER COLUMN {self.column} SET ENCRYPTED WITH KEY"


@dataclass(frozen=True)
class ServerData:
    """A server's data, opened by a command while the server is stopped."""

    settings: Settings
    control: ControlStore
    vault: SessionVault

    @contextmanager
    def opened(self, path: Path | None = None) -> Generator[Database]:
        """Open the data, or a copy of the embedded file.

        Raises:
            LockedSource: a running server has the file open.
        """
        own = path or self.settings.place(DATA)
        is_embedded = path is not None or self.settings.database is None
        where = own if is_embedded else self.settings.database
        key = self.vault.file_key(own) if is_embedded else None
        with closing(open_database(where, key=key)) as database:
            yield database


def refuse_in_use(
    data: ServerData, key_id: str, versions: Collection[int], *, backups: Iterable[Path]
) -> None:
    """Refuse to destroy versions of a key that cells of the data or of a backup need.

    Raises:
        KeyInUse: they are needed, or that is unknown; the message says what to do.
    """
    _refuse_cells(data, key_id, versions)
    needing = [file for file in backups if _backup_needs_key(data, file, key_id, versions)]
    if needing:
        named = ", ".join(str(file) for file in needing[:_MOST_NAMED])
        raise KeyInUse(
            f"{len(needing)} backups hold cells under the retired versions of '{key_id}': {named}. Make "
            "a new backup and remove these; or add --leave-backups, if each holds its own copy of "
            "the control store, with the key."
        )


def _refuse_cells(data: ServerData, key_id: str, versions: Collection[int]) -> None:
    authority = data.control.authority()
    if not _encrypted_columns(authority):
        return
    if data.settings.database is None and not data.settings.place(DATA).is_file():
        raise _unknown_use("the data are not in the folder")
    with data.opened() as database:
        found = cells_under(database, authority, key_id, versions)
    if found:
        listed = ", ".join(f"{use.cells:,} cells of {use.table}.{use.column}" for use in found)
        steps = "; ".join(f"{use.again} '{key_id}'" for use in found)
        raise KeyInUse(
            f"{listed} need the retired versions of '{key_id}', and could never be read again. Encrypt "
            f"them anew first, in SQL: {steps}"
        )


def cells_under(
    database: Database, authority: Authority, key_id: str, versions: Collection[int]
) -> list[CellsInUse]:
    """Count the cells, column by column, that need one of these versions of a key."""
    there = {tuple(name.lower() for name in names) for names in database.tables()}
    found: list[CellsInUse] = []
    for table, column, physical in _encrypted_columns(authority):
        if tuple(name.lower() for name in physical) not in there:
            raise _unknown_use(f"table {table} is not in the database")
        cells = 0
        with closing(database.reader()) as engine:
            query = build.select(build.column(column), source=build.table(*physical))
            for batch in engine.stream(query):
                counts = versions_in(batch.column(0), key_id)
                cells += sum(counts.get(version, 0) for version in versions)
        if cells:
            found.append(CellsInUse(table, column, cells))
    return found


def _encrypted_columns(authority: Authority) -> list[tuple[str, str, tuple[str, ...]]]:
    return [
        (f"{relation.schema}.{relation.name}", column.name, relation.physical)
        for relation in authority.relations.values()
        if relation.physical
        for column in relation.columns
        if column.key is not None
    ]


def _backup_needs_key(data: ServerData, file: Path, key_id: str, versions: Collection[int]) -> bool:
    """Return whether a backup holds such cells; an unreadable backup counts as if it did."""
    try:
        if DATA not in read_backup(file).files:
            return False
        with tempfile.TemporaryDirectory(dir=data.settings.data, prefix=".backup-") as made:
            unpack(file, Path(made), (DATA, f"{DATA}.wal", CONTROL))
            return _copy_needs_key(data, Path(made), key_id, versions)
    except (DiscreetError, OSError):
        return True


def _copy_needs_key(data: ServerData, copy: Path, key_id: str, versions: Collection[int]) -> bool:
    authority = data.control.authority()
    if (copy / CONTROL).is_file():
        control = ControlStore(copy / CONTROL)
        try:
            authority = control.authority()
        finally:
            control.close()
    with data.opened(copy / DATA) as database:
        return bool(cells_under(database, authority, key_id, versions))


def _unknown_use(why: str) -> KeyInUse:
    return KeyInUse(
        f"Whether cells need the retired versions is unknown: {why}. Name the database that the "
        "server serves: --database URL"
    )
