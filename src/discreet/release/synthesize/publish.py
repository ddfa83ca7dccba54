"""A synthetic table written with its manifest, and remembered as other releases are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.engines.connect import opened_table
from discreet.engines.engine import ArrowTable
from discreet.policy import model
from discreet.policy.model import Policy
from discreet.policy.write import policy_value
from discreet.progress import Progress, ignore_progress
from discreet.release.manifest import FORMAT, program_version, public_policy, write_json
from discreet.release.output.target import FileTarget, FolderTarget, Target
from discreet.release.publication import stage_output
from discreet.release.registry import PendingRelease, Registry, ReleaseSubject
from discreet.release.synthesize.record import FamilyTable, SyntheticRelease, SyntheticTables
from discreet.release.write import WrittenOutput
from discreet.result import to_plain_data
from discreet.sql import build

# What goes with the rows: each is public, or follows from the noisy model.
_PUBLIC = (
    *("id", "method", "target", "rows", "total", "columns", "marginals"),
    *("promised", "not_promised"),
)
_PUBLIC_INPUTS = "the policy's kinds, values, bounds, hierarchies and rules"
_MECHANISMS = {
    "pure": "Laplace noise on counts, permute-and-flip for choices",
    "full": "discrete Gaussian noise on counts, the exponential mechanism for choices",
    "fast": "discrete Gaussian noise on counts, the exponential mechanism for choices",
}


def write_synthetic_rows(
    rows: ArrowTable,
    target: Target,
    pending: PendingRelease | None = None,
    *,
    progress: Progress = ignore_progress,
) -> WrittenOutput:
    """Write the rows at `target`, all of them or none; a release is remembered before it is visible."""
    publishing = pending or PendingRelease(Registry(ReleaseSubject("")), None, ())
    with opened_table(rows) as table:
        names = [build.column(column.name) for column in table.columns]
        query = build.select(*names, source=table.relation)
        progress("writing", 0, 1)
        if not isinstance(target, (FileTarget, FolderTarget)):
            publishing.remember(None, None)
        with stage_output(table.engine, query, target, order=(), settled=()) as (place, written):
            if isinstance(place, (FileTarget, FolderTarget)):
                publishing.remember(place.path, written.sha256)
        publishing.is_published = True
    return written


def synthetic_manifest(
    release: SyntheticRelease, policy: model.TablePolicy, *, made: str, accepted: str | None
) -> dict[str, Any]:
    """Return the manifest: no number in it depends on the source but by the noisy model."""
    content = release.to_dict()
    written = release.output
    return {
        "program": program_version(),
        "format": FORMAT,
        "made": made,
        "policy": to_plain_data(policy_value(Policy({policy.name: public_policy(policy)}))),
        "release": {
            "kind": "synthetic",
            "output": None if written is None else written.place,
            "sha256": None if written is None else written.sha256,
            **{name: content[name] for name in _PUBLIC},
            "privacy": describe_privacy(release, policy),
            # Which attacks were possible depends on how many people there are.
            "attacks": list(release.attacks),
            "accepted_risk": accepted,
        },
    }


def family_manifest(
    release: SyntheticTables,
    policies: Sequence[model.TablePolicy],
    *,
    made: str,
    accepted: str | None,
) -> dict[str, Any]:
    """Return the manifest of several tables: no number depends on the source but by the noisy model."""
    event = {"mechanism": _MECHANISMS[release.method], "rho": release.rho}
    price = {"epsilon": release.epsilon, "delta": release.delta}
    public = Policy({policy.name: public_policy(policy) for policy in policies})
    return {
        "program": program_version(),
        "format": FORMAT,
        "made": made,
        "policy": to_plain_data(policy_value(public)),
        "release": {
            "kind": "synthetic tables",
            "output": release.output,
            "method": release.method,
            "target": release.target,
            "total": release.total,
            "tables": [
                _describe_table(table, policy)
                for table, policy in zip(release.tables, policies, strict=True)
            ],
            "promised": list(release.promised),
            "not_promised": list(release.not_promised),
            "privacy": {
                **price,
                "unit": release.unit,
                "neighbors": "all tables, which differ in all rows of one unit, which are there or not",
                "events": [{**event, **price}],
                "public_inputs": _PUBLIC_INPUTS,
            },
            "accepted_risk": accepted,
        },
    }


def _describe_table(table: FamilyTable, policy: model.TablePolicy) -> dict[str, Any]:
    content, written = table.to_dict(), table.output
    public = ("table", "id", "rows", "rows_per_unit", "columns", "marginals")
    return {
        **{name: content[name] for name in public},
        "file": None if written is None else Path(written.place).name,
        "sha256": None if written is None else written.sha256,
        "left_out": list(policy.release.leave_out),
        "attacks": list(table.attacks),
    }


def describe_privacy(release: SyntheticRelease, policy: model.TablePolicy) -> dict[str, Any]:
    """Return what is promised of whom, in numbers and words."""
    event = {"mechanism": _MECHANISMS[release.method], "rho": release.rho}
    return {
        "epsilon": release.epsilon,
        "delta": release.delta,
        "unit": release.unit,
        "rows_per_unit": release.rows_per_unit,
        "neighbors": "tables that differ in all rows of one unit, which are there or not",
        "events": [{**event, "epsilon": release.epsilon, "delta": release.delta}],
        "public_inputs": _PUBLIC_INPUTS,
        "left_out": list(policy.release.leave_out),
    }


def keep_synthetic_record(
    release: SyntheticRelease, pending: PendingRelease, **more: Any
) -> SyntheticRelease:
    """Keep for the custodian what attacks found, and return the release with its id."""
    record = pending.record
    if record is None:
        return release
    release = replace(release, id=record.id)
    record.amend(program=program_version(), release=release.to_dict(), **more)
    return release


def write_synthetic_manifest(
    path: Path | None, release: SyntheticRelease, content: dict[str, Any]
) -> SyntheticRelease:
    """Write the manifest, where there is a place for it, and return the release with it."""
    if path is None:
        return replace(release, _manifest_content=content)
    write_json(path, content)
    return replace(release, manifest=str(path), _manifest_content=content)


def name_columns(names: Sequence[str]) -> str:
    """Return the name of a marginal."""
    return " × ".join(names)
