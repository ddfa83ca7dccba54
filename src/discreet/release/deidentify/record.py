"""What de-identification returns: what was done to every column, and what is left. Keys are public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from sqlglot import exp

from discreet.attacks.finding import Finding
from discreet.engines.caller_frames import to_pandas_frame, to_polars_frame
from discreet.engines.engine import ArrowTable
from discreet.errors import WrongUsage
from discreet.result import Result

if TYPE_CHECKING:
    from discreet.release.write import WrittenOutput


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


@dataclass(frozen=True)
class PreparedRelease:
    """Rows on the engine, the columns of them that may be written, and what was done."""

    relation: exp.Table
    columns: tuple[str, ...]
    found: Deidentified
