"""What de-identification returns and what its record beside the output holds. Keys are public."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from discreet.attacks.finding import Finding
from discreet.engines.caller_frames import to_pandas_frame, to_polars_frame
from discreet.engines.engine import ArrowTable
from discreet.errors import WrongUsage
from discreet.result import Result
from discreet.writing import write_atomically

if TYPE_CHECKING:
    from discreet.release.output.target import Target
    from discreet.release.registry import RegistryRecord
    from discreet.release.write import WrittenOutput

ENDING = ".release.json"


@dataclass(frozen=True)
class ColumnRecord(Result):
    """What happened to one column; `found` counts identifiers inside its texts, by letter."""

    column: str
    letter: str | None
    action: str
    reason: str
    cells: int  # that held a value
    changed: int
    removed: int
    found: Mapping[str, int]


@dataclass(frozen=True)
class ClassRecord(Result):
    """One of the 18 classes of 45 CFR 164.514(b)(2)(i): where it was found, and how much of it."""

    letter: str
    kind: str
    columns: tuple[str, ...]
    changed: int
    removed: int
    in_text: int


@dataclass(frozen=True)
class RemainingRisk(Result):
    """How far people still stand out on what is left, columns outsiders may know taken together."""

    quasi: tuple[str, ...]
    people: int
    unique: int
    k: int | None
    share_at_risk: float | None


@dataclass(frozen=True)
class Deidentified(Result):
    """A table without its identifiers: what was done to every column, and what is left."""

    method: str
    source: str
    verdict: str
    rows: int
    columns: tuple[ColumnRecord, ...]
    classes: tuple[ClassRecord, ...]
    settings: Mapping[str, Any]
    remaining: RemainingRisk | None
    warnings: tuple[str, ...]
    cautions: tuple[str, ...]
    output: WrittenOutput | None = None
    findings: tuple[Finding, ...] = ()
    undecided: tuple[str, ...] = ()
    accepted_risk: str | None = None
    not_tried: tuple[str, ...] = ()
    _rows: ArrowTable = field(default=None, repr=False, compare=False)

    def to_arrow(self) -> ArrowTable:
        """Return the rows as an Arrow table, where they are in memory."""
        if self._rows is None:
            raise WrongUsage("The rows are not in memory: they were written, or it was a dry run.")
        return self._rows

    def to_pandas(self) -> Any:
        """Return the rows as a pandas frame."""
        return to_pandas_frame(self.to_arrow())

    def to_polars(self) -> Any:
        """Return the rows as a polars frame."""
        return to_polars_frame(self.to_arrow())

    def with_rows(self, rows: ArrowTable) -> Self:
        """Return it with its rows in memory instead of a file."""
        return replace(self, _rows=rows, output=None)

    def column(self, name: str) -> ColumnRecord:
        """Return what happened to the column called `name`."""
        return next(column for column in self.columns if column.column == name)


def deidentification_record_path(target: Target) -> Path | None:
    """Return where the record of an output goes: beside a file or folder, nowhere for a table."""
    path = getattr(target, "path", None)
    return None if path is None else Path(f"{str(path).rstrip('/')}{ENDING}")


def write_record(
    found: Result, target: Target, *, source: object, record: RegistryRecord | None = None
) -> Path | None:
    """Write beside the output what was done to it, and keep all numbers and digests in the registry.

    What stands beside the output goes with it: it holds no key, no digest of the source, and no count
    that the rows do not show.
    """
    program = f"discreet {version('discreet')}"
    if record is not None:
        path = Path(source) if isinstance(source, (str, Path)) else None
        files = [path] if path is not None and path.is_file() else []
        record.amend(
            program=program,
            files={str(one): record.keyed_digest(one) for one in files},
            release=found.to_dict(),
        )
    place = deidentification_record_path(target)
    if place is None:
        return None
    content = {"program": program, **public_record(found)}
    write_atomically(place, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    return place


def public_record(found: Result) -> dict[str, Any]:
    """Return what may go with the rows: what was done to each column, not how many cells it changed."""
    content = found.to_dict()
    hidden = ("findings", "cautions", "warnings", "verdict", "rows", "undecided", "not_tried")
    value = {name: part for name, part in content.items() if name not in hidden}
    for part, names in (
        ("columns", ("column", "letter", "action", "reason")),
        ("classes", ("letter", "kind", "columns")),
    ):
        if part in value:
            value[part] = [{name: one[name] for name in names} for one in value[part]]
    return value
