"""Analysis of variance: whether several groups have the same mean, from noisy sums."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from discreet.learning.statistics.conclusion import (
    POPULATION,
    Conclusion,
    StatisticPlan,
    TestOutcome,
)
from discreet.learning.statistics.grid import Grid, make_grid
from discreet.learning.statistics.intervals import p_value
from discreet.learning.statistics.kinds import StatisticSpec
from discreet.learning.statistics.looks import GroupLook
from discreet.learning.statistics.moments import (
    Floats,
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


def plan_anova(
    variables: Variables, *, confidence: float, groups: Sequence[str] = ()
) -> StatisticPlan:
    """Return what is measured: rows, sums and squares of a number in each group."""
    (column,) = require_columns(variables, "anova", 1)
    grid = make_grid(require_numbers(column))
    chosen = choose_groups(variables, 1, groups)
    look = GroupLook(grid, 0, (chosen.axis,))
    conclude = partial(compare_means, grid=grid, groups=chosen, confidence=confidence)
    return StatisticPlan((grid.column, *chosen.columns), look, conclude)


def compare_means(
    released: ReleasedSums, *, grid: Grid, groups: Groups, confidence: float
) -> Conclusion:
    """Return the mean of each group with its interval, and the test that they are the same."""
    experiment = GroupExperiment.of(grid, released)
    hidden = hidden_groups(experiment, groups)
    if hidden:
        return hide_by_noise((), POPULATION, groups=hidden)
    chance, found = released.start_chance(), experiment.observed
    variance, _, common = _pool_groups(found)
    count = len(groups.names)
    shared = np.full(count, float(variance))
    alike = experiment.repeat(chance, found.rows, np.full(count, float(common)), shared)
    again = experiment.repeat(chance, found.rows, found.means, found.variances)
    if not len(alike.means) or not len(again.means):
        return hide_by_noise((), POPULATION, groups=groups.names)
    observed = float(_variance_ratio(found))
    level = p_value(observed, _variance_ratio(alike))
    name = grid.column.name
    verdict = word_test(
        level,
        confidence,
        found=f"The means of '{name}' differ between the {count} groups",
        absent=f"No difference of the means of '{name}' between the {count} groups is shown",
    )
    test = TestOutcome("all groups have the same mean", observed, level, count - 1)
    rows = describe_means(experiment, again, groups, confidence)
    return Conclusion(verdict, tuple(rows), POPULATION, test)


def _pool_groups(found: GroupMoments) -> tuple[Floats, Floats, Floats]:
    """Return the variance within groups, the weight of each mean, and the weighted mean of means."""
    free = found.rows - 1
    variance = (free * found.variances).sum(axis=-1) / free.sum(axis=-1)
    weights = 1 / (variance[..., None] / found.rows + found.noise)
    common = (weights * found.means).sum(axis=-1) / weights.sum(axis=-1)
    return variance, weights, common


def _variance_ratio(found: GroupMoments) -> Floats:
    """Return how far means are apart, in units of their variance: Fisher's F where there is no noise."""
    _, weights, common = _pool_groups(found)
    apart = weights * (found.means - common[..., None]) ** 2
    return apart.sum(axis=-1) / (found.means.shape[-1] - 1)


SPEC = StatisticSpec(
    name="anova",
    summary="Whether several groups have the same mean (one-way analysis of variance).",
    takes="a number, and two groups or more",
    plan=plan_anova,
    options=(GROUPS_OPTION,),
    by="required",
    position=70,
)
