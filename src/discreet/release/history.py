"""Earlier releases of the same people: two tables, each safe alone, may tell together what neither tells."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


ENDING = "release.json"


@dataclass(frozen=True)
class Earlier:
    """A release that was made before: where it went, its digest, and when."""

    output: str
    sha256: str | None = None
    made: str | None = None

    @property
    def is_there(self) -> bool:
        """Whether its rows can still be read from its file."""
        return Path(self.output).exists()


def earlier_releases(manifest: Path, *, table: str) -> tuple[Earlier, ...]:
    """Return the releases of `table` that manifests know: the one at `manifest`, and those beside it.

    Each manifest carries the history of the place it was written to, so that a release that replaces
    another does not forget it.
    """
    found: dict[tuple[str, str | None], Earlier] = {}
    beside = sorted(manifest.parent.glob(f"*{ENDING}")) if manifest.parent.is_dir() else []
    for path in dict.fromkeys([manifest, *beside]):
        for one in _told(path, table):
            found.setdefault((one.output, one.sha256), one)
    return tuple(found.values())


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
        own = Earlier(_place(release["output"], path), release.get("sha256"), content.get("made"))
        before = [Earlier(**entry) for entry in content.get("history", [])]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
    return [*before, own]


def _place(output: str, manifest: Path) -> str:
    """Return where an output is now: as it was typed, or beside its manifest."""
    beside = manifest.parent / Path(output).name
    return output if Path(output).exists() or not beside.exists() else str(beside)
