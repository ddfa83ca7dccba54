"""What a label loses, as a distance between two values: the first and the last that it covers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.release.anonymize.attribute import CodedAttribute
from discreet.release.anonymize.frequencies import renumber_keys, sum_by_label
from discreet.release.anonymize.problem import Problem

# Attributes with more values than this are searched on groups of them.
MOST_PLACES = 512


@dataclass(frozen=True)
class LabelCost:
    """One attribute's values put in a row such that each group of its hierarchy is an interval.

    `places[code]` is where a value stands, and `pairs[a, b]` the weighted loss of the narrowest
    label that covers the values at places a and b. The label of a class costs then what its first
    and its last member cost together, on hierarchies and on ranges alike, and a value that joins
    makes it cost the greatest of the label's own loss and the two pairs of the value and the ends.

    Of an attribute with very many values, rare ones share a place with their group, so that pairs
    are a bound: what is decided by them costs at most what they say.
    """

    places: NDArray[np.int64]
    pairs: NDArray[np.float32]
    is_range: bool

    @property
    def size(self) -> int:
        """The number of places."""
        return len(self.pairs)


class Space:
    """All attributes: `places[i, j]` is where combination i stands on attribute j."""

    def __init__(self, problem: Problem) -> None:
        codes, rows = problem.table.codes.astype(np.int64), problem.table.rows
        self.rows = rows
        self.label_costs = tuple(
            _make_label_cost(
                attribute, sum_by_label(codes[:, j], rows, attribute.size), float(weight)
            )
            for j, (attribute, weight) in enumerate(
                zip(problem.attributes, problem.weights, strict=True)
            )
        )
        self.places = np.stack(
            [spread.places[codes[:, j]] for j, spread in enumerate(self.label_costs)], axis=1
        )
        self.sizes = np.array([spread.size for spread in self.label_costs])
        self._pairs = np.concatenate([spread.pairs.ravel() for spread in self.label_costs])
        self._offsets = np.concatenate([[0], np.cumsum(self.sizes**2)[:-1]])

    def parts(self, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return what labels from `lows` to `highs` lose on each attribute, the last axis."""
        return self._pairs[self._offsets + lows * self.sizes + highs]

    def without_each(self, members: NDArray[np.int64] | list[int]) -> NDArray[np.float32]:
        """Return what the label of at least two combinations loses when each of them is left out."""
        places = self.places[members]
        ordered = np.sort(places, axis=0)
        lows = np.where(places == ordered[0], ordered[1], ordered[0])
        highs = np.where(places == ordered[-1], ordered[-2], ordered[-1])
        return self.parts(lows, highs)

    def ends(
        self, classes: NDArray[np.int64], count: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first and the last places of classes 0 … `count` - 1, none of them empty."""
        kept = np.flatnonzero(classes >= 0)
        order = kept[np.argsort(classes[kept], kind="stable")]
        first = np.searchsorted(classes[order], np.arange(count))
        places = self.places[order]
        if not count:
            return places[:0], places[:0]
        return np.minimum.reduceat(places, first), np.maximum.reduceat(places, first)


def _make_label_cost(
    attribute: CodedAttribute, rows: NDArray[np.int64], weight: float
) -> LabelCost:
    if attribute.is_range:
        places, pairs = _order_range(attribute, rows)
    else:
        places, pairs = _order_hierarchy(attribute, rows)
    return LabelCost(places, (pairs * weight).astype(np.float32), attribute.is_range)


def _order_range(
    attribute: CodedAttribute, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    size = attribute.size
    known = size - attribute.has_missing
    places = np.arange(size)
    if size > MOST_PLACES:
        before = np.cumsum(rows[:known]) - rows[:known]
        bins = before * (MOST_PLACES - 1) // max(int(rows[:known].sum()), 1)
        bins = np.minimum(bins, MOST_PLACES - 2)  # values behind the last row share its place
        places[:known], count = renumber_keys(bins, MOST_PLACES)
        places[known:] = count
    count = int(places.max(initial=-1)) + 1
    middles = sum_by_label(places, np.arange(size), count) / np.maximum(np.bincount(places), 1)
    pairs = np.abs(middles[:, None] - middles[None, :])
    pairs *= attribute.leaf / (1 - attribute.leaf) if attribute.leaf < 1 else 0.0
    if attribute.has_missing:  # a missing value is in no range: beside others it hides them
        is_lossy = float(attribute.leaf < 1)
        pairs[-1, :-1] = pairs[:-1, -1] = is_lossy
    return places, pairs


def _order_hierarchy(
    attribute: CodedAttribute, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    size, height = attribute.size, attribute.height
    base = 0
    apart = np.ones(size, dtype=np.bool_)
    if size > MOST_PLACES:
        fitting = [
            level
            for level in range(height + 1)
            if attribute.cardinalities[level] <= MOST_PLACES * 3 // 4
        ]
        base = fitting[0]
        room = MOST_PLACES - attribute.cardinalities[base] - attribute.has_missing
        frequent = np.argsort(-rows, kind="stable")[: max(room, 0)]
        apart[:] = False
        apart[frequent] = True
    order = np.lexsort([np.where(apart, np.arange(size), -1), *attribute.groups[base:]])
    shared = np.where(apart, np.arange(size), size + attribute.groups[base])[order]
    starts = np.concatenate([[True], shared[1:] != shared[:-1]])
    places = np.empty(size, dtype=np.int64)
    places[order] = np.cumsum(starts) - 1
    first = order[starts]
    pairs = np.ones((len(first), len(first)))
    for level in range(height, -1, -1):
        groups = attribute.groups[level][first]
        same = groups[:, None] == groups[None, :]
        if level < base:
            same &= apart[first][:, None] & apart[first][None, :]
        pairs = np.where(same, attribute.losses[level][first][:, None], pairs)
    return places, pairs
