"""Counts of arrays of codes, and spendings that record what is released and replay it on a neighbor."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.domain.coded_column import CodedColumn
from discreet.domain.listed_values import ListedValues
from discreet.dp.spending import ONE_CELL, PureSpending, ZcdpSpending
from discreet.engines.engine import Kind
from discreet.learning.features import FeatureSpace
from discreet.learning.training import Training


class ArrayCounts:
    """Counts rows of an array of codes."""

    one = 1
    sensitivity = 1

    def __init__(self, rows, sizes):
        self.rows, self.sizes = np.asarray(rows), list(sizes)

    def _coarsen(self, maps):
        if maps is None:
            return self.rows, self.sizes
        coarse = [codes[self.rows[:, place]] for place, codes in enumerate(maps)]
        return np.stack(coarse, axis=1), [int(codes.max()) + 1 for codes in maps]

    def count(self, columns, maps):
        rows, sizes = self._coarsen(maps)
        return [_tabulate([rows[:, i] for i in some], [sizes[i] for i in some]) for some in columns]

    def count_scored(self, weights, cuts, columns, maps=None):
        rows, sizes = self._coarsen(maps)
        scores = sum(one[rows[:, place]] for place, one in enumerate(weights))
        buckets = np.searchsorted(cuts, scores, side="right")
        return [
            _tabulate(
                [buckets, *(rows[:, i] for i in some)], [len(cuts) + 1, *(sizes[i] for i in some)]
            )
            for some in columns
        ]

    def count_by_leaf(self, looks):
        return [
            _tabulate(
                [tree.find_leaves(self.rows), *(self.rows[:, i] for i in some)],
                [len(tree.leaves), *(self.sizes[i] for i in some)],
            )
            for tree, some in looks
        ]

    def count_by_center(self, distances, columns):
        used = [(place, one) for place, one in enumerate(distances) if one is not None]
        near = sum(one[self.rows[:, place]] for place, one in used).argmin(axis=1)
        size = used[0][1].shape[1]
        return [
            _tabulate(
                [near, *(self.rows[:, i] for i in some)], [size, *(self.sizes[i] for i in some)]
            )
            for some in columns
        ]

    def count_by_forest(self, trees, weights, cuts, columns):
        found = [one[tree.find_leaves(self.rows)] for tree, one in zip(trees, weights, strict=True)]
        total = np.sum(found, axis=0)
        is_one = total.shape[1] == 1
        places = (
            np.searchsorted(cuts, total[:, 0], side="right") if is_one else total.argmax(axis=1)
        )
        size = len(cuts) + 1 if is_one else total.shape[1]
        return [
            _tabulate(
                [places, *(self.rows[:, i] for i in some)], [size, *(self.sizes[i] for i in some)]
            )
            for some in columns
        ]


def _tabulate(codes, shape):
    places = np.ravel_multi_index(codes, shape)
    return np.bincount(places, minlength=math.prod(shape)).reshape(shape)


def make_space(sizes, *, task="classification", ordered=()):
    """Return a space of columns of whole numbers, the last of which is the target; each size counts the missing code."""
    columns = [
        CodedColumn(
            f"x{place}",
            Kind.INTEGER,
            ListedValues(Kind.INTEGER, tuple(range(size - 1)), is_scale=place in ordered),
        )
        for place, size in enumerate(sizes)
    ]
    return FeatureSpace(tuple(columns[:-1]), columns[-1], task)


class RecordingSpending(ZcdpSpending):
    """Keeps what was released."""

    def __init__(self, amount, *, sensitivity=1):
        super().__init__(amount, sensitivity=sensitivity)
        self.kept = []

    def measure(self, counts, price, *, change=ONE_CELL):
        released = super().measure(counts, price, change=change)
        self.kept.append((np.array(counts, object).ravel(), released, price, change))
        return released

    def choose(self, gains, price, *, change=1):
        place = super().choose(gains, price, change=change)
        self.kept.append((list(gains), place, price, change))
        return place

    def choose_each(self, gains, price, *, change=1):
        places = super().choose_each(gains, price, change=change)
        self.kept.append(([list(one) for one in gains], places, price, change))
        return places


class ReplayingSpending(ZcdpSpending):
    """Releases what was released before, and adds up what the difference costs in rho."""

    def __init__(self, amount, kept, *, sensitivity=1):
        super().__init__(amount, sensitivity=sensitivity)
        self.kept = iter(kept)
        self.cost = 0.0

    def measure(self, counts, price, *, change=ONE_CELL):
        before, released, paid, allowed = next(self.kept)
        assert (price, change) == (paid, allowed)
        self._spent += price
        moved = np.array(counts, object).ravel() - before
        squared = self._sensitivity**2 * change.squared_l2
        self.cost += float(Fraction(int((moved * moved).sum()), squared) * price)
        return released

    def choose(self, gains, price, *, change=1):
        before, place, paid, _ = next(self.kept)
        assert price == paid
        self._spent += price
        self.cost += self._choice_range(gains, before, change) ** 2 * float(price)
        return place

    def choose_each(self, gains, price, *, change=1):
        before, places, paid, _ = next(self.kept)
        assert price == paid
        assert len(gains) == len(before)
        self._spent += price
        pairs = zip(gains, before, strict=True)
        ranges = [self._choice_range(one, other, change) for one, other in pairs]
        self.cost += sum(one**2 for one in ranges) * float(price)
        return places

    def _choice_range(self, gains, before, change):
        """Return the range of the privacy loss as a share of what is paid for: no choice depends on a shift of all gains."""
        moved = (np.array(gains, object) - np.array(before, object)) / (
            2 * self._sensitivity * change
        )
        return float(moved.max() - moved.min())


class RecordingPureSpending(PureSpending, RecordingSpending):
    """Keeps what was released without a delta."""


class ReplayingPureSpending(PureSpending):
    """Releases what was released before, and adds up what the difference costs in epsilon."""

    def __init__(self, amount, kept, *, sensitivity=1):
        super().__init__(amount, sensitivity=sensitivity)
        self.kept = iter(kept)
        self.cost = 0.0

    def measure(self, counts, price, *, change=ONE_CELL):
        before, released, paid, allowed = next(self.kept)
        assert (price, change) == (paid, allowed)
        self._spent += price
        moved = np.abs(np.array(counts, object).ravel() - before).sum()
        self.cost += float(Fraction(int(moved), self._sensitivity * change.l1) * price)
        return released

    def choose(self, gains, price, *, change=1):
        before, place, paid, _ = next(self.kept)
        assert price == paid
        self._spent += price
        self.cost += ReplayingSpending._choice_range(self, gains, before, change) * float(price)
        return place

    def choose_each(self, gains, price, *, change=1):
        before, places, paid, _ = next(self.kept)
        assert price == paid
        assert len(gains) == len(before)
        self._spent += price
        for one, other in zip(gains, before, strict=True):
            found = ReplayingSpending._choice_range(self, one, other, change)
            self.cost += found * float(price)
        return places


def replay(fit, rows, neighbor, space, *, amount=Fraction(1, 2), pure=False, epsilon=1, seed=3):
    """Return the share of `amount` that the difference of two tables costs, if all that `fit` releases is replayed.

    `fit` takes a `Training`. Randomness that protects nothing is the same on both tables.
    """
    recorded = (RecordingPureSpending if pure else RecordingSpending)(amount)
    fit(_train(rows, space, recorded, epsilon, seed))
    replayed = (ReplayingPureSpending if pure else ReplayingSpending)(amount, recorded.kept)
    fit(_train(neighbor, space, replayed, epsilon, seed))
    assert next(replayed.kept, None) is None, "the neighbor released less"
    return replayed.cost / float(amount)


def _train(rows, space, spending, epsilon, seed):
    counts = ArrayCounts(rows, space.sizes)
    return Training(counts, space, spending, Fraction(epsilon), np.random.default_rng(seed))
