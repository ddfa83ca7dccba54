"""A statistic as a result: what was found, how sure it is, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.learning.statistics.conclusion import StatisticRow, TestOutcome
from discreet.result import Result, TabularResult

_WHOLE = 1_000  # numbers from here on are written without decimals


@dataclass(frozen=True)
class StatisticExplanation(Result):
    """What a statistic would cost; no row was read, and nothing was spent."""

    source: str
    table: str
    verdict: str
    kind: str
    columns: tuple[str, ...]
    by: str | None
    numbers: int
    errors: Mapping[str, float]
    epsilon: float
    delta: float
    unit: str
    rows_per_unit: int
    remaining: Mapping[str, Any]
    cautions: tuple[str, ...]


@dataclass(frozen=True)
class StatisticResult(TabularResult):
    """A private statistic, with what was promised and paid for it.

    Attributes:
        source: What it was computed of.
        table: The table's name.
        verdict: One sentence.
        kind: Which statistic.
        columns: What was measured.
        by: The column of groups, if there are groups.
        rows: Estimates with their intervals.
        test: The test with its p-value; None where there is none, or too little signal.
        covers: What intervals are about: the table, or the population its rows are a sample of.
        confidence: How often an interval holds.
        epsilon: What it cost.
        delta: The chance that noise does not cover.
        unit: Whose rows are protected together.
        rows_per_unit: How many rows of a unit counted.
        spent: What was charged this time.
        remaining: What is left.
        cached: Whether the same was measured before, so that it was free.
        cautions: What to know.
    """

    source: str
    table: str
    verdict: str
    kind: str
    columns: tuple[str, ...]
    by: str | None
    rows: tuple[StatisticRow, ...]
    test: TestOutcome | None
    covers: str
    confidence: float
    epsilon: float
    delta: float
    unit: str
    rows_per_unit: int
    spent: Mapping[str, float]
    remaining: Mapping[str, Any]
    cached: bool
    cautions: tuple[str, ...]

    _records: ClassVar[str] = "rows"

    def tabulate(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the header and the rows of a table in words: labels, what is estimated, and its interval."""
        names = list(dict.fromkeys(name for row in self.rows for name in row.labels))
        has_kinds = len({row.quantity for row in self.rows}) > 1
        kinds = ("",) if has_kinds else ()
        quantity = "Estimate" if has_kinds or not self.rows else self.rows[0].quantity.capitalize()
        header = (*names, *kinds, quantity, "From", "To")
        rows = [
            (
                *(row.labels.get(name, "") for name in names),
                *([row.quantity] if has_kinds else []),
                *(_write_number(one) for one in (row.estimate, row.low, row.high)),
            )
            for row in self.rows
        ]
        return header, rows


def _write_number(number: float | None) -> str:
    if number is None:
        return "–"
    return f"{number:,.0f}" if abs(number) >= _WHOLE else f"{number:,.4g}"
