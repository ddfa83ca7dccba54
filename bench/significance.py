"""False alarms, power and coverage of tests and intervals on noisy counts.

Run with `python -m bench.significance`. Rows are drawn, summed as a statistic asks for, and get noise of the price's scale
(Gaussian, delta 1e-9, from numpy, which is quicker than the exact samplers). A test whose noise hides the rows is not
counted as an alarm. Repetitions of the experiment are 399 instead of 4,999.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from bench.figures import FigureTable
from discreet.domain.coded_column import CodedColumn
from discreet.domain.listed_values import ListedValues
from discreet.dp.accounting import rho_of_epsilon
from discreet.engines.engine import Kind
from discreet.learning.statistics import life_tables, moments
from discreet.learning.statistics.kinds import STATISTICS
from discreet.learning.statistics.released import NoisySums, ReleasedSums, divide_price
from discreet.learning.statistics.request import plan_statistic
from discreet.learning.statistics.specs import cdf, chi_square, correlation, proportion
from discreet.learning.statistics.variables import Variables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.learning.statistics.conclusion import Conclusion, StatisticPlan

EPSILONS, ROWS = ("0.1", "1", "10"), (500, 5_000, 50_000)
RUNS, POWER_RUNS, CHI_RUNS, REPEATED = 600, 150, 2_000, 399
LEVEL, MOST = 0.05, 1_000
# Shares of rows and of columns: even and uneven, from 2×2 to 5×4.
MARGINS = (
    ([0.5, 0.5], [0.5, 0.5]),
    ([0.9, 0.1], [0.8, 0.2]),
    ([0.97, 0.03], [0.98, 0.02]),
    ([0.5, 0.3, 0.2], [0.6, 0.4]),
    ([0.2] * 5, [0.25] * 4),
    ([0.6, 0.2, 0.1, 0.07, 0.03], [0.7, 0.2, 0.08, 0.02]),
)
SHIFT = 0.03 * np.array([[1, -1], [-1, 1], [0, 0]])


class ArrayTable:
    """Counts of rows that are arrays of codes."""

    one = 1
    sensitivity = 1

    def __init__(self, rows: Any, sizes: Sequence[int]) -> None:
        self._rows, self._sizes = rows, sizes

    def count(self, columns: Any, maps: Any) -> list[Any]:
        """Return the counts of codes."""
        del maps
        found: list[Any] = []
        for some in columns:
            shape = [self._sizes[one] for one in some]
            places = np.ravel_multi_index([self._rows[one] for one in some], shape)
            found.append(np.bincount(places, minlength=math.prod(shape)).reshape(shape))
        return found

    def count_scored(self, weights: Any, cuts: Any, columns: Any, maps: Any = None) -> list[Any]:
        """Return how many rows have each score, whose cuts are all whole numbers."""
        del columns, maps
        scores = sum(one[codes] for one, codes in zip(weights, self._rows, strict=True))
        return [np.bincount(np.minimum(scores, len(cuts)), minlength=len(cuts) + 1)]


def make_column(name: str, size: int) -> CodedColumn:
    """Return a column of the numbers from 0 on."""
    return CodedColumn(name, Kind.INTEGER, ListedValues(Kind.INTEGER, tuple(range(size))))


@dataclass(frozen=True)
class Trial:
    """A test under its hypothesis and without it.

    Attributes:
        kind: The kind of statistic.
        columns: Names and sizes; the last one are groups where `by` is set.
        by: Whether there are groups.
        draw: Takes a generator, how many rows, and whether the hypothesis holds; returns the codes of each column.
        holds: Takes a conclusion and whether the hypothesis holds; returns whether its intervals do.
    """

    kind: str
    columns: Sequence[tuple[str, int]]
    by: bool
    draw: Callable[[Any, int, bool], list[Any]]
    holds: Callable[[Conclusion, bool], bool]

    def plan(self) -> StatisticPlan:
        """Return what is measured."""
        made = tuple(make_column(*one) for one in self.columns)
        variables = Variables(made[:-1], made[-1]) if self.by else Variables(made)
        return plan_statistic(STATISTICS.get(self.kind), variables, confidence=1 - LEVEL, stated={})


def release_rows(plan: StatisticPlan, rows: Any, epsilon: str, chance: Any) -> ReleasedSums:
    """Return noisy sums of rows."""
    sizes = [one.size if plan.missing is None else plan.missing + 1 for one in plan.columns]
    exact = plan.look.sum_rows(ArrayTable(rows, sizes))
    rho = rho_of_epsilon(Fraction(epsilon), delta=Fraction("1e-9"))
    made: dict[str, NoisySums] = {}
    prices = divide_price(plan.look, rho)
    for part, sums, price in zip(plan.look.parts, exact, prices, strict=True):
        error = math.sqrt(part.change.squared_l2 / (2 * float(price)))
        values = np.asarray(sums, float).reshape(part.shape)
        noisy = values + chance.normal(0, error, part.shape)
        made[part.name] = NoisySums(noisy, error, "gaussian")
    return ReleasedSums(made, int(chance.integers(1 << 62)))


def _draw_groups(shares: Sequence[float]) -> Callable[[Any, int, bool], list[Any]]:
    """Return a draw of skewed numbers in groups, whose means differ by a tenth of the range where they differ."""

    def draw(chance: Any, count: int, is_null: bool) -> list[Any]:
        groups = chance.choice(len(shares), count, p=shares)
        moved = 0.0 if is_null else 0.1 * groups
        numbers = 0.1 + chance.exponential(0.12, count) + moved
        return [np.clip(np.rint(numbers * MOST), 0, MOST).astype(int), groups]

    return draw


def _draw_shares(chance: Any, count: int, is_null: bool) -> list[Any]:
    groups = (chance.random(count) < 0.2).astype(int)
    return [(chance.random(count) < (0.1 if is_null else 0.1 + 0.1 * groups)).astype(int), groups]


def _draw_pairs(chance: Any, count: int, is_null: bool) -> list[Any]:
    first, other = chance.standard_normal((2, count))
    second = other if is_null else 0.3 * first + math.sqrt(0.91) * other
    numbers = 0.5 + 0.15 * np.stack([first, second])
    return list(np.clip(np.rint(numbers * MOST), 0, MOST).astype(int))


def _draw_times(chance: Any, count: int, is_null: bool) -> list[Any]:
    """Return times of up to 20 periods, of which each has an event with 5 %, in the second group with 8 % or not."""
    groups = (chance.random(count) < 0.5).astype(int)
    hazard = 0.05 if is_null else 0.05 + 0.03 * groups
    times = chance.geometric(hazard, count) - 1
    ends = np.minimum(chance.geometric(0.03 * (1 + groups), count) - 1, 19)
    return [np.minimum(times, ends), (times <= ends).astype(int), groups]


def _hold_difference(found: Conclusion, truth: float) -> bool:
    row = found.rows[-1]
    return (row.low or 0.0) <= truth <= (row.high or 0.0)


def _hold_survival(found: Conclusion, is_null: bool) -> bool:
    """Return whether the band of the first group holds the whole curve."""
    del is_null
    rows = [row for row in found.rows if row.labels["g"] == "0"]
    return all(
        (row.low or 0.0) - 1e-9 <= 0.95 ** (int(row.labels["t"]) + 1) <= (row.high or 0.0) + 1e-9
        for row in rows
    )


TRIALS = (
    Trial(
        "proportion",
        (("x", 2), ("g", 2)),
        True,
        _draw_shares,
        lambda found, is_null: _hold_difference(found, 0.0 if is_null else -0.1),
    ),
    Trial(
        "t-test",
        (("x", MOST + 1), ("g", 2)),
        True,
        _draw_groups([0.8, 0.2]),
        lambda found, is_null: not is_null or _hold_difference(found, 0.0),
    ),
    Trial(
        "anova",
        (("x", MOST + 1), ("g", 3)),
        True,
        _draw_groups([0.5, 0.3, 0.2]),
        lambda found, is_null: bool(found.rows) or is_null,
    ),
    Trial(
        "correlation",
        (("x", MOST + 1), ("y", MOST + 1)),
        False,
        _draw_pairs,
        lambda found, is_null: _hold_difference(found, 0.0 if is_null else 0.3),
    ),
    Trial("survival", (("t", 20), ("e", 2), ("g", 2)), True, _draw_times, _hold_survival),
)


def try_setting(trial: Trial, epsilon: str, rows: int, runs: int) -> tuple[float, ...]:
    """Return the shares of runs that are tested, of false alarms, of true ones, and of intervals that hold."""
    plan, chance = (
        trial.plan(),
        np.random.default_rng([rows, len(trial.kind), int(10 * float(epsilon))]),
    )
    tested = alarms = found_it = held = 0
    for is_null, tries in ((True, runs), (False, POWER_RUNS)):
        for _ in range(tries):
            drawn = trial.draw(chance, rows, is_null)
            found = plan.conclude(release_rows(plan, drawn, epsilon, chance))
            if found.test is None:
                continue
            rejects = found.test.p_value <= LEVEL
            tested += is_null
            alarms += is_null and rejects
            found_it += rejects and not is_null
            held += is_null and trial.holds(found, is_null)
    return tested / runs, alarms / max(tested, 1), found_it / POWER_RUNS, held / max(tested, 1)


def measure_tests(runs: int = RUNS) -> FigureTable:
    """Return false alarms, power and coverage of every test but chi-square."""
    _repeat_less()
    made: list[tuple[str, ...]] = []
    for trial in TRIALS:
        for epsilon in EPSILONS:
            found = [try_setting(trial, epsilon, rows, runs) for rows in ROWS]
            cells = [
                " / ".join("–" if one[0] < 0.05 else f"{one[place]:.3f}" for one in found)
                for place in (1, 3)
            ]
            power = " / ".join(f"{one[2]:.2f}" for one in found)
            made.append(
                (trial.kind, epsilon, cells[0], power, "" if trial.kind == "anova" else cells[1])
            )
            print(made[-1], flush=True)
    header = ("test", "ε", "false alarms", "power", "interval or band holds")
    return FigureTable(header, tuple(made))


def measure_chi_square(runs: int = CHI_RUNS) -> FigureTable:
    """Return false alarms of the chi-square test, naive and as it is, and its power."""
    _repeat_less()
    chance, made = np.random.default_rng(1), []
    for epsilon in EPSILONS:
        for rows in ROWS:
            worst, naive, power = 0.0, 0.0, 0.0
            for number, (first, second) in enumerate(MARGINS):
                shares = np.outer(first, second)
                alarms = [_alarm(shares, rows, epsilon, chance) for _ in range(runs)]
                tested = [one for one in alarms if one[0] is not None]
                if len(tested) >= 0.05 * runs:
                    worst = max(worst, float(np.mean([one[0] for one in tested])))
                if number == 3:
                    naive = float(np.mean([one[1] for one in alarms]))
                    others = (
                        _alarm(shares + SHIFT, rows, epsilon, chance) for _ in range(POWER_RUNS)
                    )
                    moved = [one[0] for one in others]
                    power = float(np.mean([bool(one) for one in moved]))
            made.append((epsilon, f"{rows:,}", f"{naive:.3f}", f"**{worst:.3f}**", f"{power:.2f}"))
            print(made[-1], flush=True)
    header = ("ε", "rows", "Pearson, 3×2", "discreet, worst of six tables", "power, 3×2")
    return FigureTable(header, tuple(made))


def _alarm(shares: Any, rows: int, epsilon: str, chance: Any) -> tuple[bool | None, bool]:
    """Return whether the test rejects, None where it says nothing, and whether Pearson's on noisy counts does."""
    columns = tuple(make_column(name, size) for name, size in zip("ab", shares.shape, strict=True))
    names = chi_square.CellNames.of(columns)
    rho = float(rho_of_epsilon(Fraction(epsilon), delta=Fraction("1e-9")))
    error = math.sqrt(1 / (2 * rho))
    exact = chance.multinomial(rows, shares.reshape(-1)).reshape(shares.shape)
    noisy = NoisySums(exact + chance.normal(0, error, exact.shape), error, "gaussian")
    released = ReleasedSums({"cells": noisy}, int(chance.integers(1 << 62)))
    found = chi_square.examine_cells(released, names=names, shares=shares, confidence=1 - LEVEL)
    counts = np.maximum(noisy.values, 0.5)
    naive = stats.chi2_contingency(counts, correction=False).pvalue <= LEVEL
    return None if found.test is None else found.test.p_value <= LEVEL, bool(naive)


def _repeat_less() -> None:
    """Repeat experiments less often than a release does: p-values have the same level, with more chance."""
    for module in (moments, life_tables, cdf, chi_square, correlation, proportion):
        module.REPLICATES = REPEATED  # pyright: ignore[reportAttributeAccessIssue]
    chi_square.describe_shares = lambda *_: []  # pyright: ignore[reportAttributeAccessIssue]


if __name__ == "__main__":
    measure_chi_square()
    measure_tests()
