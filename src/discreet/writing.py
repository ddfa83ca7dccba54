"""Atomic writing of files, and private files that only their owner can read."""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import stat
import tempfile
import weakref
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import OutputRefused, UnprotectedFile

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
CREDENTIALS = "CREDENTIALS_DIRECTORY"  # where systemd has put them


@contextmanager
def private_files() -> Generator[None]:
    """Make every file and folder of this process for its owner only, in all libraries."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


class TemporaryFolder:
    """A private folder that is deleted with its owner, at the latest when the program ends.

    Guarantee: a signal at any moment leaves no folder behind, for what deletes it is there before it is.
    `tempfile.TemporaryDirectory` makes the folder first.

    >>> folder = TemporaryFolder()
    >>> Path(folder.name).is_dir()
    True
    >>> folder.cleanup()
    >>> Path(folder.name).exists()
    False
    """

    def __init__(self) -> None:
        path = Path(tempfile.gettempdir(), f"discreet-{secrets.token_hex(8)}")
        self.name = str(path)
        self._delete = weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)
        path.mkdir(mode=0o700)

    def cleanup(self) -> None:
        """Delete the folder and what is in it."""
        self._delete()


def make_private_folder(folder: Path) -> None:
    """Make a folder, and the folders above it that are missing, for their owner only.

    Raises:
        OutputRefused: it cannot be made.
        UnprotectedFile: it was there, and others can read or change it.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        # `parents=True` would make those above with the default mode.
        for path in reversed(missing):
            path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        reason = error.strerror or "it cannot be made"
        raise OutputRefused(f"The folder {folder} cannot be used: {reason}.") from None
    require_private(folder)


def require_private(path: Path, *, may_be_read: bool = False) -> None:
    """Refuse a file or folder that others can change or, unless `may_be_read`, read.

    Raises:
        UnprotectedFile: they can; the message shows the command that corrects it.
    """
    if os.name != "posix":
        return
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # opening the file reports that it is missing
    if is_credential(path):
        mode &= ~stat.S_IRGRP  # which systemd grants by an access list
    if mode & (_WRITABLE_BY_OTHERS if may_be_read else _OTHERS):
        raise _unprotected_file(path, mode)


def is_credential(path: Path) -> bool:
    """Return whether a file is one of the credentials that systemd gave this process."""
    folder = Path(os.environ.get(CREDENTIALS, ""))
    if not folder.is_absolute() or path.parent != folder or not folder.is_dir():
        return False
    return not folder.stat().st_mode & (stat.S_IWGRP | stat.S_IRWXO)


def _unprotected_file(path: Path, mode: int) -> UnprotectedFile:
    what = "folder" if stat.S_ISDIR(mode) else "file"
    act = "change" if mode & _WRITABLE_BY_OTHERS else "read"
    wanted = "700" if stat.S_ISDIR(mode) else "600"
    return UnprotectedFile(
        f"Others on this machine can {act} the {what} {path} (mode {stat.S_IMODE(mode):04o}). Find "
        f"out whether it was done, then run: chmod {wanted} {shlex.quote(str(path))}"
    )


def require_writable_path(path: Path, *, may_exist: bool = True) -> None:
    """Refuse a place where no file can be written, before any work is done for it."""
    if path.is_dir():
        raise OutputRefused(f"{path} is a folder. Name a file in it.")
    folder = path.parent
    if not folder.is_dir():
        raise OutputRefused(f"There is no folder {folder}. Create it, or choose another place.")
    if not os.access(folder, os.W_OK):
        raise OutputRefused(f"The folder {folder} cannot be written. Choose another place.")
    if path.exists() and not may_exist:
        raise OutputRefused(f"{path} exists. Name another file, or add --force to replace it.")


def write_private_file(path: Path, content: bytes, *, may_exist: bool) -> None:
    """Write a secret atomically, readable by its owner only."""
    require_writable_path(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        opened = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(opened, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # a lost key or mapping cannot be made again
        if may_exist:
            beside.replace(path)
        else:
            path.hardlink_to(beside)  # fails if the file was written meanwhile
    except FileExistsError:
        raise OutputRefused(f"{path} exists and is not replaced. Name another file.") from None
    except OSError as error:
        raise OutputRefused(
            f"{path} cannot be written: {error.strerror}. Choose another place."
        ) from None
    finally:
        beside.unlink(missing_ok=True)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write text or bytes atomically: a reader sees the old file or the new one, never a part."""
    require_writable_path(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with beside.open("xb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
        beside.replace(path)
    except OSError as error:
        raise OutputRefused(
            f"{path} cannot be written: {error.strerror}. Choose another place."
        ) from None
    finally:
        beside.unlink(missing_ok=True)


def refuse_collisions(
    reads: Iterable[object], writes: Mapping[str, object], *, source: object
) -> None:
    """Refuse to replace a file that is read, and to write two results into one file.

    Args:
        reads: Files that the command reads besides the source; None and addresses are passed over.
        writes: What each file will hold, such as `the rows`, and where it goes.
        source: The table; losing it cannot be undone, whatever `--force` says.
    """
    taken: dict[Path, str] = {}
    for what, place in writes.items():
        path = _local_path(place)
        if path is None:
            continue
        if _is_same(path, source):
            raise OutputRefused(f"{path} is the source itself. Name another file.")
        if any(_is_same(path, read) for read in reads):
            raise OutputRefused(f"{path} is read by this command. Name another file.")
        other = taken.setdefault(path.absolute(), what)
        if other != what:
            raise OutputRefused(f"{path} cannot hold both {other} and {what}. Name two files.")


def _local_path(place: object) -> Path | None:
    if not isinstance(place, (str, Path)) or "://" in str(place) or str(place).startswith("spark:"):
        return None
    return Path(place)


def _is_same(path: Path, other: object) -> bool:
    read = _local_path(other)
    return read is not None and path.exists() and read.exists() and path.samefile(read)
