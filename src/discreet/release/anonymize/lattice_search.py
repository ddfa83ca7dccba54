"""Peeling: walk the lattice from cheap labels to dear ones, and release what holds on the way.

Groups of rows that already meet the criteria under a cheap label leave the table, so that the few
rows which need a dear label do not force it on the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.release.anonymize.frequencies import Frequencies, label_rows, sum_by_label
from discreet.release.anonymize.problem import Problem
from discreet.release.anonymize.recoding import SUPPRESSED

# Labels are released in steps of their loss, dense where most labels are; measured on Adult, more
# steps gain little.
STEPS = tuple((np.linspace(0, 1, 10) ** 2).tolist())
_BATCH = 2**16
_MULTIPLIERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_KEPT = 0.8
# A size of groups is hopeless when none of so many held.
_HOPELESS = 3000
_NODE_WORK = 5_000_000


@dataclass(frozen=True)
class AttributeHalf:
    """Some attributes: every combination of their levels, coarse or fine, with its groups.

    `keys[i, r]` is the group of combination r when the attributes are on the levels of `nodes[i]`,
    `losses[i, r]` what it loses, `counts[i]` the number of groups.
    """

    nodes: NDArray[np.int64]
    keys: NDArray[np.int32]
    losses: NDArray[np.float32]
    counts: NDArray[np.int64]

    def take(self, kept: NDArray[np.bool_]) -> AttributeHalf:
        """Return the same for some of the combinations."""
        return AttributeHalf(self.nodes, self.keys[:, kept], self.losses[:, kept], self.counts)


class UnassignedRows:
    """The rows that no class has taken yet."""

    def __init__(self, problem: Problem, halves: tuple[AttributeHalf, AttributeHalf]) -> None:
        self.judge = problem.judge
        self.members = np.arange(len(problem.table))
        self.table = problem.table
        self.rows = problem.table.rows.astype(np.float64)
        self.left = len(self.members)
        self.halves = halves
        self.least = problem.judge.k
        self._tested = np.zeros(64, dtype=np.int64)
        self._passed = np.zeros(64, dtype=np.int64)

    def release(self, places: NDArray[np.int64]) -> None:
        """Take combinations out; what they held is forgotten once it is worth the work."""
        self.rows[places] = 0
        self.left -= len(places)
        if self.left < _KEPT * len(self.rows):
            kept = self.rows > 0
            self.members, self.rows = self.members[kept], self.rows[kept]
            self.halves = (self.halves[0].take(kept), self.halves[1].take(kept))
            if self.judge.trials or self.table.people is not None:
                self.table = self.table.take(kept)

    def groups(
        self, node: tuple[int, int], low: float, high: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Return waiting combinations whose groups on a node may be classes, and their groups.

        Only labels that lose more than `low` and at most `high` are looked at.
        """
        first, second = self.halves
        losses = first.losses[node[0]] + second.losses[node[1]]
        places = np.flatnonzero((losses > low) & (losses <= high) & (self.rows > 0))
        keys = [
            (half.keys[at][places], int(half.counts[at]))
            for half, at in zip(self.halves, node, strict=True)
        ]
        labels, count = label_rows(keys)
        held = np.bincount(labels, weights=self.rows[places], minlength=count) >= self.least
        if not held.any():
            return None
        chosen = held[labels]
        places, labels = places[chosen], (np.cumsum(held) - 1)[labels[chosen]]
        return self._filter_by_criteria(places, labels, int(held.sum()))

    def _filter_by_criteria(
        self, places: NDArray[np.int64], labels: NDArray[np.int64], count: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        if not self.judge.trials and self.table.people is None:
            return places, labels
        chosen = np.zeros(len(self.rows), dtype=np.bool_)
        chosen[places] = True
        held = self.judge.holds(self.table.take(chosen), labels, count)
        rows = self.rows[places].astype(np.int64)
        self._learn_least_size(sum_by_label(labels, rows, count), held)
        if not held.any():
            return None
        kept = held[labels]
        return places[kept], (np.cumsum(held) - 1)[labels[kept]]

    def _learn_least_size(self, sizes: NDArray[np.int64], held: NDArray[np.bool_]) -> None:
        """Leave groups aside of a size at which none of very many has held so far.

        Criteria about shares are hopeless for small groups, and most groups are small.
        """
        classes = np.log2(sizes).astype(np.int64)
        self._tested += np.bincount(classes, minlength=64)
        self._passed += np.bincount(classes[held], minlength=64)
        hopeless = (self._tested >= _HOPELESS) & (self._passed == 0)
        smallest = int(np.log2(self.least))
        if hopeless[smallest]:
            self.least = 2 ** (smallest + 1)

    def promising(
        self, nodes: NDArray[np.int64], low: float, high: float
    ) -> Iterator[tuple[int, int]]:
        """Return the nodes, in order, on which a label between the losses may have enough rows.

        Rows are counted by a hash of their group: never too few, so that no node is missed.
        """
        at = 0
        first, second = self.halves
        while at < len(nodes):
            batch = nodes[at : at + max(_BATCH // max(len(self.rows), 1), 1)]
            at += len(batch)
            width = max(int(len(self.rows) - 1).bit_length() + 1, 8)
            hashes = first.keys[batch[:, 0]].astype(np.uint64) * _MULTIPLIERS[0]
            hashes += second.keys[batch[:, 1]].astype(np.uint64) * _MULTIPLIERS[1]
            hashes >>= np.uint64(64 - width)
            hashes += (np.arange(len(batch), dtype=np.uint64) << np.uint64(width))[:, None]
            losses = first.losses[batch[:, 0]] + second.losses[batch[:, 1]]
            weights = np.where((losses > low) & (losses <= high), self.rows, 0.0)
            counts = np.bincount(
                hashes.ravel().view(np.int64),
                weights=weights.ravel(),
                minlength=len(batch) << width,
            )
            full = counts.reshape(len(batch), -1).max(axis=1) >= self.least
            yield from map(tuple, batch[full].tolist())
            first, second = self.halves


@dataclass(frozen=True)
class LatticeWalk:
    """The lattice's nodes from cheap to dear, as pairs of nodes of the two halves.

    `means[i]` is what rows lose on node i in the mean, `bounds[i]` the least and the greatest.
    """

    halves: tuple[AttributeHalf, AttributeHalf]
    nodes: NDArray[np.int64]
    means: NDArray[np.float64]
    bounds: NDArray[np.float32]


def search_lattice(
    problem: Problem, walk: LatticeWalk, *, report: Callable[[int], None] | None = None
) -> NDArray[np.int64]:
    """Return the class of each combination, `SUPPRESSED` for those left over."""
    waiting = UnassignedRows(problem, walk.halves)
    classes = np.full(len(problem.table), SUPPRESSED, dtype=np.int64)
    nodes, bounds = walk.nodes, walk.bounds
    count = 0
    for low, high in pairwise((-1.0, *STEPS[:-1], 2.0)):
        between = nodes[(bounds[:, 0] <= high) & (bounds[:, 1] > low)]
        for node in waiting.promising(between, low, high):
            found = waiting.groups(node, low, high)
            if found is None:
                continue
            places, labels = found
            classes[waiting.members[places]] = labels + count
            count += int(labels.max()) + 1
            waiting.release(places)
            if not waiting.left:
                return classes
        if report is not None:
            report(waiting.left)
    return classes


def best_node(problem: Problem, walk: LatticeWalk, *, below: float) -> NDArray[np.int64] | None:
    """Return the groups of the cheapest node on which all hold, None if it loses `below` or more.

    Peeling is greedy: a cheap class may take the rows that others needed. One node for all is then
    the better start. Of a large table, only the cheapest nodes are looked at.
    """
    most = _NODE_WORK // len(problem.table)
    for node in walk.nodes[:most][walk.means[:most] < below].tolist():
        keys = [
            (half.keys[at], int(half.counts[at]))
            for half, at in zip(walk.halves, node, strict=True)
        ]
        labels, count = label_rows(keys)
        sizes = sum_by_label(labels, problem.table.rows, count)
        if (sizes < problem.judge.k).any():
            continue
        if problem.judge.holds(problem.table, labels, count).all():
            return labels
    return None


def make_walk(problem: Problem) -> LatticeWalk:
    """Return the way through a lattice of not too many nodes."""
    halves = _split_attributes(problem)
    rows = problem.table.rows
    # Rounded, so that equal losses are equal for any order of the sum.
    means = [
        np.round((half.losses * rows).sum(axis=1, dtype=np.float64) / problem.rows, 9)
        for half in halves
    ]
    heights = [half.nodes.sum(axis=1) for half in halves]
    first, second = np.indices((len(means[0]), len(means[1]))).reshape(2, -1)
    loss = np.round(means[0][first] + means[1][second], 9)
    order = np.lexsort((heights[0][first] + heights[1][second], loss))
    nodes = np.stack([first, second], axis=1)[order]
    bounds = [
        reduce(halves[0].losses, axis=1)[nodes[:, 0]]
        + reduce(halves[1].losses, axis=1)[nodes[:, 1]]
        for reduce in (np.min, np.max)
    ]
    return LatticeWalk(halves, nodes, loss[order], np.stack(bounds, axis=1))


def _split_attributes(problem: Problem) -> tuple[AttributeHalf, AttributeHalf]:
    """Return the attributes in two halves with about as many combinations of levels each."""
    sides: tuple[list[int], list[int]] = ([], [])
    sizes = [1, 1]
    heights = problem.heights
    for j in sorted(range(len(heights)), key=lambda j: -heights[j]):
        side = 0 if sizes[0] <= sizes[1] else 1
        sides[side].append(j)
        sizes[side] *= heights[j] + 1
    return _make_half(problem, sorted(sides[0])), _make_half(problem, sorted(sides[1]))


def _make_half(problem: Problem, chosen: Sequence[int]) -> AttributeHalf:
    table: Frequencies = problem.table
    shape = tuple(problem.heights[j] + 1 for j in chosen)
    nodes = np.indices(shape).reshape(len(chosen), math.prod(shape)).T
    keys = np.zeros((len(nodes), len(table)), dtype=np.int32)
    losses = np.zeros((len(nodes), len(table)), dtype=np.float32)
    counts = np.ones(len(nodes), dtype=np.int64)
    weights = problem.weights
    for index, node in enumerate(nodes):
        columns = []
        for j, level in zip(chosen, node.tolist(), strict=True):
            attribute, codes = problem.attributes[j], table.codes[:, j]
            columns.append((attribute.groups[level][codes], attribute.cardinalities[level]))
            losses[index] += (attribute.losses[level] * weights[j])[codes]
        if columns:
            keys[index], counts[index] = label_rows(columns)
    return AttributeHalf(nodes, keys, losses, counts)
