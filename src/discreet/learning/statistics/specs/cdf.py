"""A cumulative distribution with a simultaneous band, and the quantiles it gives, from noisy counts of ranges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.domain.coded_column import CodedColumn
from discreet.learning.statistics.conclusion import (
    BAND,
    Conclusion,
    StatisticPlan,
    StatisticRow,
)
from discreet.learning.statistics.intervals import REPLICATES, has_signal
from discreet.learning.statistics.kinds import StatisticSpec
from discreet.learning.statistics.looks import CellAxis, CellLook, LevelsLook
from discreet.learning.statistics.released import ReleasedSums
from discreet.learning.statistics.variables import (
    Variables,
    divide_scale,
    label_codes,
    lower_ends,
    require_columns,
    upper_ends,
)
from discreet.learning.statistics.wording import hide_by_noise
from discreet.option_values import read_names
from discreet.registry import OptionSpec

Floats = NDArray[np.float64]
_MOST_BINS = 400
QUANTILES = (0.25, 0.5, 0.75)


def plan_cdf(
    variables: Variables,
    *,
    confidence: float,
    bins: int = 100,
    quantiles: Sequence[float] = QUANTILES,
) -> StatisticPlan:
    """Return what is measured: counts of narrow ranges, and of wider ones where that makes sums more exact."""
    (column,) = require_columns(variables, "cdf", 1)
    column = divide_scale(column, bins)
    size = column.coding.size
    levels = choose_levels(size)
    looks = tuple(
        CellLook((CellAxis(0, (*(np.arange(size) // width).tolist(), -1)),), name=f"width{width}")
        for width in levels
    )
    conclude = partial(
        describe_curve,
        column=column,
        levels=levels,
        quantiles=tuple(quantiles),
        confidence=confidence,
    )
    return StatisticPlan((column,), LevelsLook(looks), conclude)


def choose_levels(size: int) -> tuple[int, ...]:
    """Return the widths of ranges whose noisy counts give cumulative counts the least variance.

    Each level costs its share, and wide ranges spare sums of many narrow ones (Hay, Rastogi, Miklau & Suciu 2010).
    It depends on the number of bins alone.

    >>> choose_levels(100)
    (1, 5, 25)
    """
    root, third = max(2, round(size**0.5)), max(2, round(size ** (1 / 3)))
    candidates = [(1,), (1, root), (1, third, third * third)]
    return min(candidates, key=lambda levels: _average_variance(size, levels))


def _average_variance(size: int, levels: tuple[int, ...]) -> float:
    solved = solve_prefixes(size, levels)
    return float(len(levels) * (solved**2).sum() / size)


def solve_prefixes(size: int, levels: tuple[int, ...]) -> Floats:
    """Return the matrix that makes cumulative counts of the counts of all levels, by least squares."""
    rows = [
        (np.arange(size) // width == one).astype(float)
        for width in levels
        for one in range(-(-size // width))
    ]
    return np.tril(np.ones((size, size))) @ np.linalg.pinv(np.array(rows))


def describe_curve(
    released: ReleasedSums,
    *,
    column: CodedColumn,
    levels: tuple[int, ...],
    quantiles: Sequence[float],
    confidence: float,
) -> Conclusion:
    """Return the share at or below the end of each bin, with a band for the whole curve, and quantiles.

    The band is as wide as the largest distance of the curve from its repetitions: multinomial samples of the noisy
    number of rows with the same noise.
    """
    size, chance = column.coding.size, released.start_chance()
    solved = solve_prefixes(size, levels)
    parts = [released[f"width{width}"] for width in levels]
    found = solved @ np.concatenate([part.values for part in parts])
    error = parts[0].error * float(np.sqrt((solved[-1] ** 2).sum()))
    if not has_signal(float(found[-1]), error):
        return hide_by_noise((), BAND)
    rows = float(found[-1])
    curve = make_monotone(found / rows)
    curve[-1] = 1.0
    chances = np.diff(curve, prepend=0.0)
    drawn = chance.multinomial(max(1, round(rows)), chances / chances.sum(), REPLICATES)
    noise = np.concatenate([part.draw_noise(chance, REPLICATES) for part in parts], axis=1)
    again = np.cumsum(drawn, axis=1) + noise @ solved.T
    far = np.abs(again / np.maximum(again[:, -1:], 1.0) - curve).max(axis=1)
    half = min(1.0, float(np.quantile(far, confidence)))
    names = label_codes(column)
    described = [
        StatisticRow("share at or below", {column.name: name}, value, low, high)
        for name, value, low, high in zip(
            names,
            curve.tolist(),
            np.clip(curve - half, 0, 1).tolist(),
            np.clip(curve + half, 0, 1).tolist(),
            strict=True,
        )
    ]
    if column.kind.is_number:
        described += [_read_quantile(column, curve, half, one) for one in quantiles]
    verdict = f"{column.name}: {size:,} bins, the curve within ±{half:.3g} at every bin."
    return Conclusion(verdict, tuple(described), BAND)


def make_monotone(curve: Floats) -> Floats:
    """Return a curve that does not fall, from 0 to 1, no farther from any other such curve than before."""
    rising = np.maximum.accumulate(curve)
    falling = np.minimum.accumulate(curve[::-1])[::-1]
    return np.clip((rising + falling) / 2, 0.0, 1.0)


def _read_quantile(column: CodedColumn, curve: Floats, half: float, share: float) -> StatisticRow:
    """Return a quantile: where the curve crosses its share, and between where the band does."""
    ends = upper_ends(column)
    starts = lower_ends(column)
    last = len(curve) - 1

    def crossing(height: Floats) -> int:
        reached = np.flatnonzero(height >= share)
        return int(reached[0]) if len(reached) else last

    best, low, high = crossing(curve), crossing(curve + half), crossing(curve - half)
    return StatisticRow("quantile", {"share": f"{share:g}"}, ends[best], starts[low], ends[high])


def _read_shares(text: str) -> tuple[float, ...]:
    try:
        found = tuple(float(one) for one in read_names(text))
    except ValueError:
        found = ()
    if not found or not all(0 < one < 1 and math.isfinite(one) for one in found):
        raise ValueError("Write shares above 0 and below 1, such as 0.25,0.5,0.75.")
    return found


SPEC = StatisticSpec(
    name="cdf",
    summary="The cumulative distribution of a scale with a simultaneous band, and quantiles.",
    takes="a number, a date or a time",
    plan=plan_cdf,
    options=(
        OptionSpec(
            "bins", "integer", "At most so many bins.", default=100, minimum=2, maximum=_MOST_BINS
        ),
        OptionSpec(
            "quantiles",
            "text",
            "Which quantiles, 0.1,0.5.",
            default=QUANTILES,
            default_text="0.25,0.5,0.75",
            parse=_read_shares,
        ),
    ),
    position=20,
)
