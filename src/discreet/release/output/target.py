"""The place the user named, refused before any work is done for it."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from discreet.engines.engine import TableTarget
from discreet.errors import OutputRefused, did_you_mean
from discreet.registry import FORMATS, FormatSpec, find_engine, find_format
from discreet.writing import require_writable_path


@dataclass(frozen=True)
class FileTarget:
    """One file; its suffix is the one of its format that its name ends in, such as `.csv.gz`."""

    path: Path
    format: FormatSpec
    suffix: str
    force: bool

    @property
    def place(self) -> str:
        """Return what messages call it."""
        return str(self.path)

    @property
    def source(self) -> str:
        """Return what `open_table` reads it back from."""
        return str(self.path)


@dataclass(frozen=True)
class FolderTarget:
    """A folder of Parquet files, which several machines can write at once."""

    path: Path
    force: bool

    @property
    def place(self) -> str:
        """Return what messages call it."""
        return f"{self.path}/"

    @property
    def source(self) -> str:
        """Return what `open_table` reads it back from."""
        return f"{glob.escape(str(self.path))}/*.parquet"


Target: TypeAlias = FileTarget | FolderTarget | TableTarget


def parse_target(text: str | Path, *, force: bool) -> Target:
    """Return the place that `text` names; a place that cannot be written is refused now.

    >>> parse_target("released.csv", force=True).place
    'released.csv'
    """
    name = str(text)
    spec = find_engine(name)
    if spec is not None:
        if spec.parse_target is None:
            raise OutputRefused(f"Tables of {spec.title} are read, not written. Name a file.")
        return spec.parse_target(name, force=force)
    if name.endswith(("/", os.sep)):
        return _parse_folder(Path(name), force=force)
    return _parse_file(Path(name), force=force)


def _parse_file(path: Path, *, force: bool) -> FileTarget:
    form, suffix = _find_format(path)
    require_writable_path(path, may_exist=force)
    if path.exists() and not path.is_file():
        raise OutputRefused(f"{path} is not a plain file. Choose another place.")
    return FileTarget(path, form, suffix, force)


def _find_format(path: Path) -> tuple[FormatSpec, str]:
    name, suffix = path.name.lower(), path.suffix.lower()
    for form in FORMATS.own():
        for ending in form.written_suffixes:
            if name.endswith(ending):
                return form, ending
    added = find_format(suffix)
    if added is not None and suffix in added.written_suffixes:
        return added, suffix
    written = [ending for form in FORMATS.all() for ending in form.written_suffixes]
    endings = [ending for ending in written if ending.count(".") == 1]
    if not path.suffix:
        raise OutputRefused(
            f"{path} has no ending that says how to write it.{did_you_mean('', endings)}"
        )
    raise OutputRefused(
        f"{path}: no file is written as '{path.suffix}'."
        f"{did_you_mean(path.suffix.lower(), endings)}"
    )


def _parse_folder(path: Path, *, force: bool) -> FolderTarget:
    if path.suffix.lower() != ".parquet":
        raise OutputRefused(
            f"A folder is written as Parquet files only: call it {path.name}.parquet/, or leave out "
            "the slash at the end to write one file."
        )
    if path.is_dir():
        require_writable_path(path.parent / f"{path.name}.new")
        _require_replaceable(path, force=force)
        return FolderTarget(path, force)
    require_writable_path(path)
    if path.exists():
        raise OutputRefused(f"{path} is a file. Leave out the slash at the end to replace it.")
    return FolderTarget(path, force)


def _require_replaceable(path: Path, *, force: bool) -> None:
    """Refuse to replace a folder, unless asked to and it holds nothing but such a release."""
    if not force:
        raise OutputRefused(f"{path}/ exists. Name another folder, or add --force to replace it.")
    if any(not _is_part(item) for item in path.iterdir()):
        raise OutputRefused(
            f"{path}/ holds other things than the parts of a table, which would be lost. "
            "Name another folder."
        )


def _is_part(path: Path) -> bool:
    return path.is_file() and (
        path.suffix == ".parquet" or path.name == "_SUCCESS" or path.suffix == ".crc"
    )
