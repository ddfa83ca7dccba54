"""Which pseudonyms of a release the holder of the key can undo, by what its manifest says of them.

Guarantee: nothing is undone with another key than the one that made the pseudonyms. A reversible
pseudonym and a sealed mapping prove their key. Any key gives some value for a format-preserving
pseudonym and for a shifted date, so that these need the fingerprint of the key that made them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.attacks.manifest import NAME
from discreet.errors import InvalidKey, InvalidManifest, SourceNotFound, WrongUsage
from discreet.release.deidentify.keys import SecretKey
from discreet.release.deidentify.kinds import (
    DateShift,
    FormatPreserving,
    KeyedHash,
    Pseudonym,
    RandomToken,
    read_pseudonym,
)
from discreet.release.write import WrittenOutput
from discreet.result import Result


@dataclass(frozen=True)
class PseudonymManifest:
    """What a manifest says of pseudonyms: the fingerprint of their key, the unit, each column's kind."""

    path: Path
    key: str | None
    unit: str | None
    columns: Mapping[str, Pseudonym]


@dataclass(frozen=True)
class UndoPlan:
    """The columns to undo, the unit of their dates, and why other pseudonyms stay."""

    columns: Mapping[str, Pseudonym]
    unit: str | None
    left: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reidentified(Result):
    """Rows with the values behind their pseudonyms: what was undone, and what was not."""

    source: str
    verdict: str
    columns: Mapping[str, str]
    left: Mapping[str, str]
    unit: str | None
    key: str
    manifest: str | None
    output: WrittenOutput | None = None


def find_pseudonym_manifest(source: object) -> Path | None:
    """Return the manifest that `deidentify` wrote beside a file or folder, None where there is none."""
    if not isinstance(source, (str, Path)) or "://" in str(source):
        return None
    path = Path(f"{str(source).rstrip('/')}.{NAME}")
    return path if path.is_file() else None


def read_pseudonym_manifest(path: Path) -> PseudonymManifest:
    """Return what the manifest in `path` says of pseudonyms.

    Raises:
        SourceNotFound: There is no such file.
        InvalidManifest: It is no manifest of pseudonyms.
    """
    try:
        content = json.loads(path.read_text("utf-8"))
        settings: Mapping[str, Any] = content["settings"]
        columns = {
            str(name): read_pseudonym(stated) for name, stated in settings["columns"].items()
        }
        return PseudonymManifest(path, settings["key"], settings["unit"], columns)
    except FileNotFoundError:
        raise SourceNotFound(f"There is no manifest {path}.") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InvalidManifest(
            f"{path} is no manifest of pseudonyms. Name the file that `discreet deidentify --method "
            "pseudonymize` wrote beside its output."
        ) from None


def plan_undo(
    named: Mapping[str, Pseudonym],
    *,
    unit: str | None,
    manifest: PseudonymManifest | None,
    has_mapping: bool,
) -> UndoPlan:
    """Return what is undone: the named columns, or all that the manifest says can be.

    Raises:
        WrongUsage: No column is known, or the manifest contradicts what was named.
    """
    if manifest is None:
        if not named:
            raise WrongUsage(
                "No column was named, and there is no manifest beside the source. Name the manifest, "
                "or the columns that have pseudonyms: reversible, format_preserving, tokens or "
                "shift_dates."
            )
        return UndoPlan(named, unit)
    unit = unit or manifest.unit
    if named:
        return _plan_named(named, unit, manifest)
    return _plan_all(unit, manifest, has_mapping=has_mapping)


def require_key_of(
    key: SecretKey, plan: UndoPlan, *, fingerprint: str | None, manifest: PseudonymManifest | None
) -> None:
    """Refuse a key that did not make the pseudonyms, and one of which this cannot be known.

    Raises:
        InvalidKey: The message names both fingerprints.
        WrongUsage: The fingerprint of the key that made them is not known.
    """
    recorded = manifest.key if manifest is not None else None
    for stated in (recorded, fingerprint):
        if stated is not None and stated.lower() != key.fingerprint:
            raise InvalidKey(
                f"The pseudonyms were made with the key {stated}, and this key is {key.fingerprint}. "
                "Use the one that made them."
            )
    unproven = [
        name
        for name, kind in plan.columns.items()
        if isinstance(kind, (FormatPreserving, DateShift))
    ]
    if unproven and recorded is None and fingerprint is None:
        raise WrongUsage(
            f"Another key would give wrong values of '{unproven[0]}' without an error. Name the "
            "manifest of the release, or the fingerprint of the key that made the pseudonyms, which "
            "the manifest states."
        )


def _plan_named(
    named: Mapping[str, Pseudonym], unit: str | None, manifest: PseudonymManifest
) -> UndoPlan:
    for name, kind in named.items():
        stated = manifest.columns.get(name)
        if type(stated) is not type(kind):
            has = f"{stated.name} pseudonyms" if stated is not None else "no pseudonyms"
            raise WrongUsage(
                f"Column '{name}' has {has}, says {manifest.path}, and was named as {kind.name}. "
                "Leave the columns out to undo all that the manifest names."
            )
    plan = UndoPlan({name: manifest.columns[name] for name in named}, unit)
    if _dates_of(plan.columns) and _is_hidden_unit(unit, plan, manifest):
        raise WrongUsage(
            f"Dates are moved back by their person, and '{unit}' has pseudonyms. Name it among the "
            "columns to undo; dates of people with keyed pseudonyms stay as they are."
        )
    return plan


def _plan_all(unit: str | None, manifest: PseudonymManifest, *, has_mapping: bool) -> UndoPlan:
    left: dict[str, str] = {}
    for name, kind in manifest.columns.items():
        if isinstance(kind, KeyedHash):
            left[name] = "keyed pseudonyms cannot be undone"
        elif isinstance(kind, RandomToken) and not has_mapping:
            left[name] = "random texts need their mapping"
    chosen = {name: kind for name, kind in manifest.columns.items() if name not in left}
    if _is_hidden_unit(unit, UndoPlan(chosen, unit), manifest):
        left |= dict.fromkeys(_dates_of(chosen), f"dates need the person, and '{unit}' stays")
    columns = {name: kind for name, kind in chosen.items() if name not in left}
    if not columns:
        reasons = "; ".join(f"'{name}': {why}" for name, why in left.items())
        raise WrongUsage(f"No pseudonym of {manifest.path} can be undone. {reasons}.")
    return UndoPlan(columns, unit, left)


def _is_hidden_unit(unit: str | None, plan: UndoPlan, manifest: PseudonymManifest) -> bool:
    return unit in manifest.columns and unit not in plan.columns


def _dates_of(columns: Mapping[str, Pseudonym]) -> list[str]:
    return [name for name, kind in columns.items() if isinstance(kind, DateShift)]
