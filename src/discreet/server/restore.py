"""Restoring a server's folder from a backup, while spending, revocations and journal are kept."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from discreet.dp.ledger.ledger import Ledger
from discreet.dp.ledger.secret import KEY_SUFFIX
from discreet.errors import OutputRefused
from discreet.guard.control import ControlStore
from discreet.guard.journal import Journal
from discreet.server.backup import (
    CONTROL,
    DATA,
    JOURNAL,
    LEDGER,
    copy_store,
    lock_data_file,
    unpack,
)
from discreet.server.settings import read_settings
from discreet.server.store_heads import witnessed_heads
from discreet.stores import AuthenticatedStore
from discreet.stores.authenticated import read_store_head
from discreet.writing import make_private_folder

_JOURNAL_KEYS = ("keys/journal.key", "keys/journal.pub")
_MOST_NAMED = 5


@dataclass(frozen=True)
class RestoreChoices:
    """What happens to what the folder knows and the backup does not.

    `forget` is the reason why it may be forgotten; empty means that it may not.
    """

    keep_ledger: bool = False
    keep_rights: bool = False
    forget: str = ""


@dataclass(frozen=True)
class UnknownHistory:
    """Whether there is evidence that nothing was spent, or revoked, since the backup was made."""

    spending: bool
    rights: bool


def restore(
    file: Path,
    folder: Path,
    *,
    replace: bool,
    choices: RestoreChoices,
    settle: Callable[[Path, UnknownHistory], None],
) -> tuple[Path | None, UnknownHistory]:
    """Restore a backup; return where the old `folder` is now, and what is unknown.

    `settle` gets the restored folder before it replaces the old one.

    Guarantee: what the folder's ledger, control store and journal know, or a witness does, is not forgotten
    unless `choices.forget`: a ledger or rights newer than the backup's are kept if the choices
    say so, and otherwise nothing is restored. The journal is always kept. Where there is no evidence
    what happened since, that is returned.

    Raises:
        OutputRefused: the folder is in use, or knows of spending or rights that the backup does not.
        UnreadableSource: the file is not a backup, or is damaged.
        LedgerFailed: the backup's ledger is inconsistent.
    """
    folder = folder.absolute()
    if folder.is_dir() and any(folder.iterdir()) and not replace:
        raise OutputRefused(
            f"{folder} is not empty. Name another folder, or add --replace: what is there is then "
            "kept beside it."
        )
    made = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    try:
        make_private_folder(made)
        unpack(file, made)
        with lock_data_file(folder / DATA):
            unknown = _carry_over(folder, made, choices)
            _verify_ledger(made / LEDGER)
            settle(made, unknown)
            return _exchange_folders(folder, made), unknown
    except OSError as error:
        raise OutputRefused(f"{folder} cannot be written: {error.strerror}.") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _carry_over(folder: Path, made: Path, choices: RestoreChoices) -> UnknownHistory:
    heads = _known_heads(folder, made)
    spending = _settle_ledger(folder, made, choices, heads)
    rights = _settle_rights(folder, made, choices, heads)
    if (folder / JOURNAL).is_file():
        (made / JOURNAL).unlink(missing_ok=True)
        copy_store(folder / JOURNAL, made / JOURNAL)
        for name in _JOURNAL_KEYS:
            if (folder / name).is_file():
                make_private_folder((made / name).parent)
                shutil.copy2(folder / name, made / name)
    return UnknownHistory(spending and not choices.forget, rights and not choices.forget)


def _known_heads(folder: Path, made: Path) -> list[Mapping[str, str]]:
    """Return the heads of ledger and control store known from outside the backup."""
    found: list[Mapping[str, str]] = []
    if (folder / JOURNAL).is_file():
        with closing(Journal(folder / JOURNAL)) as journal:
            found.append(journal.newest_heads())
    if (folder / LEDGER).is_file():
        with closing(Ledger(folder / LEDGER)) as ledger:
            known = ledger.known_heads()
        found.append({name: head.text for name, head in known.items() if name == "control"})
    settings = read_settings(folder if folder.is_dir() else made)
    found += [witnessed_heads(settings.data / path) for path in settings.audit.witness]
    return [heads for heads in found if heads]


def _settle_ledger(
    folder: Path, made: Path, choices: RestoreChoices, heads: list[Mapping[str, str]]
) -> bool:
    """Keep the existing ledger, or the backup's; return whether spending is unknown."""
    current, restored = folder / LEDGER, made / LEDGER
    if not current.is_file():
        return restored.is_file() and not _is_latest_ledger(restored, heads)
    with closing(Ledger(current)) as there:
        head = there.newest_head()
    known = 0
    if restored.is_file():
        with closing(Ledger(restored)) as older:
            if not head.sequence or older.includes(head):
                return False
            known = older.head().sequence
    if choices.forget:
        return False
    if not choices.keep_ledger:
        raise OutputRefused(
            f"The ledger in {folder} has {head.sequence:,} entries, which the backup's {known:,} do "
            "not include: going back would forget what was spent. Add --keep-ledger to restore "
            "everything else, or --forget REASON to forget it."
        )
    restored.unlink(missing_ok=True)
    copy_store(current, restored)
    beside = current.with_name(f"{LEDGER}{KEY_SUFFIX}")
    if beside.is_file():
        shutil.copy2(beside, made)
    return False


def _is_latest_ledger(restored: Path, heads: list[Mapping[str, str]]) -> bool:
    with closing(Ledger(restored)) as ledger:
        return _includes_all(ledger, "ledger", heads)


def _settle_rights(
    folder: Path, made: Path, choices: RestoreChoices, heads: list[Mapping[str, str]]
) -> bool:
    """Keep the existing rights, or the backup's; return whether revocations are unknown."""
    current, restored = folder / CONTROL, made / CONTROL
    if not current.is_file():
        return restored.is_file() and not _are_latest_rights(restored, heads)
    if not restored.is_file():
        copy_store(current, restored)
        return False
    with closing(ControlStore(current)) as there, closing(ControlStore(restored)) as older:
        if choices.forget or older.includes(there.newest_head()):
            return False
        if not choices.keep_rights:
            raise OutputRefused(_forgotten_rights(folder, there, older))
        if there.authority().relations != older.authority().relations:
            raise OutputRefused(
                f"Tables were defined since the backup was made, so that the rights in {folder} do not "
                "fit the backup's data. Add --forget REASON, and revoke again what was revoked since."
            )
    restored.unlink()
    copy_store(current, restored)
    return False


def _are_latest_rights(restored: Path, heads: list[Mapping[str, str]]) -> bool:
    with closing(ControlStore(restored)) as control:
        return _includes_all(control, "control", heads)


def _includes_all(store: AuthenticatedStore, name: str, heads: list[Mapping[str, str]]) -> bool:
    """Return whether the heads name a store, and it has reached each of them."""
    known = [read_store_head(each[name]) for each in heads if name in each]
    return bool(known) and all(map(store.includes, known))


def _forgotten_rights(folder: Path, there: ControlStore, older: ControlStore) -> str:
    version = older.state().version
    since = [each.statement for each in there.history() if each.version > version]
    changes = "; ".join(reversed(since[-_MOST_NAMED:])) or "passwords, tokens or keys"
    return (
        f"The rights in {folder} changed since the backup was made ({changes}): going back would undo that. "
        "Add --keep-rights to restore everything else, or --forget REASON to forget it."
    )


def _verify_ledger(ledger: Path) -> None:
    if ledger.is_file():
        with closing(Ledger(ledger)) as opened:
            opened.verify()


def _exchange_folders(folder: Path, made: Path) -> Path | None:
    """Move `made` to `folder`, and return where the old folder went."""
    before = None
    if folder.exists():
        if any(folder.iterdir()):
            before = folder.with_name(f"{folder.name}.before-{secrets.token_hex(4)}")
            folder.rename(before)
        else:
            folder.rmdir()
    try:
        made.rename(folder)
    except OSError:
        if before is not None:
            before.rename(folder)
        raise
    return before
