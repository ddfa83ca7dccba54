"""Microaggregation: groups of similar rows get the means of their numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Groups = NDArray[np.int64]  # the group of each row, from 0
Reals = NDArray[np.float64]

# MDAV takes time in the square of the rows; beyond this many they are cut into blocks first.
ROWS_PER_BLOCK = 5_000


def mdav(points: Reals, k: int) -> Groups:
    """Return groups of k to 2k-1 near rows of `points` (rows by columns), which must be `k` or more.

    Maximum distance to average vector (Domingo-Ferrer & Mateo-Sanz 2002; MDAV-generic of
    Domingo-Ferrer & Torra 2005), on numbers in units of their column's standard deviation. More than
    `ROWS_PER_BLOCK` rows are first halved, again and again, at the median of the column that varies
    most; each block takes time in the square of its rows divided by `k`.
    """
    deviation = points.std(axis=0)
    scaled = (points - points.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    groups = np.empty(len(points), dtype=np.int64)
    count = 0
    for block in _split_blocks(scaled, most=max(ROWS_PER_BLOCK, 4 * k)):
        for members in _mdav_block(np.ascontiguousarray(scaled[block].T), k):
            groups[block[members]] = count
            count += 1
    return groups


def _split_blocks(points: Reals, *, most: int) -> list[NDArray[np.intp]]:
    """Return the rows in blocks of at most `most` and at least half as many, near ones together."""
    waiting, done = [np.arange(len(points))], list[np.ndarray]()
    while waiting:
        block = waiting.pop()
        if len(block) <= most:
            done.append(block)
            continue
        inside = points[block]
        widest = int(np.argmax(inside.var(axis=0)))
        order = block[np.argsort(inside[:, widest], kind="stable")]
        waiting += [order[: len(order) // 2], order[len(order) // 2 :]]
    return done


def _mdav_block(points: Reals, k: int) -> list[NDArray[np.intp]]:
    """Return the groups of one block; `points` has a row per column, so that sums are quick."""
    left = np.arange(points.shape[1])
    groups: list[NDArray[np.intp]] = []

    def release_nearest(seed: Reals) -> Reals:
        """Move the k points nearest to `seed` into a group, and return the distances of the others."""
        nonlocal points, left
        distances = _squared_distances(points, seed)
        nearest = np.argpartition(distances, k - 1)[:k]
        groups.append(left[nearest])
        others = np.ones(len(left), dtype=np.bool_)
        others[nearest] = False
        points, left = points[:, others], left[others]
        return distances[others]

    while len(left) >= 3 * k:
        farthest = int(np.argmax(_squared_distances(points, points.mean(axis=1))))
        distances = release_nearest(points[:, farthest])
        release_nearest(points[:, int(np.argmax(distances))])
    if len(left) >= 2 * k:
        farthest = int(np.argmax(_squared_distances(points, points.mean(axis=1))))
        release_nearest(points[:, farthest])
    groups.append(left)
    return groups


def _squared_distances(points: Reals, seed: Reals) -> Reals:
    """Return the squared distance of each point from `seed`."""
    gaps = points - seed[:, None]
    return np.einsum("ij,ij->j", gaps, gaps)


def univariate(values: Reals, k: int) -> Groups:
    """Return the groups of k or more rows with the least sum of squared errors.

    The exact optimum (Hansen & Mukherjee 2003): groups are runs of the sorted values with k to 2k-1
    rows, found by the shortest path over their ends. `values` must be `k` or more.
    """
    order = np.argsort(values, kind="stable")
    starts = _best_starts(values[order], k)
    groups = np.empty(len(values), dtype=np.int64)
    begins = np.zeros(len(values), dtype=np.int64)
    begins[starts[1:]] = 1
    groups[order] = np.cumsum(begins)
    return groups


def _best_starts(values: Reals, k: int) -> list[int]:
    """Return where the best groups of sorted `values` start."""
    count = len(values)
    centered = values - values.mean()
    sums = np.concatenate([[0.0], np.cumsum(centered)])
    squares = np.concatenate([[0.0], np.cumsum(centered**2)])
    cost = np.full(count + 1, np.inf)  # of the best groups of the first rows, by their number
    cost[0] = 0
    taken = np.zeros(count + 1, dtype=np.int64)  # the size of the last of these groups
    sizes = np.arange(k, 2 * k)
    # The best of k ends in a row depends only on ends before all of them: k at a time.
    for first in range(k, count + 1, k):
        ends = np.arange(first, min(first + k, count + 1))
        begins = np.maximum(ends[:, None] - sizes, -1)
        gap = sums[ends][:, None] - sums[begins]
        error = squares[ends][:, None] - squares[begins] - gap**2 / sizes
        total = np.where(begins >= 0, cost[begins] + np.maximum(error, 0), np.inf)
        best = np.argmin(total, axis=1)
        cost[ends] = total[np.arange(len(ends)), best]
        taken[ends] = sizes[best]
    starts, end = list[int](), count
    while end > 0:
        end -= int(taken[end])
        starts.append(end)
    return starts[::-1]


def group_means(values: Reals, groups: Groups) -> Reals:
    """Return for each row the mean of its group."""
    means = np.bincount(groups, weights=values) / np.bincount(groups)
    return means[groups]


def aggregate(numbers: Reals, k: int, grouping: Callable[[Reals, int], Groups]) -> Reals:
    """Return `numbers` (rows by columns) with each row's numbers replaced by its group's means.

    NaN is a missing number. Rows are grouped with those that miss the same numbers; where fewer than
    `k` do, no number of theirs can be published and all become NaN.
    """
    result = np.full_like(numbers, np.nan)
    patterns, members = np.unique(np.isnan(numbers), axis=0, return_inverse=True)
    for index, missing in enumerate(patterns):
        rows = np.flatnonzero(members.reshape(-1) == index)
        if missing.all() or len(rows) < k:
            continue
        present = np.flatnonzero(~missing)
        inside = numbers[np.ix_(rows, present)]
        groups = grouping(inside, k)
        for position, column in enumerate(present):
            result[rows, column] = group_means(inside[:, position], groups)
    return result
