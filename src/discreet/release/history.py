"""Earlier releases of the same people: two tables, each safe alone, may reveal more together."""

from __future__ import annotations

import glob
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from discreet.attacks.manifest import NAME
from discreet.release.output.files import file_digest, folder_digest

_OPENING = b'{\n  "program": "discreet '  # how manifests begin, under any name


@dataclass(frozen=True)
class EarlierRelease:
    """A release that was made before: where it went, its digest, when, and where its rows are kept."""

    output: str
    sha256: str | None = None
    made: str | None = None
    rows: str | None = None
    quasi: tuple[str, ...] | None = None  # what outsiders were taken to know, None if unknown

    @property
    def is_there(self) -> bool:
        """Whether its rows, and not others that replaced them, can still be read."""
        path = self.place
        digest = _output_digest(path)
        return digest is not None and self.sha256 in (None, digest)

    @property
    def place(self) -> Path:
        """Return where its rows are read from: as they were kept, else where they went."""
        return Path(self.rows if self.rows is not None else self.output)

    @property
    def source(self) -> str:
        """Return what `open_table` reads it from."""
        path = self.place
        return f"{glob.escape(str(path))}/*.parquet" if path.is_dir() else str(path)


def earlier_releases(
    manifest: Path, *, table: str, output: Path | None = None
) -> tuple[EarlierRelease, ...]:
    """Return the releases of `table` whose manifests stand beside `manifest` or beside `output`.

    The registry knows those of its custodian; these may be another custodian's.
    """
    found: dict[tuple[str, str | None], EarlierRelease] = {}
    folders = [place.parent for place in (manifest, output) if place is not None]
    beside = [path for folder in folders if folder.is_dir() for path in _find_manifests(folder)]
    for path in dict.fromkeys([manifest, *beside]):
        one = _release_of_manifest(path, table)
        if one is not None:
            found.setdefault((one.output, one.sha256), one)
    return tuple(found.values())


def distinct_releases(earlier: Iterable[EarlierRelease]) -> tuple[EarlierRelease, ...]:
    """Return releases once each: those with equal bytes are one, read where it still can be."""
    found: dict[str, EarlierRelease] = {}
    for one in earlier:
        digest = one.sha256 or _output_digest(one.place)
        key = digest or one.output
        known = found.get(key)
        if known is None:
            found[key] = one
            continue
        better = one if one.is_there and not known.is_there else known
        found[key] = replace(better, quasi=_merge_names(known.quasi, one.quasi))
    return tuple(found.values())


def _merge_names(
    one: tuple[str, ...] | None, other: tuple[str, ...] | None
) -> tuple[str, ...] | None:
    if one is None or other is None:
        return other if one is None else one
    return tuple(dict.fromkeys((*one, *other)))


def _output_digest(path: Path) -> str | None:
    if not path.exists():
        return None
    return folder_digest(path) if path.is_dir() else file_digest(path)


def _find_manifests(folder: Path) -> list[Path]:
    """Return the files of a folder that are called as manifests are, or begin as they do."""
    return [
        path
        for path in sorted(folder.glob("*.json"))
        if path.name.endswith(NAME) or _begins_as_manifest(path)
    ]


def _begins_as_manifest(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_OPENING)) == _OPENING
    except OSError:
        return False


def _release_of_manifest(path: Path, table: str) -> EarlierRelease | None:
    """Return the release of a manifest; a file of another kind has none."""
    try:
        content = json.loads(path.read_text("utf-8"))
        release, tables = content["release"], content["policy"]["tables"]
        if table not in tables or not release["output"]:
            return None
        columns: dict[str, dict[str, str]] = tables[table].get("columns") or {}
        quasi = [name for name, column in columns.items() if column["role"] == "quasi-identifier"]
        own = EarlierRelease(
            release["output"],
            release.get("sha256"),
            content.get("made"),
            quasi=tuple(quasi) if columns else None,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return _locate_release(own, path)


def _locate_release(one: EarlierRelease, manifest: Path) -> EarlierRelease:
    """Return a release with where it is now: as it was typed, or beside its manifest."""
    beside = replace(one, output=str(manifest.parent / Path(one.output).name))
    return beside if not one.is_there and beside.is_there else one
