"""The files of the invented hospital: bundled, and written into a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path

from discreet.errors import OutputRefused


def read_hospital() -> dict[str, bytes]:
    """Return the bundled files by name."""
    home = files("discreet") / "data" / "hospital"
    return {
        entry.name: entry.read_bytes()
        for entry in sorted(home.iterdir(), key=lambda entry: entry.name)
        if entry.is_file()
    }


def refuse_to_replace(folder: Path, names: Iterable[str], *, force: bool) -> None:
    """Raise `OutputRefused` when `folder` is a file, or holds one of `names` and `force` is off."""
    if folder.exists() and not folder.is_dir():
        raise OutputRefused(f"'{folder}' is a file. Name a folder for the demo.")
    taken = [name for name in names if (folder / name).exists()]
    if taken and not force:
        raise OutputRefused(
            f"'{folder}' already holds {', '.join(taken)}. "
            "Name another folder, or add --force to replace these files."
        )


def write_hospital(folder: Path, bundled: Mapping[str, bytes]) -> None:
    """Write the bundled files into `folder`, which is made when it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in bundled.items():
            (folder / name).write_bytes(content)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        raise OutputRefused(
            f"'{folder}' cannot be written ({reason}). Name a folder that can."
        ) from None
