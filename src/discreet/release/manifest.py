"""The manifest of a release: what was done, from what, with what proof; enough to do it again."""

from __future__ import annotations

import glob
import json
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from discreet.engines.address import POSTGRES, SPARK, take_parameter
from discreet.errors import InvalidManifest, SourceNotFound
from discreet.policy.answering import Limits
from discreet.policy.hierarchies.lookup import Lookup
from discreet.policy.model import Policy
from discreet.policy.write import policy_value
from discreet.release.history import history_value
from discreet.release.write import sha256_of_source
from discreet.result import plain
from discreet.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.policy import model
    from discreet.release.release import Release

NAME = "release.json"
FORMAT = 1
# Classes by their values, and who is alone at the end of a column, are for the custodian's eyes: a
# manifest goes with the release.
_PRIVATE = ("diversity", "outliers", "history")


@dataclass(frozen=True)
class Manifest:
    """What a manifest says that is needed to make the release again."""

    arguments: Mapping[str, Any]
    files: Mapping[str, str]
    output: str | None
    sha256: str | None


def manifest_path(output: str | Path) -> Path:
    """Return where the manifest of an output goes: `release.json` beside it.

    Where that is the manifest of another output, the output's own name comes first.
    """
    text = str(output)
    table = text.removeprefix(SPARK) if text.startswith(SPARK) else None
    if text.startswith(POSTGRES):
        table = take_parameter(text, "table")[1] or "table"
    name = PurePath(table or text).name
    folder = Path() if table else Path(text).parent
    usual = folder / NAME
    known = _output_of(usual) if usual.exists() else name
    # A manifest stands beside its output, so that the name says which one it is of.
    if PurePath(known).name in (name, f"table {name}", f"table public.{name}"):
        return usual
    return folder / f"{name}.{NAME}"


def write_manifest(
    path: Path,
    release: Release,
    policy: model.Table,
    *,
    arguments: Mapping[str, Any],
    files: Mapping[str, str],
    made: str | None = None,
) -> None:
    """Write what was done, with digests of all that it read and wrote; no key, no seed, no row."""
    told = {name: value for name, value in release.to_dict().items() if name not in _PRIVATE}
    told["criteria"] = [
        {name: value for name, value in verdict.items() if name != "worst"}
        for verdict in told["criteria"]
    ]
    told["manifest"] = str(path)
    content = {
        "program": f"discreet {version('discreet')}",
        "format": FORMAT,
        "made": made,
        "arguments": dict(arguments),
        "files": dict(files),
        "policy": plain(policy_value(Policy({policy.name: _published(policy)}))),
        "release": told,
        # What is published next of the same people is attacked together with these.
        "history": history_value(release.history),
    }
    write_whole(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def _published(policy: model.Table) -> model.Table:
    """Return what `policy` says of publishing: what answers may tell has no part in a release."""
    return replace(
        policy, public=False, budget=None, limits=Limits(), unit_period=None, partitions={}
    )


def read_manifest(path: Path) -> Manifest:
    """Return what the manifest in `path` says.

    Raises:
        SourceNotFound: There is no such file.
        InvalidManifest: It is not a manifest of `anonymize`.
    """
    try:
        content = json.loads(path.read_text("utf-8"))
        release = content["release"]
        manifest = Manifest(
            dict(content["arguments"]), dict(content["files"]), release["output"], release["sha256"]
        )
    except FileNotFoundError:
        raise SourceNotFound(f"There is no manifest {path}.") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidManifest(
            f"{path} is no manifest of `discreet anonymize`. Name the release.json it wrote."
        ) from None
    if content.get("format") != FORMAT:
        raise InvalidManifest(
            f"{path} was written by {content.get('program')}, whose manifests this version cannot "
            "replay. Use that version."
        )
    return manifest


def digests(
    policy: model.Table, *, source: object, policy_file: Path | None, against: object = None
) -> dict[str, str]:
    """Return the SHA-256 of every file that a release reads, by name; databases have none."""
    found = [path for place in (source, policy_file, against) for path in _files(place)]
    folder = policy_file.parent if policy_file is not None else Path()
    for column in policy.columns:
        if isinstance(column.hierarchy, Lookup):
            named = Path(column.hierarchy.file)
            found += _files(named) or _files(folder / named)
    return {str(path): sha256_of_source(path) for path in found}


def require_unchanged(manifest: Manifest) -> None:
    """Refuse to replay a release whose files have changed since.

    Raises:
        InvalidManifest: The message names the files.
    """
    changed = [
        name
        for name, digest in manifest.files.items()
        if not Path(name).is_file() or sha256_of_source(Path(name)) != digest
    ]
    if changed:
        raise InvalidManifest(
            f"The release cannot be replayed: {', '.join(changed)} changed since, or cannot be "
            "read. Bring back what the manifest's digests say, and run from the same folder."
        )


def _files(place: object) -> list[Path]:
    if not isinstance(place, (str, Path)) or "://" in str(place):
        return []
    path = Path(place)
    if path.is_file():
        return [path]
    return [Path(found) for found in sorted(glob.glob(str(place))) if Path(found).is_file()]  # noqa: PTH207


def _output_of(path: Path) -> str:
    try:
        return read_manifest(path).output or ""
    except (InvalidManifest, SourceNotFound):
        return ""
