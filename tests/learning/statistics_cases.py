"""A case of each kind of statistic: columns, options, and what is released of it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from discreet.domain.coded_column import CodedColumn
from discreet.domain.listed_values import ListedValues
from discreet.engines.engine import Kind
from discreet.learning.statistics.kinds import STATISTICS
from discreet.learning.statistics.released import NoisySums, ReleasedSums
from discreet.learning.statistics.request import plan_statistic
from discreet.learning.statistics.variables import Variables

# Kind and options; columns are numbers `x`, `y`, categories `a`, `b` and `event`, groups are `g`.
CASES = {
    "histogram": ("histogram", ["x"], None, {}),
    "cdf": ("cdf", ["x"], None, {}),
    "correlation": ("correlation", ["x", "y"], None, {}),
    "contingency": ("contingency", ["a", "b"], None, {}),
    "independence": ("chi-square", ["a", "b"], None, {}),
    "goodness of fit": ("chi-square", ["b"], None, {}),
    "one proportion": ("proportion", ["a"], None, {"share": 0.4}),
    "two proportions": ("proportion", ["a"], "g", {"groups": ["0", "1"]}),
    "t-test": ("t-test", ["x"], "g", {"groups": ["0", "2"]}),
    "anova": ("anova", ["x"], "g", {}),
    "survival": ("survival", ["x", "a"], None, {}),
    "log-rank": ("survival", ["x", "a"], "g", {}),
    "rates": ("rates", ["x", "a"], "g", {}),
}
SIZES = {"x": 9, "y": 6, "a": 2, "b": 3, "g": 3}


def make_column(name, size):
    """Return a column of the numbers from 0 on; letters of categories are numbers, too."""
    is_scale = name in "xy"
    return CodedColumn(
        name, Kind.INTEGER, ListedValues(Kind.INTEGER, tuple(range(size)), is_scale=is_scale)
    )


def plan_case(case, *, confidence=0.95, sizes=SIZES):
    """Return the plan of a case."""
    kind, columns, by, options = CASES[case]
    variables = Variables(
        tuple(make_column(name, sizes[name]) for name in columns),
        None if by is None else make_column(by, sizes[by]),
    )
    return plan_statistic(STATISTICS.get(kind), variables, confidence=confidence, stated=options)


def release_sums(plan, exact, error, chance, noise="gaussian"):
    """Return exact sums as released ones, with noise of `error` times how much a row changes each of them."""
    made = {}
    for part, sums in zip(plan.look.parts, exact, strict=True):
        spread = error * part.change.l1
        drawn = chance.normal(0, spread, part.shape)
        if noise == "laplace":
            drawn = chance.laplace(0, spread / np.sqrt(2), part.shape)
        values = np.asarray(sums, float).reshape(part.shape) + drawn
        made[part.name] = NoisySums(values, spread, noise)
    return ReleasedSums(made, int(chance.integers(1 << 62)))


def make_table(**columns):
    """Return a table of whole numbers."""
    return pa.table({name: pa.array(values) for name, values in columns.items()})
