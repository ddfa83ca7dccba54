"""Files and folders: written beside their place under another name, then moved there whole."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import OutputRefused
from discreet.writing import require_writable_path

if TYPE_CHECKING:
    from discreet.release.output.target import FileTarget, FolderTarget


@contextmanager
def whole_file(target: FileTarget) -> Generator[Path]:
    """Give a name to write to; what is there at the end replaces the target, or goes away."""
    beside = _temporary_sibling(target.path)
    try:
        with _translate_os_errors(target.place):
            yield beside
            _flush_to_disk(beside)
            require_writable_path(target.path, may_exist=target.force)
            if target.path.exists():
                shutil.copymode(target.path, beside)  # who could not read the old one still cannot
            beside.replace(target.path)
            _flush_to_disk(target.path.parent)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


@contextmanager
def whole_folder(target: FolderTarget) -> Generator[Path]:
    """Give an empty folder to write to; what is there at the end replaces the target."""
    beside, old = _temporary_sibling(target.path), _temporary_sibling(target.path)
    try:
        with _translate_os_errors(target.place):
            beside.mkdir()
            yield beside
            for path in (*beside.iterdir(), beside):
                _flush_to_disk(path)
            _replace_folder(target, beside, old)
            _flush_to_disk(target.path.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def part_name(number: int) -> str:
    """Return the name of a file in a folder."""
    return f"part-{number:05d}.parquet"


def number_parts(folder: Path) -> None:
    """Give the files that Spark wrote names without chance in them, and drop what is no part."""
    parts = sorted(folder.glob("part-*.parquet"))  # the number of its part begins each name
    for path in set(folder.iterdir()) - set(parts):
        path.unlink()
    for path in parts:
        path.rename(folder / part_name(int(path.name.split("-")[1])))


def require_rows(folder: Path, rows: int) -> None:
    """Refuse a folder that does not hold what was written to it."""
    from pyarrow import parquet

    found = sum(parquet.read_metadata(path).num_rows for path in folder.iterdir())
    if found != rows:
        raise OutputRefused(
            f"{rows} rows were written and {found} are in the folder: the machines of the cluster "
            "do not share it. Choose a place that all of them see."
        )


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_digest(path: Path) -> str:
    """Return the SHA-256 of what `sha256sum *` prints in a folder."""
    lines = [f"{file_digest(item)}  {item.name}\n" for item in sorted(path.iterdir())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _replace_folder(target: FolderTarget, new: Path, old: Path) -> None:
    if not target.path.exists():
        new.rename(target.path)
        return
    if not target.force:
        raise OutputRefused(f"{target.place} exists. Name another folder, or add --force.")
    target.path.rename(old)
    try:
        new.rename(target.path)
    except OSError:
        old.rename(target.path)
        raise


def _temporary_sibling(path: Path) -> Path:
    # In the same folder, so that moving it is one step that cannot fail half-way.
    return path.with_name(f".discreet-{secrets.token_hex(8)}.unfinished")


def _flush_to_disk(path: Path) -> None:
    """Wait until the disk has it: a name must not be there before its content."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _translate_os_errors(place: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
    else:
        return
    raise OutputRefused(f"{place} cannot be written: {reason}. Choose another place.")
