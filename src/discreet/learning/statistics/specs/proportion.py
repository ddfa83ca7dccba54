"""Tests of proportions: one against a number, or two groups against each other, on noisy counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.domain.coded_column import CodedColumn
from discreet.errors import WrongUsage
from discreet.formatting import format_percent
from discreet.learning.statistics.conclusion import (
    POPULATION,
    Conclusion,
    StatisticPlan,
    StatisticRow,
    TestOutcome,
)
from discreet.learning.statistics.intervals import (
    REPLICATES,
    has_signal,
    p_value,
    share_interval,
)
from discreet.learning.statistics.kinds import StatisticSpec
from discreet.learning.statistics.looks import CellAxis, CellLook
from discreet.learning.statistics.released import NoisySums, ReleasedSums
from discreet.learning.statistics.variables import (
    GROUPS_OPTION,
    Groups,
    Variables,
    choose_groups,
    choose_value,
    label_codes,
    require_categories,
    require_columns,
)
from discreet.learning.statistics.wording import hide_by_noise, word_test
from discreet.registry import OptionSpec

Floats = NDArray[np.float64]


def plan_proportion(
    variables: Variables,
    *,
    confidence: float,
    value: str | None = None,
    share: float = 0.5,
    groups: Sequence[str] = (),
) -> StatisticPlan:
    """Return what is measured: rows with the value and rows without it, in each group."""
    (column,) = require_columns(variables, "proportion", 1)
    code = choose_value(require_categories(column), value, option="value")
    name = f"{column.name} = {label_codes(column)[code]}"
    split = split_by_value(column, code)
    if variables.by is None:
        if not 0 < share < 1:
            raise WrongUsage("The `share` to compare with is above 0 and below 1.")
        conclude = partial(compare_with_share, name=name, share=share, confidence=confidence)
        return StatisticPlan((column,), CellLook((split,)), conclude)
    chosen = choose_groups(variables, 1, groups, exactly=2)
    conclude = partial(compare_two_shares, name=name, groups=chosen, confidence=confidence)
    look = CellLook((split, chosen.axis))
    return StatisticPlan((column, *chosen.columns), look, conclude)


def split_by_value(column: CodedColumn, code: int) -> CellAxis:
    """Return an axis with a cell for one value, and one for all others that are there."""
    return CellAxis(0, (*(0 if one == code else 1 for one in range(column.coding.size)), -1))


def compare_with_share(
    released: ReleasedSums, *, name: str, share: float, confidence: float
) -> Conclusion:
    """Return a proportion with its interval, and the test that it is `share`.

    The null distribution is that of the same statistic on repetitions: binomial counts of the noisy number of rows,
    and the same noise.
    """
    noisy, chance = released["cells"], released.start_chance()
    with_it, rows = float(noisy.values[0]), float(noisy.values.sum())
    described = [_describe_share(released, noisy, (with_it, rows), {"value": name}, confidence)]
    if not has_signal(rows, noisy.error * math.sqrt(2)):
        return hide_by_noise(described, POPULATION)
    size = max(1, round(rows))
    drawn = chance.binomial(size, share, REPLICATES)
    again = np.stack([drawn, size - drawn], axis=1) + noisy.draw_noise(chance, REPLICATES)
    observed = float(_score_share(noisy.values[None], noisy.error, share)[0])
    level = p_value(abs(observed), np.abs(_score_share(again, noisy.error, share)))
    verdict = word_test(
        level,
        confidence,
        found=f"The share of '{name}' is not {format_percent(share)} but about {format_percent(with_it / rows)}",
        absent=f"No deviation of the share of '{name}' from {format_percent(share)} is shown",
    )
    test = TestOutcome(f"the share is {share:g}", observed, level)
    return Conclusion(verdict, tuple(described), POPULATION, test)


def compare_two_shares(
    released: ReleasedSums, *, name: str, groups: Groups, confidence: float
) -> Conclusion:
    """Return the proportion in two groups, their difference with its interval, and the test that they agree.

    The interval of the difference joins those of the shares (Newcombe 1998, method 10).
    """
    noisy, chance = released["cells"], released.start_chance()
    sizes = noisy.values.sum(axis=0)
    described = [
        _describe_share(
            released,
            noisy,
            (float(noisy.values[0, group]), float(sizes[group])),
            groups.label(group),
            confidence,
        )
        for group in range(2)
    ]
    hidden = [
        one
        for one, rows in zip(groups.names, sizes.tolist(), strict=True)
        if not has_signal(rows, noisy.error * math.sqrt(2))
    ]
    if hidden:
        return hide_by_noise(described, POPULATION, groups=hidden)
    shares, _, pooled = _estimate_shares(noisy.values[None], noisy.error)
    whole = np.maximum(1, np.rint(sizes)).astype(np.int64)
    drawn = chance.binomial(whole, float(pooled[0, 0]), (REPLICATES, 2))
    again = np.stack([drawn, whole - drawn], axis=1) + noisy.draw_noise(chance, REPLICATES)
    observed = float(_score_difference(noisy.values[None], noisy.error)[0])
    level = p_value(abs(observed), np.abs(_score_difference(again, noisy.error)))
    difference = _describe_difference(shares[0], described, groups)
    first, second = groups.names
    verdict = word_test(
        level,
        confidence,
        found=f"The share of '{name}' differs between {first} and {second}",
        absent=f"No difference of the share of '{name}' between {first} and {second} is shown",
    )
    test = TestOutcome("both groups have the same share", observed, level)
    return Conclusion(verdict, (*described, difference), POPULATION, test)


def _describe_share(
    released: ReleasedSums,
    noisy: NoisySums,
    counted: tuple[float, float],
    label: dict[str, str],
    confidence: float,
) -> StatisticRow:
    count, rows = counted
    low, high = share_interval(
        released.start_chance(), noisy, confidence, count=count, cells=2, rows=rows
    )
    best = min(1.0, max(0.0, count / rows)) if rows > 0 else None
    if best is not None:
        low, high = min(low, best), max(high, best)
    return StatisticRow("share", label, best, low, high)


def _describe_difference(
    shares: Floats, described: Sequence[StatisticRow], groups: Groups
) -> StatisticRow:
    apart = float(shares[0] - shares[1])
    first, second = ((one.low or 0.0, 1.0 if one.high is None else one.high) for one in described)
    below = math.hypot(shares[0] - first[0], second[1] - shares[1])
    above = math.hypot(first[1] - shares[0], shares[1] - second[0])
    label = {name: " - ".join(groups.names) for name in groups.label(0)}
    low, high = max(-1.0, apart - below), min(1.0, apart + above)
    return StatisticRow("difference of shares", label, apart, low, high)


def _score_share(tables: Floats, error: float, share: float) -> Floats:
    """Return the score of tables under a share: the classical z where there is no noise."""
    rows = np.maximum(tables.sum(axis=1), 1.0)
    variance = rows * share * (1 - share) + error**2 * ((1 - share) ** 2 + share**2)
    return (tables[:, 0] - share * tables.sum(axis=1)) / np.sqrt(variance)


def _estimate_shares(tables: Floats, error: float) -> tuple[Floats, Floats, Floats]:
    """Return the shares of groups, the variance that noise gives them, and the share of both groups together."""
    rows = np.maximum(tables.sum(axis=1), 1.0)
    shares = np.clip(tables[:, 0] / rows, 0.0, 1.0)
    pooled = np.clip(
        tables[:, 0].sum(axis=1, keepdims=True) / rows.sum(axis=1, keepdims=True), 0, 1
    )
    noise = error**2 * ((1 - shares) ** 2 + shares**2) / rows**2
    return shares, noise, pooled


def _score_difference(tables: Floats, error: float) -> Floats:
    """Return the score of the difference of two shares: the classical pooled z where there is no noise."""
    shares, noise, pooled = _estimate_shares(tables, error)
    rows = np.maximum(tables.sum(axis=1), 1.0)
    variance = (pooled * (1 - pooled) / rows + noise).sum(axis=1)
    return (shares[:, 0] - shares[:, 1]) / np.sqrt(np.maximum(variance, 1e-18))


SPEC = StatisticSpec(
    name="proportion",
    summary="Whether a share is a given number, or the same in two groups.",
    takes="a category, and two groups if they are compared",
    plan=plan_proportion,
    options=(
        OptionSpec("value", "text", "The value whose share it is. Default: the last of two."),
        OptionSpec("share", "number", "The share to compare with.", default=0.5),
        GROUPS_OPTION,
    ),
    by="allowed",
    position=55,
)
