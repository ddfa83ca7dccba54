"""A contingency table: how many rows have each combination of the values of several columns."""

from __future__ import annotations

from functools import partial

from discreet.errors import WrongUsage
from discreet.formatting import join_names
from discreet.learning.statistics.cells import (
    ALL,
    CellNames,
    describe_counts,
    look_at_table,
    project_counts,
)
from discreet.learning.statistics.conclusion import (
    TABLE,
    Conclusion,
    StatisticPlan,
    StatisticRow,
)
from discreet.learning.statistics.intervals import noise_half_width
from discreet.learning.statistics.kinds import StatisticSpec
from discreet.learning.statistics.released import ReleasedSums
from discreet.learning.statistics.variables import Variables, require_categories


def plan_contingency(variables: Variables, *, confidence: float) -> StatisticPlan:
    """Return what is measured: every cell of the table, once."""
    columns = [require_categories(column) for column in variables.columns]
    if len(columns) < 2:
        raise WrongUsage(
            "A contingency table takes two columns or more: `--columns a,b`. One column is a `histogram`."
        )
    look = look_at_table(columns)
    conclude = partial(tabulate_cells, names=CellNames.of(columns), confidence=confidence)
    return StatisticPlan(tuple(columns), look, conclude)


def tabulate_cells(released: ReleasedSums, *, names: CellNames, confidence: float) -> Conclusion:
    """Return the counts of cells and of margins, which are sums of the cells."""
    noisy = released["cells"]
    half = noise_half_width(noisy, confidence)
    rows = describe_counts(noisy, names, half)
    projected = project_counts(noisy.values)
    for axis, column in enumerate(names.columns):
        others = tuple(one for one in range(noisy.values.ndim) if one != axis)
        merged = noisy.values.size // noisy.values.shape[axis]
        wide = noise_half_width(noisy, confidence, cells=merged)
        raw, best = noisy.values.sum(axis=others), projected.sum(axis=others)
        for place, name in enumerate(names.values[axis]):
            label = {one: name if one == column else ALL for one in names.columns}
            value, estimate = float(raw[place]), float(best[place])
            low, high = max(0.0, value - wide), max(0.0, value + wide)
            rows.append(
                StatisticRow("count", label, estimate, min(low, estimate), max(high, estimate))
            )
    verdict = (
        f"{join_names(names.columns)}: {noisy.values.size:,} cells, each within ±{half:,.3g} rows."
    )
    return Conclusion(verdict, tuple(rows), TABLE)


SPEC = StatisticSpec(
    name="contingency",
    summary="Counts of the combinations of several categories, with margins that agree.",
    takes="two categories or more",
    plan=plan_contingency,
    position=40,
)
