"""Ways to cut parts in two or more along one attribute so that every piece meets the criteria."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet.release.anonymize.frequencies import number, total

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.release.anonymize.judge import Judge
    from discreet.release.anonymize.parts import Axis, Parts

    # (side of each combination, whether each part may be cut so)
    Sides: TypeAlias = tuple[NDArray[np.int64], NDArray[np.bool_]]
    Cut: TypeAlias = Callable[[Judge, Parts, Axis, int], Sides]


def cut_between_values(judge: Judge, parts: Parts, axis: Axis, index: int) -> Sides:
    """Cut each part so that rows with the same value of the attribute stay together.

    Every part must have two values or more on the axis, the one at `index`. A range is cut at its
    median, a hierarchy into the children of the part's label.
    """
    if axis.attribute.is_range:
        return _cut_range(judge, parts, axis, index)
    return _cut_tree(judge, parts, axis, index)


def cut_within_value(judge: Judge, parts: Parts, axis: Axis, index: int) -> Sides:
    """Cut each part into halves, between combinations that may share a value of the attribute.

    In a hierarchy one half is within the largest child of the part's label, and the other has the
    rest of the part.
    """
    places = parts.places[:, index]
    if axis.attribute.is_range:
        least = np.zeros(parts.count, dtype=np.int64)
        order = np.lexsort((parts.ranks, places, parts.labels))
    else:
        children, owners, sizes = _children(parts, axis, index)
        by_size = np.lexsort((-sizes, owners))
        largest = by_size[np.searchsorted(owners[by_size], np.arange(parts.count))]
        is_largest = largest[parts.labels] == children
        least = parts.rows - sizes[largest]
        order = np.lexsort((parts.ranks, places, is_largest, parts.labels))
    owners = parts.labels[order]
    before = np.cumsum(parts.table.rows[order]) - (np.cumsum(parts.rows) - parts.rows)[owners]
    balance = np.minimum(before, parts.rows[owners] - before)
    balance[before < least[owners]] = -1
    ends = np.arange(len(order))
    last = _best_of_each(owners, balance, ends, parts.count)
    sides = np.empty(len(order), dtype=np.int64)
    sides[order] = ends > last[owners]
    return sides, _both_hold(judge, parts, sides)


def _cut_range(judge: Judge, parts: Parts, axis: Axis, index: int) -> Sides:
    """Cut off missing values where that is possible, and else at the weighted median.

    If any cut leaves k people on both sides, the one that balances them best does.
    """
    places = parts.places[:, index]
    values, count = number(parts.labels * axis.attribute.size + places, _bound(parts, axis))
    owners, place_of = _first(values, count, parts.labels), _first(values, count, places)
    rows = total(values, parts.table.rows, count)
    below = np.cumsum(rows) - (np.cumsum(parts.rows) - parts.rows)[owners]
    balance = np.minimum(below, parts.rows[owners] - below)
    median = _best_of_each(owners, balance, place_of, parts.count)
    sides = (places > median[parts.labels]).astype(np.int64)
    held = _both_hold(judge, parts, sides)
    lows, highs = parts.bounds(index)
    apart = (lows < axis.known) & (highs >= axis.known)
    if apart.any():
        some = parts.take(apart)
        is_missing = (some.places[:, index] >= axis.known).astype(np.int64)
        apart[apart] = _both_hold(judge, some, is_missing)
        sides = np.where(apart[parts.labels], places >= axis.known, sides)
        held |= apart
    return sides, held


def _cut_tree(judge: Judge, parts: Parts, axis: Axis, index: int) -> Sides:
    """Cut into the children of each part's label; those that fail alone stay together, as side 0.

    If they fail even together, the smallest child that holds joins them.
    """
    children, owners, sizes = _children(parts, axis, index)
    alone = judge.holds(parts.table, children, len(owners))
    together = _holds_together(judge, parts, children, ~alone)
    candidates = np.flatnonzero(alone & ~together[owners])
    if len(candidates):
        candidates = candidates[np.lexsort((sizes[candidates], owners[candidates]))]
        _, first = np.unique(owners[candidates], return_index=True)
        alone[candidates[first]] = False
        failed = ~together
        together[failed] = _holds_together(judge, parts, children, ~alone & failed[owners])[failed]
    pieces = np.bincount(owners[alone], minlength=parts.count)
    has_rest = np.bincount(owners[~alone], minlength=parts.count) > 0
    sides = np.where(alone, 1 + np.arange(len(owners)) - np.searchsorted(owners, owners), 0)
    return sides[children], together & (pieces + has_rest > 1)


def _children(
    parts: Parts, axis: Axis, index: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the child of its part's label that each combination is in, and of each child its part and rows."""
    levels, _ = axis.label(*parts.bounds(index))
    places = parts.places[:, index]
    groups = axis.groups[np.maximum(levels - 1, 0)[parts.labels], places]
    children, count = number(parts.labels * axis.attribute.size + groups, _bound(parts, axis))
    return children, _first(children, count, parts.labels), total(children, parts.table.rows, count)


def _holds_together(
    judge: Judge, parts: Parts, children: NDArray[np.int64], chosen: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return, for each part, whether its chosen children hold as one; none at all do."""
    held = np.ones(parts.count, dtype=np.bool_)
    members = chosen[children]
    if members.any():
        labels, count = number(parts.labels[members], parts.count)
        owners = _first(labels, count, parts.labels[members])
        held[owners] = judge.holds(parts.table.take(members), labels, count)
    return held


def _both_hold(judge: Judge, parts: Parts, sides: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return, for each part, whether it has two sides and both hold."""
    labels, count = number(parts.labels * 2 + sides, parts.count * 2)
    owners = _first(labels, count, parts.labels)
    held = judge.holds(parts.table, labels, count)
    return np.bincount(owners[held], minlength=parts.count) == 2


def _best_of_each(
    owners: NDArray[np.int64], scores: NDArray[np.int64], values: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """Return the first of the values with the best score of each owner; owners are sorted."""
    first = np.searchsorted(owners, np.arange(count))
    is_best = np.flatnonzero(scores == np.maximum.reduceat(scores, first)[owners])
    return values[is_best[np.searchsorted(owners[is_best], np.arange(count))]]


def _first(labels: NDArray[np.int64], count: int, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the value that all entries with the same label share, by label."""
    found = np.empty(count, dtype=np.int64)
    found[labels] = values
    return found


def _bound(parts: Parts, axis: Axis) -> int:
    return parts.count * axis.attribute.size
