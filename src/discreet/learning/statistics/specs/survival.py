"""Survival curves (Kaplan–Meier) with bands, and the log-rank test of groups, from noisy counts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.domain.binned_range import BinnedRange
from discreet.domain.coded_column import CodedColumn
from discreet.formatting import format_percent
from discreet.learning.statistics.conclusion import (
    BAND,
    Conclusion,
    StatisticPlan,
    StatisticRow,
    TestOutcome,
)
from discreet.learning.statistics.intervals import p_value
from discreet.learning.statistics.kinds import StatisticSpec
from discreet.learning.statistics.life_tables import LifeTable, log_rank
from discreet.learning.statistics.looks import CellAxis, CellLook, keep_values
from discreet.learning.statistics.released import NoisySums, ReleasedSums
from discreet.learning.statistics.variables import (
    EVENT_OPTION,
    GROUPS_OPTION,
    Groups,
    Variables,
    choose_groups,
    choose_value,
    divide_scale,
    label_codes,
    require_categories,
    require_columns,
    require_numbers,
)
from discreet.learning.statistics.wording import hide_by_noise, word_test
from discreet.registry import OptionSpec

Floats = NDArray[np.float64]


def plan_survival(
    variables: Variables,
    *,
    confidence: float,
    event: str | None = None,
    bins: int = 20,
    groups: Sequence[str] = (),
) -> StatisticPlan:
    """Return what is measured: rows by time, by whether the event happened, and by group."""
    time, happened = require_columns(variables, "survival", 2)
    time = divide_scale(require_numbers(time), bins)
    code = choose_value(require_categories(happened), event, option="event")
    split = CellAxis(1, (*(0 if one == code else 1 for one in range(happened.coding.size)), -1))
    chosen = choose_groups(variables, 2, groups)
    look = CellLook((keep_values(0, time.coding.size), split, *chosen.axes))
    conclude = partial(describe_survival, time=time, groups=chosen, confidence=confidence)
    return StatisticPlan((time, happened, *chosen.columns), look, conclude)


def describe_survival(
    released: ReleasedSums, *, time: CodedColumn, groups: Groups, confidence: float
) -> Conclusion:
    """Return the survival curve of each group with a simultaneous band, and the log-rank test of several groups.

    A band has the same number of standard deviations at every time, as many as hold the curves of repetitions.
    """
    noisy = released["cells"]
    shaped = NoisySums(noisy.values.reshape(time.coding.size, 2, -1), noisy.error, noisy.noise)
    table = LifeTable(shaped, 0.0 if _has_single_times(time) else 0.5)
    ends, chance = table.find_ends(), released.start_chance()
    hidden = [name for name, end in zip(groups.names, ends, strict=True) if end == 0]
    if len(hidden) == len(groups.names):
        return hide_by_noise((), BAND, groups=hidden)
    model = table.project_groups()
    far = table.survive(table.repeat(chance, model)) - table.survive(model)
    described: list[StatisticRow] = []
    names = label_codes(time)
    for group, end in enumerate(ends):
        curve = _fall_monotone(table.survive(shaped.values)[:end, group])
        halves = _find_halves(far[:, :end, group], confidence)
        for name, value, half in zip(names[:end], curve.tolist(), halves.tolist(), strict=True):
            label = {time.name: name} | groups.label(group)
            low, high = max(0.0, value - half), min(1.0, value + half)
            described.append(StatisticRow("surviving", label, value, low, high))
    cautions = _word_ends(groups, ends, len(names))
    if len(groups.names) == 1 or hidden:
        last = described[-1]
        verdict = f"{format_percent(last.estimate or 0.0)} have no event up to '{time.name}' {names[max(ends) - 1]}."
        return Conclusion(verdict, tuple(described), BAND, cautions=cautions)
    bins = min(ends)
    observed = float(log_rank(shaped.values, bins=bins, error=shaped.error))
    alike = table.repeat(chance, table.expect_alike())
    level = p_value(observed, log_rank(alike, bins=bins, error=shaped.error))
    test = TestOutcome("all groups survive alike", observed, level, len(groups.names) - 1)
    verdict = word_test(
        level,
        confidence,
        found="The groups survive differently",
        absent="No difference of survival between the groups is shown",
    )
    return Conclusion(verdict, tuple(described), BAND, test, cautions)


def _find_halves(far: Floats, confidence: float) -> Floats:
    """Return half the width of the band at each time."""
    if not far.shape[1]:
        return np.zeros(0)
    spread = np.maximum(np.sqrt((far**2).mean(axis=0)), 1e-9)
    most = np.abs(far / spread).max(axis=1)
    return float(np.quantile(most, confidence)) * spread


def _fall_monotone(curve: Floats) -> Floats:
    """Return a curve that does not rise, no farther from any other such curve than before."""
    if not len(curve):
        return curve
    falling = np.minimum.accumulate(curve)
    rising = np.maximum.accumulate(curve[::-1])[::-1]
    return np.clip((falling + rising) / 2, 0.0, 1.0)


def _has_single_times(time: CodedColumn) -> bool:
    coding = time.coding
    return not isinstance(coding, BinnedRange) or (
        coding.unit != "real" and all(part.width == 1 for part in coding.parts)
    )


def _word_ends(groups: Groups, ends: Sequence[int], bins: int) -> tuple[str, ...]:
    cut = [name for name, end in zip(groups.names, ends, strict=True) if end < bins]
    if not cut:
        return ()
    where = "The curve ends" if groups.column is None else f"Curves of {', '.join(cut)} end"
    return (f"{where} where the noise hides how many are at risk.",)


SPEC = StatisticSpec(
    name="survival",
    summary="Survival curves (Kaplan–Meier) with bands, and the log-rank test of groups.",
    takes="a time, a category that says whether the event happened, and groups if they are compared",
    plan=plan_survival,
    options=(
        EVENT_OPTION,
        OptionSpec(
            "bins",
            "integer",
            "At most so many ranges of time.",
            default=20,
            minimum=1,
            maximum=400,
        ),
        GROUPS_OPTION,
    ),
    by="allowed",
    position=80,
)
