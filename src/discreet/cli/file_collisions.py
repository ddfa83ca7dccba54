"""Files that a command reads and writes: what is read is never replaced, nothing is written twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from discreet.errors import OutputRefused


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
