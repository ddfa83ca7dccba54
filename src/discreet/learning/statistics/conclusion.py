"""What follows from released sums: estimates with intervals, a test, and one sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.result import Result

if TYPE_CHECKING:
    from discreet.domain.coded_column import CodedColumn
    from discreet.learning.statistics.looks import Look
    from discreet.learning.statistics.released import ReleasedSums


_SMALLEST = 0.001


def write_p_value(p_value: float) -> str:
    """Return a p-value as papers write it.

    >>> write_p_value(0.0004), write_p_value(0.031)
    ('p < 0.001', 'p = 0.031')
    """
    return f"p < {_SMALLEST}" if p_value < _SMALLEST else f"p = {p_value:.3f}"


@dataclass(frozen=True)
class StatisticRow(Result):
    """One estimate.

    Attributes:
        quantity: What it is: a count, a share, a mean, a difference, a rate.
        labels: Of which group, cell, bin or time, by column.
        estimate: The estimate; None where the noise hides it.
        low: The lower end of its interval.
        high: The upper end of its interval.
    """

    quantity: str
    labels: Mapping[str, str]
    estimate: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class TestOutcome(Result):
    """A test of significance that knows its noise.

    Attributes:
        hypothesis: What is tested.
        statistic: The test statistic, of which classical tests are the case without noise.
        p_value: How often a table that meets the hypothesis, with the same noise, gives at least as much.
        freedom: Degrees of freedom of the classical test.
    """

    hypothesis: str
    statistic: float
    p_value: float
    freedom: float | None = None

    def describe(self) -> str:
        """Return the test in words."""
        free = "" if self.freedom is None else f", {self.freedom:,.4g} degrees of freedom"
        return f"{self.hypothesis}; statistic {self.statistic:,.4g}{free}, {write_p_value(self.p_value)}"


@dataclass(frozen=True)
class Conclusion:
    """What is concluded from released sums.

    Attributes:
        verdict: One sentence.
        rows: Estimates with intervals.
        covers: What intervals are about: the table, or the population its rows are a sample of.
        test: The test, if it is one and there is enough signal.
        cautions: What to know.
    """

    verdict: str
    rows: tuple[StatisticRow, ...]
    covers: str
    test: TestOutcome | None = None
    cautions: tuple[str, ...] = ()


# What intervals are about.
TABLE = "the table: intervals hold its exact value in spite of the noise"
POPULATION = "the population: intervals allow for sampling and for noise"
BAND = "the population: the band holds the whole curve, and allows for sampling and for noise"


@dataclass(frozen=True)
class StatisticPlan:
    """What is measured, and what concludes from it; both are decided without a row.

    Attributes:
        columns: The columns as they are coded, in the order of the look's places.
        look: What is measured.
        conclude: Takes `ReleasedSums`, and returns a `Conclusion`; the same one for the same sums.
        missing: The code of missing values, where the look has one of its own for all columns.
    """

    columns: tuple[CodedColumn, ...]
    look: Look
    conclude: Callable[[ReleasedSums], Conclusion]
    missing: int | None = None
