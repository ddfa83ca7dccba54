"""Earlier releases of the same people: two tables, each safe alone, may tell together what neither tells."""

from __future__ import annotations

import glob
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.release.output.files import file_digest, folder_digest

if TYPE_CHECKING:
    from collections.abc import Iterable


ENDING = "release.json"
_OPENING = b'{\n  "program": "discreet '  # how manifests begin, whatever they are called


@dataclass(frozen=True)
class Earlier:
    """A release that was made before: where it went, its digest, and when."""

    output: str
    sha256: str | None = None
    made: str | None = None

    @property
    def is_there(self) -> bool:
        """Whether its rows, and not others that replaced them, can still be read from its place."""
        path = Path(self.output)
        if not path.exists() or self.sha256 is None:
            return path.exists()
        return self.sha256 == (folder_digest(path) if path.is_dir() else file_digest(path))

    @property
    def source(self) -> str:
        """Return what `open_table` reads it from."""
        path = Path(self.output)
        return f"{glob.escape(str(path))}/*.parquet" if path.is_dir() else self.output


def earlier_releases(
    manifest: Path, *, table: str, output: Path | None = None
) -> tuple[Earlier, ...]:
    """Return the releases of `table` that manifests know: beside `manifest`, and beside `output`.

    Each manifest carries the history of the place it was written to, so that a release that replaces
    another does not forget it.
    """
    found: dict[tuple[str, str | None], Earlier] = {}
    folders = [place.parent for place in (manifest, output) if place is not None]
    beside = [path for folder in folders if folder.is_dir() for path in _manifests(folder)]
    for path in dict.fromkeys([manifest, *beside]):
        for one in _told(path, table):
            found.setdefault((one.output, one.sha256), one)
    return tuple(found.values())


def _manifests(folder: Path) -> list[Path]:
    """Return the files of a folder that are called as manifests are, or begin as they do."""
    return [
        path
        for path in sorted(folder.glob("*.json"))
        if path.name.endswith(ENDING) or _begins_as_manifest(path)
    ]


def _begins_as_manifest(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_OPENING)) == _OPENING
    except OSError:
        return False


def history_value(earlier: Iterable[Earlier]) -> list[dict[str, Any]]:
    """Return releases as a manifest keeps them."""
    return [asdict(one) for one in earlier]


def _told(path: Path, table: str) -> list[Earlier]:
    """Return the release of a manifest and those before it; a file of another kind has none."""
    try:
        content = json.loads(path.read_text("utf-8"))
        release, tables = content["release"], content["policy"]["tables"]
        if table not in tables or not release["output"]:
            return []
        own = Earlier(release["output"], release.get("sha256"), content.get("made"))
        before = [Earlier(**entry) for entry in content.get("history", [])]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
    return [_placed(one, path) for one in (*before, own)]


def _placed(one: Earlier, manifest: Path) -> Earlier:
    """Return a release with where it is now: as it was typed, or beside its manifest."""
    beside = replace(one, output=str(manifest.parent / Path(one.output).name))
    return beside if not one.is_there and beside.is_there else one
