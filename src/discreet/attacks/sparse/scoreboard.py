"""The scoreboard: who of a release fits best to what is known of a person, and how clearly.

Score(known, record) = sum over shared items of w_i (exp(-|values apart| / a) + exp(-|days apart| / b)),
with w_i = 1 / log(people with item i), so that rare items count most (Narayanan & Shmatikov 2008,
Scoreboard-RH). The best record is claimed only when it stands out by its eccentricity: (best -
second best) / standard deviation of the scores of all records.

Every record is scored, by numba where it is installed and by numpy otherwise: the same sums in the same
order, so that both give the same numbers to the last bit.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int32]
Reals = NDArray[np.float64]

# Apart from everything, and from each other: what is missing is like nothing.
MISSING_HERE = -1_000_000_000
MISSING_THERE = -2_000_000_000
# What a record that is so many deviations behind weighs, e^-x, in steps; the last entry is 0.
STEPS = 1024
SHARES = np.append(np.exp(-np.arange(40 * STEPS) / STEPS), 0.0)


@dataclass(frozen=True)
class Nearness:
    """How much values and days count that are so many steps apart; the last entry is 0, for the rest."""

    values: Reals
    days: Reals


@dataclass(frozen=True)
class ItemIndex:
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
        _nearness_table(value_tolerance / step) if has_values else np.zeros(1),
        _nearness_table(day_tolerance) if has_days else np.zeros(1),
    )


def compute_scoreboard(
    index: ItemIndex, points: Points, nearness: Nearness, *, left_out: Integers | None = None
) -> Scores:
    """Return the scoreboard of every target, by numba where it is installed.

    Args:
        index: The release.
        points: What is known of the targets.
        nearness: How near values and days are.
        left_out: A record for each target that is taken to be absent; -1 for none.
    """
    absent = np.full(len(points), -1, np.int32) if left_out is None else left_out
    ordered = _rare_first(index, points)
    try:
        from discreet.attacks.sparse.scoreboard_kernel import score_targets
    except (ImportError, RuntimeError):  # the latter where numba finds no place for its cache
        return compute_with_numpy(index, ordered, nearness, left_out=absent)
    outputs = np.zeros((5, len(points)))
    best = np.full(len(points), -1, np.int32)
    arrays = (
        *(index.starts, index.holders, index.values, index.days, index.weights),
        *(ordered.starts, ordered.items, ordered.values, ordered.days),
        *(nearness.values, nearness.days),
    )
    shared_arguments = (arrays, index.people, absent, SHARES, STEPS)
    workers = os.cpu_count() or 1
    edges = np.linspace(0, len(points), 8 * workers + 1).astype(np.int64)
    with ThreadPoolExecutor(workers) as pool:
        jobs = [
            pool.submit(score_targets, *shared_arguments, bounds, best, outputs)
            for bounds in pairwise(edges.tolist())
        ]
        for job in jobs:
            job.result()
    return _build_scores(best, outputs)


def compute_with_numpy(
    index: ItemIndex, points: Points, nearness: Nearness, *, left_out: Integers
) -> Scores:
    """Return the scoreboard with numpy alone: the same numbers, slowly."""
    best = np.full(len(points), -1, np.int32)
    outputs = np.zeros((5, len(points)))
    for target in range(len(points)):
        scores, touched = np.zeros(index.people), [np.zeros(0, np.int32)]
        for point in range(points.starts[target], points.starts[target + 1]):
            holders, nears = _nearest_holders(index, points, nearness, point)
            fits = (nears > 0) & (holders != left_out[target])
            holders, nears = holders[fits], nears[fits]
            touched.append(holders[scores[holders] == 0])
            scores[holders] += index.weights[points.items[point]] * nears
        order = np.concatenate(touched)
        best[target], outputs[:, target] = _summarize_target(scores, order)
    return _build_scores(best, outputs)


def _build_scores(best: Integers, outputs: Reals) -> Scores:
    top, second, deviation, mass, moment = outputs
    entropy = (np.log(mass) + moment / STEPS / mass) / np.log(2)
    return Scores(best, top, second, deviation, entropy, 1 / mass)


def _nearest_holders(
    index: ItemIndex, points: Points, nearness: Nearness, point: int
) -> tuple[Integers, Reals]:
    """Return the holders of a point's item, each once, and how near their nearest one is."""
    item = points.items[point]
    part = slice(int(index.starts[item]), int(index.starts[item + 1]))
    nears = _look_up_nearness(index.values[part], points.values[point], nearness.values)
    nears = nears + _look_up_nearness(index.days[part], points.days[point], nearness.days)
    holders, firsts = np.unique(index.holders[part], return_index=True)
    return holders, np.maximum.reduceat(nears, firsts) if len(firsts) else nears


def _look_up_nearness(here: Integers, there: np.int32, table: Reals) -> Reals:
    apart = np.abs(here.astype(np.int64) - int(there))
    return table[np.minimum(apart, len(table) - 1)]


def _summarize_target(
    scores: Reals, touched: Integers
) -> tuple[int, tuple[float, float, float, float, float]]:
    """Return the best record, then top, second, deviation, mass and moment; sums go term by term."""
    reached, people = scores[touched], len(scores)
    best = int(touched[reached == reached.max()].min()) if len(touched) else -1
    second, top = np.sort(np.append(reached, [0.0, 0.0]))[-2:]
    mean = _sum(reached) / people
    deviation = np.sqrt(max(0.0, _sum(reached * reached) / people - mean * mean))
    scale = STEPS / deviation if deviation > 0 else 0.0
    behind = np.minimum(((top - reached) * scale).astype(np.int64), len(SHARES) - 1)
    last = min(int(top * scale), len(SHARES) - 1)
    rest = people - len(touched)
    mass = _sum(SHARES[behind]) + SHARES[last] * rest
    moment = _sum(SHARES[behind] * behind) + SHARES[last] * rest * last
    return best, (float(top), float(second), float(deviation), float(mass), float(moment))


def _sum(values: Reals) -> float:
    """Return the sum from the first to the last: `np.sum` adds in another order."""
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


def _nearness_table(tolerance: float) -> Reals:
    # Beyond 20 tolerances a factor of 2e-9 is left: nothing, which the last entry says.
    near = np.exp(-np.arange(int(20 * tolerance) + 2) / tolerance)
    return np.append(near, 0.0)


def _rare_first(index: ItemIndex, points: Points) -> Points:
    """Return the points without items that no one holds, each target's rare ones first."""
    owners = np.repeat(np.arange(len(points)), np.diff(points.starts))
    known = np.flatnonzero(points.items >= 0)
    by_weight = -index.weights[points.items[known]]
    order = known[np.lexsort((by_weight, owners[known]))]
    counts = np.bincount(owners[order], minlength=len(points))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Points(starts, points.items[order], points.values[order], points.days[order])
