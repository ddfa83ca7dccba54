"""Several tables written to one folder: all of them, or none."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from discreet.engines.engine import ArrowTable
from discreet.errors import OutputRefused, did_you_mean
from discreet.progress import Progress, ignore_progress
from discreet.registry import FORMATS
from discreet.release.registry import PendingRelease
from discreet.release.synthesize.publish import write_synthetic_rows
from discreet.release.write import WrittenOutput, parse_target
from discreet.writing import require_writable_path

DEFAULT_FORMAT = "parquet"


def written_endings() -> list[str]:
    """Return the endings of files that are written, without their dots."""
    return [ending[1:] for form in FORMATS.all() for ending in form.written_suffixes]


def require_file_format(name: str) -> str:
    """Return the ending of files in a format.

    >>> require_file_format("csv")
    '.csv'
    """
    known = written_endings()
    if name.lower().lstrip(".") in known:
        return f".{name.lower().lstrip('.')}"
    raise OutputRefused(f"No file is written as '{name}'.{did_you_mean(name, known)}")


def require_table_folder(place: Path, names: Sequence[str], *, force: bool) -> None:
    """Refuse a folder that cannot be made, or that holds anything else than these tables."""
    require_writable_path(place.parent / f".{place.name}.new")
    if not place.exists() and not place.is_symlink():
        return
    if not force:
        raise OutputRefused(f"{place} exists. Name another folder, or add --force to replace it.")
    expected = {f"{name}.{ending}" for name in names for ending in written_endings()}
    if not place.is_dir() or any(
        one.name not in expected or not one.is_file() for one in place.iterdir()
    ):
        raise OutputRefused(
            f"{place} holds other things than these tables, which would be lost. Name another folder."
        )


def write_table_folder(
    place: Path,
    tables: Mapping[str, ArrowTable],
    ending: str,
    *,
    pendings: Sequence[PendingRelease] | None = None,
    progress: Progress = ignore_progress,
) -> list[WrittenOutput]:
    """Write all tables, or none: the folder appears with all of them.

    Args:
        place: The folder; what `require_table_folder` let pass is replaced.
        tables: The rows of each table, by its name.
        ending: The format of the files.
        pendings: The release of each table, which is remembered before it is visible.
        progress: Called with what is done.
    """
    beside = place.parent / f".discreet-{secrets.token_hex(8)}"
    beside.mkdir(mode=0o700)
    written: list[WrittenOutput] = []
    try:
        folder = beside / "new"
        folder.mkdir()
        for number, (name, rows) in enumerate(tables.items()):
            target = parse_target(folder / f"{name}{ending}", force=False)
            pending = None if pendings is None else pendings[number]
            made = write_synthetic_rows(rows, target, pending, progress=progress)
            if pending is not None:
                pending.is_published = False
            written.append(replace(made, place=str(place / f"{name}{ending}")))
        _replace_folder(place, folder, beside / "old")
    except OSError as error:
        raise OutputRefused(
            f"{place} cannot be written: {error.strerror}. Choose another place."
        ) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    for pending in pendings or ():
        pending.is_published = True
    return written


def _replace_folder(place: Path, new: Path, old: Path) -> None:
    """Put a folder in its place; what was there stays if that fails."""
    if place.exists():
        place.rename(old)
    try:
        new.rename(place)
    except OSError:
        if old.exists():
            old.rename(place)
        raise
