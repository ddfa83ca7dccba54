"""Rows that no class could be found for: they join others, or are suppressed where that is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.release.anonymize.frequencies import renumber_keys, sum_by_label
from discreet.release.anonymize.judge import CachedJudge
from discreet.release.anonymize.label_cost import Space
from discreet.release.anonymize.mondrian import partition_loosely
from discreet.release.anonymize.problem import Problem
from discreet.release.anonymize.reachability import unreachable_error
from discreet.release.anonymize.recoding import SUPPRESSED, loss, tighten_labels

# How much is done to find other classes for rows that would be fully suppressed.
MOST_TRIED = 200_000_000
MOST_TAKERS = 1_000


def merge_rest(
    problem: Problem, space: Space, referee: CachedJudge, classes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the classes after combinations without one became classes that hold.

    The classes nearest to it are merged into it until it does, and it is cut again as far as it can
    be. The rest is suppressed instead where
    the limit allows it and that costs less, or where even all rows in one class do not hold.

    Raises:
        CriteriaUnreachable: Neither is possible.
    """
    rest = np.flatnonzero(classes == SUPPRESSED)
    if not len(rest):
        return classes
    merged = _merge_classes(problem, space, referee, classes, rest)
    may_hide = int(problem.table.rows[rest].sum()) <= problem.limit
    if merged is None:
        if not may_hide:
            raise unreachable_error(problem)
        return classes
    if may_hide and _total_loss(problem, classes) < _total_loss(problem, merged):
        return classes
    return merged


def hide_outliers(
    problem: Problem, space: Space, referee: CachedJudge, classes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the classes after combinations were suppressed whose leaving makes others lose less.

    A suppressed row loses everything, so that this pays only where one row widens the label of many;
    those first that gain most, while the limit allows it.
    """
    result = classes.copy()
    left = problem.limit - int(space.rows[classes == SUPPRESSED].sum())
    if left <= 0:
        return result
    weights = problem.weights
    price = sum(w for w, a in zip(weights, problem.attributes, strict=True) if a.leaf < 1)
    found = [one for one in _gains_of_hiding(space, classes, price, k=referee.k) if one[0] > 0]
    for _, member, rest in sorted(found, key=lambda one: (-one[0], one[1])):
        rows = int(space.rows[member])
        if rows <= left and referee.hold([rest])[0]:
            result[member] = SUPPRESSED
            left -= rows
    return result


def show_hidden(
    problem: Problem, space: Space, referee: CachedJudge, classes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the classes after the members of one that is `*` throughout joined others that are not.

    Its rows reveal nothing under any label: they are suppressed where the limit
    allows it, and stay as they are only where no other class can take all of them.
    """
    recoding = tighten_labels(problem, classes)
    hidden = np.flatnonzero((recoding.levels == problem.heights).all(axis=1))
    if not len(hidden) or len(recoding) == 1:
        return classes
    members = np.flatnonzero(recoding.classes == hidden[0])
    result = np.where(recoding.classes == hidden[0], SUPPRESSED, recoding.classes)
    if int(space.rows[result == SUPPRESSED].sum()) <= problem.limit:
        return result
    if len(members) * len(recoding) * len(problem.heights) > MOST_TRIED:
        return classes
    for member in members.tolist():
        taker = _cheapest_class(problem, space, referee, result, member)
        if taker is None:
            return classes
        result[member] = taker
    return result


def _cheapest_class(
    problem: Problem, space: Space, referee: CachedJudge, classes: NDArray[np.int64], member: int
) -> int | None:
    """Return the class that a combination joins at the least cost without suppressing all of it."""
    numbers, kept = classes.copy(), np.flatnonzero(classes != SUPPRESSED)
    known, numbers[kept] = np.unique(classes[kept], return_inverse=True)
    rows = sum_by_label(numbers[kept], space.rows[kept], len(known))
    lows, highs = space.ends(numbers, len(known))
    own = space.parts(lows, highs).sum(axis=1) * rows
    place = space.places[member]
    wide = space.parts(np.minimum(lows, place), np.maximum(highs, place))
    costs = wide.sum(axis=1) * (rows + space.rows[member]) - own
    takers = np.flatnonzero(np.any(wide < problem.weights * (1 - 1e-6), axis=1))
    for taker in takers[np.argsort(costs[takers], kind="stable")][:MOST_TAKERS].tolist():
        group = np.append(np.flatnonzero(numbers == taker), member)
        if referee.hold([group])[0]:
            return int(known[taker])
    return None


def _gains_of_hiding(
    space: Space, classes: NDArray[np.int64], price: float, *, k: int
) -> Iterator[tuple[float, int, NDArray[np.int64]]]:
    """Return what each class gains if the best of its members is hidden, that one, and the others."""
    kept = np.flatnonzero(classes != SUPPRESSED)
    order = kept[np.argsort(classes[kept], kind="stable")]
    starts = np.flatnonzero(np.diff(classes[order], prepend=-1, append=-1))
    for low, high in pairwise(starts.tolist()):
        members = order[low:high]
        rows = space.rows[members]
        if high - low < 2 or rows.sum() - rows.min() < k:
            continue
        places = space.places[members]
        own = space.parts(places.min(axis=0), places.max(axis=0)).sum()
        left = rows.sum() - rows
        gain = own * rows.sum() - space.without_each(members).sum(axis=1) * left - rows * price
        gain[left < k] = 0
        best = int(gain.argmax())
        yield float(gain[best]), int(members[best]), np.delete(members, best)


def _total_loss(problem: Problem, classes: NDArray[np.int64]) -> float:
    return loss(problem, tighten_labels(problem, classes))


def _merge_classes(
    problem: Problem,
    space: Space,
    referee: CachedJudge,
    classes: NDArray[np.int64],
    rest: NDArray[np.int64],
) -> NDArray[np.int64] | None:
    kept = np.flatnonzero(classes != SUPPRESSED)
    numbers, count = renumber_keys(classes[kept], int(classes.max(initial=-1)) + 1)
    order = _by_nearness(space, classes, rest)
    ranks = np.empty(count, dtype=np.int64)
    ranks[order] = np.arange(count)
    taken = 0
    while True:
        group = np.concatenate([rest, kept[ranks[numbers] < taken]])
        if referee.hold([group])[0]:
            result = classes.copy()
            group.sort()
            result[group] = _split(problem, group) + int(classes.max(initial=-1)) + 1
            return result
        if taken >= count:
            return None
        taken = min(max(2 * taken, 1), count)


def _split(problem: Problem, group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the parts of a class that holds: as small as Mondrian can make them."""
    chosen = np.zeros(len(problem.table), dtype=np.bool_)
    chosen[group] = True
    return partition_loosely(replace(problem, table=problem.table.take(chosen))).classes


def _by_nearness(
    space: Space, classes: NDArray[np.int64], rest: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the classes, numbered by their order, from the one that costs least to merge."""
    kept = classes != SUPPRESSED
    numbers = classes.copy()
    numbers[kept], count = renumber_keys(classes[kept], int(classes.max(initial=-1)) + 1)
    rows = sum_by_label(numbers[kept], space.rows[kept], count)
    lows, highs = space.ends(numbers, count)
    own = space.parts(lows, highs).sum(axis=1) * rows
    places = space.places[rest]
    lows, highs = np.minimum(lows, places.min(axis=0)), np.maximum(highs, places.max(axis=0))
    wide = space.parts(lows, highs).sum(axis=1) * (rows + int(space.rows[rest].sum()))
    return np.argsort(wide - own, kind="stable")
