"""The scoreboard: who of a release fits best to what is known of somebody, and how clearly.

Score(known, record) = sum over shared items of w_i (exp(-|values apart| / a) + exp(-|days apart| / b)),
with w_i = 1 / log(people with item i), so that rare items count most (Narayanan & Shmatikov 2008,
Scoreboard-RH). The best record is claimed only when it stands out by its eccentricity: (best -
second best) / standard deviation of the scores of all records.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int32]
    Reals = NDArray[np.float64]

# Apart from everything, and from each other: what is missing is like nothing.
MISSING_HERE = -1_000_000_000
MISSING_THERE = -2_000_000_000
SAMPLED_PAIRS = 20_000


@dataclass(frozen=True)
class Nearness:
    """How much values and days count that are so many steps apart; the last entry is 0, for the rest."""

    values: Reals
    days: Reals

    @property
    def most(self) -> float:
        """What an item counts, times its weight, when value and day agree."""
        return float(self.values[0] + self.days[0])


@dataclass(frozen=True)
class Index:
    """A release by item: `holders[starts[i]:starts[i + 1]]` have item i, ascending.

    `values` and `days` are whole steps. A holder who has an item several times stands there as often.
    """

    people: int
    starts: NDArray[np.int64]
    holders: Integers
    values: Integers
    days: Integers

    @cached_property
    def weights(self) -> Reals:
        """The weight of each item: the rarer, the heavier."""
        return 1.0 / np.log(np.maximum(np.diff(self.starts), 2))


@dataclass(frozen=True)
class Points:
    """What is known of each target: `items[starts[t]:starts[t + 1]]`, with values and days."""

    starts: NDArray[np.int64]
    items: Integers
    values: Integers
    days: Integers

    def __len__(self) -> int:
        return len(self.starts) - 1


@dataclass(frozen=True)
class Scores:
    """For each target the best record (-1: none), how it stands out, and what is left to doubt."""

    best: Integers
    top: Reals
    second: Reals
    deviation: Reals
    entropy: Reals  # bits, of the posterior over all records
    certainty: Reals  # the posterior of the best record

    @property
    def eccentricity(self) -> Reals:
        """How many standard deviations the best is ahead of the second best."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = (self.top - self.second) / self.deviation
        return np.where(self.deviation > 0, found, 0.0)


def make_nearness(
    *, value_tolerance: float, day_tolerance: float, has_values: bool, has_days: bool, step: float
) -> Nearness:
    """Return the tables that stand in for exp: values of `step` apart, days of one.

    Without values and days an item counts by itself.
    """
    if not has_values and not has_days:
        return Nearness(np.array([1.0, 0.0]), np.zeros(1))
    return Nearness(
        _decay(value_tolerance / step) if has_values else np.zeros(1),
        _decay(day_tolerance) if has_days else np.zeros(1),
    )


def score(
    index: Index,
    points: Points,
    nearness: Nearness,
    *,
    chance: np.random.Generator,
    left_out: Integers | None = None,
) -> Scores:
    """Return the scoreboard of every target, by numba where it is installed.

    Args:
        index: The release.
        points: What is known of the targets.
        nearness: How near values and days are.
        chance: Draws the pairs from which the scores of hopeless records are estimated: those that
            cannot become second best any more are not scored, only their spread is.
        left_out: A record for each target that is taken to be absent; -1 for none.
    """
    absent = np.full(len(points), -1, np.int32) if left_out is None else left_out
    ordered = _rare_first(index, points)
    try:
        from discreet.attack.sparse.scoreboard_kernel import score_targets
    except (ImportError, RuntimeError):  # the latter where numba finds no place for its cache
        return score_plainly(index, ordered, nearness, left_out=absent)
    moments = _moments(index, nearness, chance)
    outputs = np.zeros((5, len(points)))
    best = np.full(len(points), -1, np.int32)
    arrays = (
        *(index.starts, index.holders, index.values, index.days, index.weights),
        *(ordered.starts, ordered.items, ordered.values, ordered.days),
        *(nearness.values, nearness.days),
    )
    workers = os.cpu_count() or 1
    edges = np.linspace(0, len(points), 8 * workers + 1).astype(np.int64)
    with ThreadPoolExecutor(workers) as pool:
        jobs = [
            pool.submit(score_targets, arrays, index.people, absent, moments, bounds, best, outputs)
            for bounds in pairwise(edges.tolist())
        ]
        for job in jobs:
            job.result()
    return Scores(best, *outputs)


def score_plainly(
    index: Index, points: Points, nearness: Nearness, *, left_out: Integers
) -> Scores:
    """Return the scoreboard with numpy alone: every record is scored; right, but slow."""
    best = np.full(len(points), -1, np.int32)
    outputs = np.zeros((5, len(points)))
    for target in range(len(points)):
        scores = np.zeros(index.people)
        for point in range(points.starts[target], points.starts[target + 1]):
            holders, nears = _column(index, points, nearness, point)
            scores[holders] += index.weights[points.items[point]] * nears
        if left_out[target] >= 0:
            scores[left_out[target]] = 0.0
        outputs[:, target] = _summary(scores)
        if scores.any():
            best[target] = scores.argmax()
    return Scores(best, *outputs)


def _column(index: Index, points: Points, nearness: Nearness, point: int) -> tuple[Integers, Reals]:
    """Return the holders of a point's item, each once, and how near their nearest one is."""
    item = points.items[point]
    part = slice(int(index.starts[item]), int(index.starts[item + 1]))
    nears = _near(index.values[part], points.values[point], nearness.values)
    nears = nears + _near(index.days[part], points.days[point], nearness.days)
    holders, firsts = np.unique(index.holders[part], return_index=True)
    return holders, np.maximum.reduceat(nears, firsts) if len(firsts) else nears


def _near(here: Integers, there: np.int32, table: Reals) -> Reals:
    apart = np.abs(here.astype(np.int64) - int(there))
    return table[np.minimum(apart, len(table) - 1)]


def _summary(scores: Reals) -> tuple[float, float, float, float, float]:
    second, top = np.partition(scores, -2)[-2:] if len(scores) > 1 else (0.0, scores[0])
    deviation = float(scores.std())
    if deviation == 0:
        return float(top), float(second), 0.0, float(np.log2(len(scores))), 1 / len(scores)
    behind = (top - scores) / deviation
    shares = np.exp(-behind)
    total = shares.sum()
    entropy = (np.log(total) + (shares * behind).sum() / total) / np.log(2)
    return float(top), float(second), deviation, float(entropy), float(1 / total)


def _decay(tolerance: float) -> Reals:
    # Beyond 20 tolerances a factor of 2e-9 is left: nothing, which the last entry says.
    near = np.exp(-np.arange(int(20 * tolerance) + 2) / tolerance)
    return np.append(near, 0.0)


def _rare_first(index: Index, points: Points) -> Points:
    """Return the points without items nobody holds, each target's rare ones first."""
    owners = np.repeat(np.arange(len(points)), np.diff(points.starts))
    known = np.flatnonzero(points.items >= 0)
    by_weight = -index.weights[points.items[known]]
    order = known[np.lexsort((by_weight, owners[known]))]
    counts = np.bincount(owners[order], minlength=len(points))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Points(starts, points.items[order], points.values[order], points.days[order])


def _moments(index: Index, nearness: Nearness, chance: np.random.Generator) -> tuple[float, float]:
    """Return the first two moments of how near two holders of one item are, by drawing pairs."""
    if not len(index.holders):
        return 0.0, 0.0
    first = chance.integers(0, len(index.holders), SAMPLED_PAIRS)
    item = np.searchsorted(index.starts, first, side="right") - 1
    low, high = index.starts[item], index.starts[item + 1]
    second = low + (chance.random(SAMPLED_PAIRS) * (high - low)).astype(np.int64)
    nears = np.zeros(SAMPLED_PAIRS)
    for column, table in ((index.values, nearness.values), (index.days, nearness.days)):
        apart = np.abs(column[first].astype(np.int64) - column[second])
        nears += table[np.minimum(apart, len(table) - 1)]
    return float(nears.mean()), float((nears**2).mean())
