"""Student's t-test of two groups whose variances may differ (Welch), from noisy sums."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from discreet.formatting import format_level
from discreet.learning.statistics.conclusion import (
    POPULATION,
    Conclusion,
    StatisticPlan,
    StatisticRow,
    TestOutcome,
)
from discreet.learning.statistics.grid import Grid, make_grid
from discreet.learning.statistics.intervals import p_value
from discreet.learning.statistics.kinds import StatisticSpec
from discreet.learning.statistics.looks import GroupLook
from discreet.learning.statistics.moments import (
    GroupExperiment,
    GroupMoments,
    describe_means,
    hidden_groups,
)
from discreet.learning.statistics.released import ReleasedSums
from discreet.learning.statistics.variables import (
    GROUPS_OPTION,
    Groups,
    Variables,
    choose_groups,
    require_columns,
    require_numbers,
)
from discreet.learning.statistics.wording import hide_by_noise, word_test


def plan_t_test(
    variables: Variables, *, confidence: float, groups: Sequence[str] = ()
) -> StatisticPlan:
    """Return what is measured: rows, sums and squares of a number in two groups."""
    (column,) = require_columns(variables, "t-test", 1)
    grid = make_grid(require_numbers(column))
    chosen = choose_groups(variables, 1, groups, exactly=2)
    look = GroupLook(grid, 0, (chosen.axis,))
    conclude = partial(compare_two_means, grid=grid, groups=chosen, confidence=confidence)
    return StatisticPlan((grid.column, *chosen.columns), look, conclude)


def compare_two_means(
    released: ReleasedSums, *, grid: Grid, groups: Groups, confidence: float
) -> Conclusion:
    """Return the difference of two means with its interval and its test.

    The null distribution is that of the same statistic on repetitions with one common mean, the variances and
    numbers of rows that were released, and the same noise.
    """
    experiment = GroupExperiment.of(grid, released)
    hidden = hidden_groups(experiment, groups)
    if hidden:
        return hide_by_noise((), POPULATION, groups=hidden)
    chance, found = released.start_chance(), experiment.observed
    rows, means, variances = found.rows, found.means, found.variances
    weights = 1 / found.squared_errors
    common = np.full(2, (weights * means).sum() / weights.sum())
    alike = experiment.repeat(chance, rows, common, variances)
    again = experiment.repeat(chance, rows, means, variances)
    if not len(alike.means) or not len(again.means):
        return hide_by_noise((), POPULATION, groups=groups.names)
    observed = float(_score_means(found, 0.0))
    level = p_value(abs(observed), np.abs(_score_means(alike, 0.0)))
    apart = float(means[0] - means[1])
    far = np.quantile(np.abs(_score_means(again, apart)), confidence)
    half = float(far * np.sqrt((experiment.cautious_errors**2).sum()))
    low, high = (max(-2 * grid.most, apart - half), min(2 * grid.most, apart + half))
    first, second = groups.names
    difference = StatisticRow(
        "difference of means",
        groups.label(0) | dict.fromkeys(groups.label(0), f"{first} - {second}"),
        grid.step * apart,
        grid.step * low - 2 * grid.error,
        grid.step * high + 2 * grid.error,
    )
    name = grid.column.name
    verdict = word_test(
        level,
        confidence,
        found=f"The means of '{name}' differ between {first} and {second}, by about "
        f"{format_level(abs(grid.step * apart))}",
        absent=f"No difference of the means of '{name}' between {first} and {second} is shown",
    )
    test = TestOutcome("both groups have the same mean", observed, level, _welch_freedom(found))
    means_of = describe_means(experiment, again, groups, confidence)
    return Conclusion(verdict, (*means_of, difference), POPULATION, test)


def _score_means(
    found: GroupMoments, apart: float
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    difference = found.means[..., 0] - found.means[..., 1] - apart
    return difference / np.sqrt(found.squared_errors.sum(axis=-1))


def _welch_freedom(found: GroupMoments) -> float:
    """Return the degrees of freedom of Welch (1947) for the part that is sampling."""
    parts = found.variances / found.rows
    return float(parts.sum() ** 2 / (parts**2 / (found.rows - 1)).sum())


SPEC = StatisticSpec(
    name="t-test",
    summary="Whether two groups have the same mean (Welch), and how far apart they are.",
    takes="a number, and two groups",
    plan=plan_t_test,
    options=(GROUPS_OPTION,),
    by="required",
    position=60,
)
