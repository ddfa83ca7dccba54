"""A histogram: how many rows have each value, or lie in each bin of a scale."""

from __future__ import annotations

from functools import partial

from discreet.domain.listed_values import ListedValues
from discreet.learning.statistics.cells import CellNames, describe_counts, look_at_table
from discreet.learning.statistics.conclusion import TABLE, Conclusion, StatisticPlan
from discreet.learning.statistics.intervals import noise_half_width
from discreet.learning.statistics.kinds import StatisticSpec
from discreet.learning.statistics.released import ReleasedSums
from discreet.learning.statistics.variables import Variables, divide_scale, require_columns
from discreet.registry import OptionSpec


def plan_histogram(variables: Variables, *, confidence: float, bins: int = 20) -> StatisticPlan:
    """Return what is measured: the counts of bins of equal width, or of listed values."""
    (column,) = require_columns(variables, "histogram", 1)
    if not isinstance(column.coding, ListedValues):
        column = divide_scale(column, bins)
    look = look_at_table([column])
    conclude = partial(describe_bins, names=CellNames.of([column]), confidence=confidence)
    return StatisticPlan((column,), look, conclude)


def describe_bins(released: ReleasedSums, *, names: CellNames, confidence: float) -> Conclusion:
    """Return the count of each bin with its interval."""
    half = noise_half_width(released["cells"], confidence)
    rows = describe_counts(released["cells"], names, half)
    verdict = f"{names.columns[0]}: {len(rows):,} bins, each within ±{half:,.3g} rows."
    return Conclusion(verdict, tuple(rows), TABLE)


SPEC = StatisticSpec(
    name="histogram",
    summary="How many rows have each value of a category, or lie in each bin of a scale.",
    takes="a column",
    plan=plan_histogram,
    options=(
        OptionSpec(
            "bins",
            "integer",
            "At most so many bins of a scale.",
            default=20,
            minimum=1,
            maximum=1000,
        ),
    ),
    position=10,
)
