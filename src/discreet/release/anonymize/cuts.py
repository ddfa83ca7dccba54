"""Ways to cut parts in two or more along one attribute so that every piece meets the criteria."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.release.anonymize.frequencies import renumber_keys
from discreet.release.anonymize.judge import Judge
from discreet.release.anonymize.parts import Axis, Partition

# (side of each combination, whether each part may be cut so)
Sides: TypeAlias = tuple[NDArray[np.int64], NDArray[np.bool_]]
Cut: TypeAlias = Callable[[Judge, Partition, Axis], Sides]


def cut_between_values(judge: Judge, parts: Partition, axis: Axis) -> Sides:
    """Cut each part so that rows with the same value of the attribute stay together.

    Every part must have two values or more on the axis. A range is cut at its median, a hierarchy
    into the children of the part's label.
    """
    if axis.attribute.is_range:
        return _cut_range(judge, parts, axis)
    return _cut_tree(judge, parts, axis)


def cut_within_value(judge: Judge, parts: Partition, axis: Axis) -> Sides:
    """Cut each part into halves, between combinations that may share a value of the attribute.

    In a hierarchy one half is within the largest child of the part's label, and the other has the
    rest of the part.
    """
    if axis.attribute.is_range:
        least = np.zeros(parts.count, dtype=np.int64)
        order = np.lexsort((parts.ranks, parts.places, parts.labels))
    else:
        children = _split_into_children(parts, axis)
        owners = children.of_each(parts.labels)
        largest = _best_of_each(owners, children.rows, np.arange(children.count), parts.count)
        is_largest = largest[parts.labels] == children.labels
        least = parts.rows - children.rows[largest]
        order = np.lexsort((parts.ranks, parts.places, is_largest, parts.labels))
    owners = parts.labels[order]
    balance = _smaller_side_rows(owners, parts.table.rows[order], parts.rows, least=least)
    ends = np.arange(len(order))
    last = _best_of_each(owners, balance, ends, parts.count)
    sides = np.empty(len(order), dtype=np.int64)
    sides[order] = ends > last[owners]
    return sides, _both_hold(judge, parts, sides)


def _cut_range(judge: Judge, parts: Partition, axis: Axis) -> Sides:
    """Cut off missing values where that is possible, and else at the weighted median.

    If any cut leaves k people on both sides, the one that balances them best does.
    """
    values = parts.by_place(parts.places)
    owners = values.of_each(parts.labels)
    balance = _smaller_side_rows(owners, values.rows, parts.rows)
    median = _best_of_each(owners, balance, values.of_each(parts.places), parts.count)
    sides = (parts.places > median[parts.labels]).astype(np.int64)
    held = _both_hold(judge, parts, sides)
    lows, highs = parts.bounds
    apart = (lows < axis.known) & (highs >= axis.known)
    if apart.any():
        some = parts.take(apart)
        is_missing = (some.places >= axis.known).astype(np.int64)
        apart[apart] = _both_hold(judge, some, is_missing)
        sides = np.where(apart[parts.labels], parts.places >= axis.known, sides)
        held |= apart
    return sides, held


def _cut_tree(judge: Judge, parts: Partition, axis: Axis) -> Sides:
    """Cut into the children of each part's label; those that fail alone stay together, as side 0.

    If they fail even together, the smallest child that holds joins them.
    """
    children = _split_into_children(parts, axis)
    owners = children.of_each(parts.labels)
    alone = judge.holds(parts.table, children.labels, children.count)
    together = _holds_together(judge, parts, ~alone[children.labels])
    candidates = np.flatnonzero(alone & ~together[owners])
    if len(candidates):
        candidates = candidates[np.lexsort((children.rows[candidates], owners[candidates]))]
        _, first = np.unique(owners[candidates], return_index=True)
        alone[candidates[first]] = False
        failed = ~together
        rest = (~alone & failed[owners])[children.labels]
        together[failed] = _holds_together(judge, parts, rest)[failed]
    pieces = np.bincount(owners[alone], minlength=parts.count)
    has_rest = np.bincount(owners[~alone], minlength=parts.count) > 0
    sides = np.where(alone, 1 + np.arange(len(owners)) - np.searchsorted(owners, owners), 0)
    return sides[children.labels], together & (pieces + has_rest > 1)


def _split_into_children(parts: Partition, axis: Axis) -> Partition:
    """Return the parts split into the children of their labels, in the order of the axis."""
    lows, highs = parts.bounds
    levels, _ = axis.label(lows, highs)
    starts = axis.starts[np.maximum(levels - 1, 0)[parts.labels], parts.places]
    # Of the first child a part may have only the end.
    return parts.by_place(np.maximum(starts, lows[parts.labels]))


def _holds_together(
    judge: Judge, parts: Partition, members: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return, for each part, whether some of its combinations hold as one; an empty set does."""
    held = np.ones(parts.count, dtype=np.bool_)
    if members.any():
        chosen = parts.labels[members]
        labels, count = renumber_keys(chosen, parts.count)
        held[np.unique(chosen)] = judge.holds(parts.table.take(members), labels, count)
    return held


def _both_hold(judge: Judge, parts: Partition, sides: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return, for each part, whether it has two sides and both hold."""
    halves = parts.split(sides)
    held = judge.holds(parts.table, halves.labels, halves.count)
    return np.bincount(halves.of_each(parts.labels)[held], minlength=parts.count) == 2


def _smaller_side_rows(
    owners: NDArray[np.int64],
    rows: NDArray[np.int64],
    of_part: NDArray[np.int64],
    *,
    least: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Return the rows of the smaller side if a part is cut after each entry, sorted by owner.

    Cuts before which there are less than `least` rows count as -1.
    """
    before = np.cumsum(rows) - (np.cumsum(of_part) - of_part)[owners]
    balance = np.minimum(before, of_part[owners] - before)
    return balance if least is None else np.where(before < least[owners], -1, balance)


def _best_of_each(
    owners: NDArray[np.int64], scores: NDArray[np.int64], values: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """Return the first of the values with the best score of each owner; owners are sorted."""
    first = np.searchsorted(owners, np.arange(count))
    is_best = np.flatnonzero(scores == np.maximum.reduceat(scores, first)[owners])
    return values[is_best[np.searchsorted(owners[is_best], np.arange(count))]]
