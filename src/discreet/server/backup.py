"""Backups of a server's folder: complete, consistent, and no way to undo spending."""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Collection, Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import LockedSource, OutputRefused, SourceNotFound, UnreadableSource
from discreet.result import Result

if TYPE_CHECKING:
    from discreet.engines.databases.database import EmbeddedDatabase

FORMAT = 1
DATA = "data.duckdb"
CONTROL = "control.sqlite"
LEDGER = "ledger.sqlite"
JOURNAL = "journal.sqlite"
MANIFEST = "manifest.json"
# In this order: ledger and rights are at least as new as the data, and the journal covers all.
_STORES = (CONTROL, LEDGER, JOURNAL)
_FOLDERS = ("keys", "tls")
_LEFTOVERS = ("-wal", "-shm", "-journal", ".wal")


@dataclass(frozen=True)
class Backup(Result):
    """The content of a backup; `ledger` is the number of its ledger's entries."""

    file: str
    at: str
    files: list[str]
    ledger: int | None


@dataclass(frozen=True)
class BackupHead:
    """The last entry of a ledger."""

    sequence: int
    hash: str


def write_backup(
    folder: Path, target: Path, *, at: datetime, database: EmbeddedDatabase | None = None
) -> Backup:
    """Copy a server's folder into one file, which only its owner can read.

    `database` is given by a running server; otherwise no process may have the data open meanwhile.

    Raises:
        SourceNotFound: the folder is not a server's.
        LockedSource: a running server has the data open.
        OutputRefused: the file exists already, or cannot be written.
    """
    if not any((folder / name).is_file() for name in (*_STORES, DATA)):
        raise SourceNotFound(f"{folder} is not the folder of a server: it holds none of its files.")
    if target.exists():
        raise OutputRefused(f"{target} exists. Name another file.")
    try:
        with tempfile.TemporaryDirectory(dir=target.absolute().parent, prefix=".backup-") as made:
            copy = Path(made)
            _copy_folder(folder, copy, database)
            manifest = _describe_backup(copy, at)
            _pack(copy, manifest, target)
    except OSError as error:
        raise OutputRefused(
            f"{target} cannot be written: {error.strerror}. Choose another place."
        ) from None
    return _backup_from_manifest(target, manifest)


def read_backup(file: Path) -> Backup:
    """Return the content of a backup.

    Raises:
        UnreadableSource: it is not a backup, or is damaged.
    """
    with _open_archive(file) as archive:
        return _backup_from_manifest(file, _read_archive_manifest(archive, file))


def _copy_folder(folder: Path, copy: Path, database: EmbeddedDatabase | None) -> None:
    def control() -> None:
        _copy_known(folder, copy, CONTROL)

    # No tables are defined between the copies of the data and of their rights.
    if database is not None:
        database.backup(copy / DATA, beside=control)
    else:
        _copy_data(folder, copy)
        control()
    for name in _STORES[1:]:
        _copy_known(folder, copy, name)
    _copy_others(folder, copy, done={DATA, *_STORES})
    for name in _FOLDERS:
        if (folder / name).is_dir():
            (copy / name).mkdir(mode=0o700)
            _copy_others(folder / name, copy / name, done=set())


def _copy_known(folder: Path, copy: Path, name: str) -> None:
    if (folder / name).is_file():
        copy_store(folder / name, copy / name)


def _copy_data(folder: Path, copy: Path) -> None:
    with lock_data_file(folder / DATA):
        for name in (DATA, f"{DATA}.wal"):
            if (folder / name).is_file():
                _copy(folder / name, copy / name)


def _copy_others(folder: Path, copy: Path, *, done: set[str]) -> None:
    for path in sorted(folder.iterdir()):
        if _is_plain(path) and path.name not in done:
            _copy(path, copy / path.name)


def _is_plain(path: Path) -> bool:
    is_own = not path.name.startswith(".") and not path.name.endswith(_LEFTOVERS)
    return is_own and path.is_file() and not path.is_symlink()


def _copy(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)
    target.chmod(0o600)


def copy_store(source: Path, target: Path) -> None:
    """Copy an SQLite file as of one moment, even while others write to it."""
    try:
        with closing(sqlite3.connect(source)) as read, closing(sqlite3.connect(target)) as written:
            read.backup(written)
    except sqlite3.Error:
        raise UnreadableSource(f"{source} is damaged or in use by another program.") from None
    target.chmod(0o600)


@contextmanager
def lock_data_file(data: Path) -> Generator[None]:
    """Keep DuckDB from opening the data meanwhile, and refuse if it is open already."""
    if not data.is_file():
        yield
        return
    with data.open("rb") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            raise LockedSource(
                f"{data} is in use by a server. Stop it first, or let it make a backup itself: "
                "SELECT discreet_backup('name')."
            ) from None
        yield


def _describe_backup(copy: Path, at: datetime) -> dict[str, Any]:
    files = {
        path.relative_to(copy).as_posix(): _digest_file(path)
        for path in sorted(copy.rglob("*"))
        if path.is_file()
    }
    head = _read_ledger_head(copy / LEDGER)
    ledger = None if head is None else {"sequence": head.sequence, "hash": head.hash}
    return {
        "format": FORMAT,
        "at": at.isoformat(timespec="seconds"),
        "files": files,
        "ledger": ledger,
    }


def _pack(copy: Path, manifest: dict[str, Any], target: Path) -> None:
    packed = copy / "packed"
    opened = os.open(packed, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(opened, "wb") as out:
        with tarfile.open(fileobj=out, mode="w") as archive:
            content = json.dumps(manifest, indent=2).encode()
            entry = tarfile.TarInfo(MANIFEST)
            entry.size, entry.mode = len(content), 0o600
            archive.addfile(entry, io.BytesIO(content))
            for name in manifest["files"]:
                archive.add(copy / name, name, filter=_without_owner)
        out.flush()
        os.fsync(out.fileno())
    target.hardlink_to(packed)  # fails if the file was written meanwhile


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o600
    return entry


@contextmanager
def _open_archive(file: Path) -> Generator[tarfile.TarFile]:
    try:
        with tarfile.open(file, mode="r:") as archive:
            yield archive
    except FileNotFoundError:
        raise SourceNotFound(f"There is no backup at {file}.") from None
    except (tarfile.TarError, OSError, KeyError, ValueError, TypeError):
        raise _damaged_backup(file) from None


def _read_archive_manifest(archive: tarfile.TarFile, file: Path) -> dict[str, Any]:
    read = archive.extractfile(MANIFEST)
    if read is None:
        raise _damaged_backup(file)
    manifest: dict[str, Any] = json.loads(read.read())
    if manifest["format"] > FORMAT:
        raise UnreadableSource(f"{file} was written by a newer discreet. Update discreet.")
    return manifest


def unpack(file: Path, made: Path, names: Collection[str] | None = None) -> None:
    """Extract a backup, or those of the named files that it holds, into a folder.

    Raises:
        UnreadableSource: it is not a backup, or is damaged.
    """
    with _open_archive(file) as archive:
        for name, digest in _read_archive_manifest(archive, file)["files"].items():
            if names is not None and name not in names:
                continue
            read = archive.extractfile(name)
            path = made / name
            is_inside = path.parent == made or (path.parent.parent == made and name[0] != ".")
            if read is None or not is_inside or ".." in path.parts:
                raise _damaged_backup(file)
            path.parent.mkdir(mode=0o700, exist_ok=True)
            opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(opened, "wb") as out:
                shutil.copyfileobj(read, out, 1 << 20)
                out.flush()
                os.fsync(out.fileno())
            if _digest_file(path) != digest:
                raise _damaged_backup(file)


def _read_ledger_head(ledger: Path) -> BackupHead | None:
    if not ledger.is_file():
        return None
    try:
        with closing(sqlite3.connect(ledger)) as raw:
            found = raw.execute("SELECT sequence, hash FROM discreet_ledger").fetchone()
    except sqlite3.Error:
        raise UnreadableSource(
            f"{ledger} is damaged: what was spent is unknown. Move it away first."
        ) from None
    return None if found is None else BackupHead(*found)


def _backup_from_manifest(file: Path, manifest: dict[str, Any]) -> Backup:
    ledger = manifest["ledger"]
    sequence = None if ledger is None else ledger["sequence"]
    return Backup(str(file), manifest["at"], sorted(manifest["files"]), sequence)


def _digest_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _damaged_backup(file: Path) -> UnreadableSource:
    return UnreadableSource(f"{file} is damaged, or not a backup of a server. Name another.")
