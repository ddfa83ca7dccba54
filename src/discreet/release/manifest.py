"""The manifest of a release, which goes with it, and the custodian's record, which does not.

The manifest holds nothing that its reader could not compute from the published rows and the policy:
each number about the source would confirm a guess at it. What is needed to make the release again is
in the registry.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from discreet.attacks.manifest import NAME
from discreet.errors import InvalidManifest, SourceNotFound
from discreet.measure.profile.identifiers import SAFE_HARBOR
from discreet.policy import model
from discreet.policy.hierarchies.lookup import Lookup
from discreet.policy.model import Policy
from discreet.policy.write import policy_value
from discreet.registry import find_engine
from discreet.release.release import Release
from discreet.result import Result, to_plain_data
from discreet.writing import write_atomically

if TYPE_CHECKING:
    from discreet.release.output.target import Target
    from discreet.release.registry import RegistryRecord

FORMAT = 2
# What is measured on the published rows alone. Losses, risks before, rows left out, and what attacks
# with the source's people found depend on the source: they are in the custodian's record.
_PUBLIC = ("id", "output", "method", "classes", "left_out", "sha256", "bytes")
_OF_POPULATION = ("k-map", "delta-presence")
_PUBLIC_DEIDENTIFICATION = (
    *(
        "method",
        "source",
        "settings",
        "holds",
        "threshold",
        "adversary",
        "quasi",
        "removed",
        "expert",
    ),
    *("attacks_not_tried", "output"),
)


@dataclass(frozen=True)
class Manifest:
    """The part of a manifest that is needed to make the release again."""

    arguments: Mapping[str, Any]
    id: str | None
    output: str | None
    sha256: str | None


def program_version() -> str:
    """Return the name and the version of the program."""
    return f"discreet {version('discreet')}"


def manifest_path(output: str | Path) -> Path:
    """Return where the manifest of an output goes: `OUT.release.json` beside a file or a folder.

    For a table of a database it is `TABLE.release.json` in the working folder.
    """
    text = str(output)
    spec = find_engine(text)
    table = spec and (spec.table_name(text) or "table")
    name = PurePath(table or text).name
    return (Path() if table else Path(text).parent) / f"{name}.{NAME}"


def write_manifest(
    path: Path, release: Release, *, arguments: Mapping[str, Any], made: str | None = None
) -> dict[str, Any]:
    """Write what was done and what it proves, and return it as plain data."""
    content = manifest_content(release, arguments=arguments, made=made)
    write_json(path, content)
    return content


def manifest_content(
    release: Release, *, arguments: Mapping[str, Any], made: str | None = None
) -> dict[str, Any]:
    """Return the manifest: nothing that depends on more than the published rows."""
    return {
        "program": program_version(),
        "format": FORMAT,
        "made": made,
        "arguments": dict(arguments),
        "policy": to_plain_data(
            policy_value(Policy({release.policy.name: public_policy(release.policy)}))
        ),
        # The reason as it was given: whether it was needed depends on the source.
        "release": {**public_manifest(release), "accepted_risk": arguments.get("accept_risk")},
    }


def deidentification_manifest_path(target: Target) -> Path | None:
    """Return where the manifest of deidentified rows goes: beside a file or folder, nowhere for a table."""
    path = getattr(target, "path", None)
    return None if path is None else Path(f"{str(path).rstrip('/')}.{NAME}")


def write_deidentification_manifest(
    found: Result,
    target: Target,
    *,
    source: object,
    accepted: str | None,
    record: RegistryRecord | None = None,
) -> None:
    """Write beside deidentified rows what was done to them, and keep all numbers in the registry."""
    if record is not None:
        _amend_record(record, found, _find_files(source))
    place = deidentification_manifest_path(target)
    if place is not None:
        public = public_deidentification(found)
        write_json(place, {"program": program_version(), **public, "accepted_risk": accepted})


def public_deidentification(found: Result) -> dict[str, Any]:
    """Return what may go with deidentified rows: what was done to each column, and no count.

    The unit and the population are not published, and a column that was removed is not either: what
    was counted in them stays with the custodian.
    """
    content = found.to_dict()
    public = {name: content[name] for name in _PUBLIC_DEIDENTIFICATION if name in content}
    if "columns" in content:
        public["columns"] = [_public_column(column) for column in content["columns"]]
        public["classes"] = [
            {name: one[name] for name in ("letter", "kind", "columns")}
            for one in content["classes"]
        ]
        left = content["remaining"]
        public["remaining"] = None if left is None else {"quasi": left["quasi"]}
    return public


def _public_column(column: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was done to a column; why it changed is its class, without the counts behind that."""
    found = {name: column[name] for name in ("column", "letter", "action", "reason")}
    if column["action"] == "kept":
        return found
    letter = column["letter"]
    return {**found, "reason": SAFE_HARBOR[letter] if letter else None}


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write plain data to a file, whole or not at all."""
    write_atomically(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def public_manifest(release: Release) -> dict[str, Any]:
    """Return what may go with the published rows: a function of them and of the policy.

    The unit and the population are not published, so that what counts their people is None.
    """
    content = release.to_dict()
    has_unit = release.policy.unit is not None
    return {
        **{name: content[name] for name in _PUBLIC},
        "k": None if has_unit else content["k"],
        "suppressed": release.suppressed - release.withheld,
        "criteria": [_public_verdict(v, has_unit=has_unit) for v in content["criteria"]],
        "risk": None if has_unit else _public_risk(content["risk"]["after"]),
        "steps": [_public_step(step) for step in content["steps"]],
        "attacks": sorted({finding.attack for finding in release.findings}),
    }


def _public_verdict(verdict: Mapping[str, Any], *, has_unit: bool) -> dict[str, Any]:
    """Return what was demanded and that it holds; what was reached only where the rows show it."""
    is_hidden = has_unit or verdict["criterion"] in _OF_POPULATION
    found = {
        name: verdict[name] for name in ("criterion", "column", "required", "reached", "holds")
    }
    return {**found, "reached": None} if is_hidden else found


def _public_risk(risk: Mapping[str, Any]) -> dict[str, Any]:
    """Return the risks that the rows show: a population's sizes, or weights, are behind the others."""
    is_beyond = risk["with_population"] or risk["with_weights"]
    hidden = ("journalist", "marketer") if is_beyond else ()
    return {name: None if name in hidden else value for name, value in risk.items()}


def _public_step(step: dict[str, Any]) -> dict[str, Any]:
    """Return a step with its promise; analysts cannot do without what `pram` did."""
    name = next(iter(step))
    return step if name == "pram" else {key: step[key] for key in (name, "promise")}


def public_policy(policy: model.TablePolicy) -> model.TablePolicy:
    """Return what a reader needs of the policy: roles, what labels mean, and what was demanded.

    Bounds and lists of values may have been drafted from the data, and what answers may reveal has no
    part in a release.
    """
    columns = tuple(
        model.ColumnPolicy(
            column.name,
            column.role,
            hierarchy=column.hierarchy
            if column.role is model.ColumnRole.QUASI_IDENTIFIER
            else None,
            is_ordered=column.is_ordered,
        )
        for column in policy.columns
    )
    return model.TablePolicy(
        policy.name,
        columns,
        unit=policy.unit,
        criteria=policy.criteria,
        release=policy.release,
        tolerance=policy.tolerance,
    )


def read_manifest(path: Path) -> Manifest:
    """Return the content of the manifest in `path`.

    Raises:
        SourceNotFound: There is no such file.
        InvalidManifest: It is not a manifest of `anonymize`.
    """
    try:
        content = json.loads(path.read_text("utf-8"))
        release = content["release"]
        manifest = Manifest(
            dict(content["arguments"]), release.get("id"), release["output"], release["sha256"]
        )
    except FileNotFoundError:
        raise SourceNotFound(f"There is no manifest {path}.") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidManifest(
            f"{path} is no manifest of `discreet anonymize`. Name the OUT.release.json it wrote."
        ) from None
    if content.get("format") != FORMAT:
        raise InvalidManifest(
            f"{path} was written by {content.get('program')}, whose manifests this version cannot "
            "replay. Use that version."
        )
    return manifest


def keep_record(release: Release, *, arguments: Mapping[str, Any], made: str | None) -> None:
    """Keep for the custodian what the manifest leaves out: all numbers, and keyed digests of files."""
    record = release.record
    if record is None:
        return
    files = _read_files(
        release.policy,
        source=arguments["source"],
        policy_file=Path(arguments["policy"]) if arguments["policy"] else None,
        against=arguments["against"],
    )
    _amend_record(record, release, files, published=made, arguments=dict(arguments))


def _amend_record(
    record: RegistryRecord, found: Result, files: Sequence[Path], **more: Any
) -> None:
    record.amend(
        program=program_version(),
        files={str(path): record.keyed_digest(path) for path in files},
        release=found.to_dict(),
        **more,
    )


def require_unchanged(record: RegistryRecord) -> None:
    """Refuse to replay a release whose files have changed since.

    Raises:
        InvalidManifest: The message names the files.
    """
    files: Mapping[str, str] = record.content.get("files", {})
    changed = [
        name
        for name, digest in files.items()
        if not Path(name).is_file() or record.keyed_digest(Path(name)) != digest
    ]
    if changed:
        raise InvalidManifest(
            f"The release cannot be replayed: {', '.join(changed)} changed since, or cannot be "
            "read. Bring back what was there, and run from the same folder."
        )


def _read_files(
    policy: model.TablePolicy, *, source: object, policy_file: Path | None, against: object
) -> list[Path]:
    """Return every file that a release reads; databases have none."""
    found = [path for place in (source, policy_file, against) for path in _find_files(place)]
    folder = policy_file.parent if policy_file is not None else Path()
    for column in policy.columns:
        if isinstance(column.hierarchy, Lookup):
            named = Path(column.hierarchy.file)
            found += _find_files(named) or _find_files(folder / named)
    return found


def _find_files(place: object) -> list[Path]:
    if not isinstance(place, (str, Path)) or "://" in str(place):
        return []
    path = Path(place)
    if path.is_file():
        return [path]
    return [Path(found) for found in sorted(glob.glob(str(place))) if Path(found).is_file()]  # noqa: PTH207
