"""Rates of events by person-time, in all rows or by group, from noisy counts and sums."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from discreet.errors import WrongUsage
from discreet.formatting import format_level
from discreet.learning.statistics.conclusion import (
    POPULATION,
    Conclusion,
    StatisticPlan,
    StatisticRow,
)
from discreet.learning.statistics.grid import Grid, make_grid
from discreet.learning.statistics.intervals import (
    RatioVariance,
    critical_value,
    has_signal,
    invert_ratio,
)
from discreet.learning.statistics.kinds import StatisticSpec
from discreet.learning.statistics.looks import CellAxis, GroupLook
from discreet.learning.statistics.released import ReleasedSums
from discreet.learning.statistics.variables import (
    EVENT_OPTION,
    GROUPS_OPTION,
    Groups,
    Variables,
    choose_groups,
    choose_value,
    require_categories,
    require_columns,
    require_numbers,
)
from discreet.learning.statistics.wording import hide_by_noise


def plan_rates(
    variables: Variables,
    *,
    confidence: float,
    event: str | None = None,
    groups: Sequence[str] = (),
) -> StatisticPlan:
    """Return what is measured: rows and time, of those with and without the event, in each group."""
    time, happened = require_columns(variables, "rates", 2)
    grid = make_grid(require_numbers(time))
    if grid.center - grid.step * grid.most - grid.error < -1e-9:
        raise WrongUsage(
            f"'{time.name}' may be below 0, so that it is no time. Correct its `bounds` in the policy."
        )
    code = choose_value(require_categories(happened), event, option="event")
    split = CellAxis(1, (*(0 if one == code else 1 for one in range(happened.coding.size)), -1))
    chosen = choose_groups(variables, 2, groups)
    look = GroupLook(grid, 0, (split, *chosen.axes), (0.6, 0.4, 0.0))
    conclude = partial(describe_rates, grid=grid, groups=chosen, confidence=confidence)
    return StatisticPlan((grid.column, happened, *chosen.columns), look, conclude)


def describe_rates(
    released: ReleasedSums, *, grid: Grid, groups: Groups, confidence: float
) -> Conclusion:
    """Return the rate of events in each group: events of a Poisson process per unit of time under observation."""
    count = len(groups.names)
    rows = released["rows"].values.reshape(2, count)
    units = released["sums"].values.reshape(2, count).sum(axis=0)
    error = released["rows"].error
    described: list[StatisticRow] = []
    hidden: list[str] = []
    for group, name in enumerate(groups.names):
        seen = float(rows[:, group].sum())
        observed = grid.center * seen + grid.step * float(units[group])
        row = _describe_rate(
            released, grid, groups.label(group), (float(rows[0, group]), observed, seen), confidence
        )
        described.append(row)
        if not has_signal(seen, error * np.sqrt(2)) or row.estimate is None:
            hidden.append(name)
    if len(hidden) == count:
        return hide_by_noise(described, POPULATION, groups=hidden)
    found = [one for one in described if one.estimate is not None]
    rates = [float(one.estimate or 0.0) for one in found]
    between = (
        f"{format_level(rates[0])}"
        if len(rates) == 1
        else f"from {format_level(min(rates))} to {format_level(max(rates))}"
    )
    verdict = f"Events per unit of '{grid.column.name}': {between}."
    return Conclusion(verdict, tuple(described), POPULATION)


def _describe_rate(
    released: ReleasedSums,
    grid: Grid,
    label: dict[str, str],
    seen: tuple[float, float, float],
    confidence: float,
) -> StatisticRow:
    """Return one rate with the interval of a score that includes the noise of events and of time."""
    events, time, rows = seen
    row_error, sum_error = released["rows"].error, grid.step * released["sums"].error
    time_error = np.hypot(np.sqrt(2) * grid.center * row_error, np.sqrt(2) * sum_error)
    if not time > 4 * time_error:
        return StatisticRow("rate", label, None, 0.0, None)
    rate = max(0.0, events / time)
    middle = rate * grid.center
    parts = [
        (row_error * (1 - middle)) ** 2,
        (row_error * middle) ** 2,
        *([(rate * sum_error) ** 2] * 2),
    ]
    chance = released.start_chance()
    width = critical_value(chance, released["rows"], confidence, sampling=rate * time, noisy=parts)
    squared = 2 * (grid.center * row_error) ** 2 + 2 * sum_error**2
    variance = RatioVariance(row_error**2, time - 2 * row_error**2 * grid.center, squared)
    low, high = invert_ratio(events, time, variance, width)
    hidden = grid.error * max(rows, 0.0)
    low = max(0.0, low) * time / (time + hidden)
    if not np.isfinite(high) or hidden >= time:
        return StatisticRow("rate", label, rate, min(low, rate), None)
    return StatisticRow(
        "rate", label, rate, min(low, rate), max(high * time / (time - hidden), rate)
    )


SPEC = StatisticSpec(
    name="rates",
    summary="Events per time under observation, by group.",
    takes="a time, a category that says whether the event happened, and groups if they are compared",
    plan=plan_rates,
    options=(EVENT_OPTION, GROUPS_OPTION),
    by="allowed",
    position=90,
)
