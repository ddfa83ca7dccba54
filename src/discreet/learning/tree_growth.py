"""Decision trees grown level by level: one query and one choice a level, of all nodes together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.domain.code_tree import CodeSplit, CodeTree
from discreet.dp.spending import divide_budget
from discreet.learning.leaf_chances import NoisyCounts
from discreet.learning.split_scores import Criterion, SplitScore
from discreet.learning.training import Counts, Training

Selection = Literal["exponential", "laplace"]
Floats = NDArray[np.float64]
SELECTIONS = ("exponential", "laplace")
_SIZES, _CHOICES = 0.1, 0.35  # shares of the price; the rest is for the leaves
_MOST_LEAVES = 1024
_MOST_CELLS = 1 << 24  # that one query returns
_MOST_BRANCHES = 256  # a node is not split by all values of a column with more
_FEWEST = 3.0  # a node is split if it has so many times more rows than the noise of its count
_CAP_ERRORS = 6  # a cell is cut off at so many standard errors above the noisy number of rows


@dataclass(frozen=True)
class GrowthPlan:
    """How a tree is grown.

    Attributes:
        features: The places of the columns it may split by.
        criterion: What makes a split good.
        selection: How a split is chosen: `exponential`, one choice among all candidates for the whole price; or
            `laplace`, noisy counts of each feature for its part of the price.
        depth: How many splits lie above a leaf at most.
    """

    features: tuple[int, ...]
    criterion: Criterion
    selection: Selection
    depth: int


@dataclass(frozen=True)
class GrownTree:
    """A tree with the noisy counts of its nodes by class."""

    tree: CodeTree
    counts: list[NoisyCounts]


def selection_price(epsilon: Fraction, candidates: int, selection: Selection) -> Fraction:
    """Return what it costs to choose among candidates if each noisy number gets noise for `epsilon`.

    With the Laplace mechanism each candidate's number is released, and they add up; the exponential mechanism
    releases the choice alone.

    >>> selection_price(Fraction(1, 10), 14, "laplace"), selection_price(Fraction(1, 10), 14, "exponential")
    (Fraction(7, 5), Fraction(1, 10))
    """
    return epsilon * candidates if selection == "laplace" else epsilon


def grow_tree(training: Training, plan: GrowthPlan, price: Fraction) -> GrownTree:
    """Return a tree that is grown for `price`, from the root on.

    Guarantee: that of `training.spending`, for `price`. At each level a row is in one node. The noisy class
    counts of nodes are a vector of which a row changes one cell by one; choices are made for each node of rows
    of its own, by scores that a row changes within an interval of known length. Which nodes are split follows
    from noisy counts; leaves are counted with noise of their own.
    """
    sizes, choices = price * Fraction(_SIZES), price * Fraction(_CHOICES)
    levels = [Fraction(one) for one in divide_budget(sizes, [1.0] * plan.depth)]
    growth = _Growth(training, plan)
    growth.measure_nodes([0], levels[0])
    for level, one in enumerate(divide_budget(choices, [1.0] * plan.depth)):
        open_nodes = growth.find_open(level)
        if not open_nodes:
            break
        made = growth.split_nodes(open_nodes, one)
        if level + 1 < plan.depth:
            growth.measure_nodes(made, levels[level + 1])
    growth.measure_nodes(growth.tree.leaves, price - sizes - choices)
    return GrownTree(growth.tree, growth.noisy)


@dataclass
class _Node:
    """A node that may still be split: what is public of it, and the exact counts of its rows by class."""

    exact: Counts
    split: CodeSplit | None = None
    # For each feature the first and the last code that its rows may have; none for those it was split by.
    ranges: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])


@dataclass(frozen=True)
class _SplitCandidate:
    """A split by a feature: after a code, or by all its codes."""

    feature: int
    after: int | None


class _Growth:
    """A tree that grows; exact counts stay here, and leave through `training.spending` alone."""

    def __init__(self, training: Training, plan: GrowthPlan) -> None:
        self._training, self._plan = training, plan
        sizes = training.space.sizes
        self._classes = len(training.space.classes)
        target = training.target_place
        root = training.counts.count([(target,)], None)[0][:-1]
        columns = training.space.features
        ranges = {
            place: (0, sizes[place] - 1)
            for place in plan.features
            if columns[place].is_ordered or sizes[place] <= _MOST_BRANCHES
        }
        self._nodes = [_Node(root, ranges=ranges)]
        self._cells = sum(sizes[place] for place in plan.features) * (self._classes + 1)
        self.noisy = [NoisyCounts.none(self._classes)]
        self._score = SplitScore(plan.criterion)

    @property
    def tree(self) -> CodeTree:
        """The tree so far."""
        return CodeTree(tuple(node.split for node in self._nodes))

    def measure_nodes(self, nodes: Sequence[int], price: Fraction) -> None:
        """Buy noisy counts by class of some nodes of which no two have a row in common."""
        spending = self._training.spending
        exact = np.concatenate([self._nodes[node].exact for node in nodes])
        noisy = spending.measure(exact, price).reshape(len(nodes), self._classes)
        variance = spending.scale(price) ** 2
        for node, counts in zip(nodes, noisy, strict=True):
            self.noisy[node] = self.noisy[node].combine(counts, variance)
        if nodes == [0]:
            rows = max(0.0, float(noisy.sum())) + _CAP_ERRORS * spending.scale(price)
            self._score = SplitScore(
                self._plan.criterion, max(1, int(rows * self._training.counts.one))
            )

    def find_open(self, level: int) -> list[int]:
        """Return the nodes of the last level that are split, those with the most rows by noisy counts first."""
        levels = _list_levels(self.tree)
        found = [
            node
            for node, one in enumerate(self._nodes)
            if levels[node] == level and self._list_candidates(one) and self._is_large(node)
        ]
        found.sort(key=lambda node: -self.noisy[node].rows)
        leaves = len(self.tree.leaves)
        if leaves > 1 and leaves * self._cells > _MOST_CELLS:
            return []
        left = _MOST_LEAVES - leaves
        chosen: list[int] = []
        for node in found:
            left -= max(self._count_children(self._nodes[node])) - 1
            if left < 0:
                break
            chosen.append(node)
        return sorted(chosen)

    def _is_large(self, node: int) -> bool:
        found = self.noisy[node]
        error = float(np.sqrt(found.variance * self._classes))
        return node == 0 or found.rows > _FEWEST * error

    def _count_children(self, node: _Node) -> list[int]:
        sizes = self._training.space.sizes
        return [
            2 if one.after is not None else sizes[one.feature]
            for one in self._list_candidates(node)
        ]

    def _list_candidates(self, node: _Node) -> list[_SplitCandidate]:
        found: list[_SplitCandidate] = []
        for feature, (first, last) in node.ranges.items():
            if self._training.space.features[feature].is_ordered:
                found += [_SplitCandidate(feature, after) for after in range(first, last)]
            else:
                found.append(_SplitCandidate(feature, None))
        return found

    def split_nodes(self, nodes: Sequence[int], price: Fraction) -> list[int]:
        """Choose a split for each of some nodes, and return the nodes that come of it."""
        counted = self._count_features(nodes)
        if self._plan.selection == "exponential":
            places = self._choose_splits(nodes, counted, price)
        else:
            places = self._choose_from_noisy(nodes, counted, price)
        made: list[int] = []
        for number, (node, place) in enumerate(zip(nodes, places, strict=True)):
            chosen = self._list_candidates(self._nodes[node])[place]
            made += self._add_children(node, chosen, counted[chosen.feature][number])
        return made

    def _count_features(self, nodes: Sequence[int]) -> dict[int, Counts]:
        """Return for each feature the exact counts by node, code and class; one query."""
        tree, target = self.tree, self._training.target_place
        numbers = [tree.leaves.index(node) for node in nodes]
        features = self._plan.features
        found = self._training.counts.count_by_leaf([(tree, (one, target)) for one in features])
        return {
            feature: counts[numbers][:, :, :-1]
            for feature, counts in zip(features, found, strict=True)
        }

    def _score_candidates(
        self, nodes: Sequence[int], counted: dict[int, Floats] | dict[int, Counts]
    ) -> list[Counts]:
        """Return the scores of the candidates of each node, in their order."""
        columns = self._training.space.features
        scores = {
            feature: self._score.score_thresholds(counts)
            if columns[feature].is_ordered
            else self._score.score_values(counts)
            for feature, counts in counted.items()
        }
        return [
            np.array(
                [
                    scores[one.feature][number]
                    if one.after is None
                    else scores[one.feature][number, one.after]
                    for one in self._list_candidates(self._nodes[node])
                ],
                np.int64,
            )
            for number, node in enumerate(nodes)
        ]

    def _choose_splits(
        self, nodes: Sequence[int], counted: dict[int, Counts], price: Fraction
    ) -> list[int]:
        """Choose by the exponential mechanism, whose price does not depend on the number of candidates.

        Scores are doubled: all lie within one interval of length `reach`, so that the distance from its middle
        is at most half of that.
        """
        gains = [(2 * one).tolist() for one in self._score_candidates(nodes, counted)]
        return self._training.spending.choose_each(
            gains, price, change=self._score.reach(self._classes)
        )

    def _choose_from_noisy(
        self, nodes: Sequence[int], counted: dict[int, Counts], price: Fraction
    ) -> list[int]:
        """Choose by noisy counts of each feature, each of which costs its part of the price."""
        spending = self._training.spending
        prices = divide_budget(price, [1.0] * len(counted))
        noisy: dict[int, Floats] = {}
        for (feature, exact), part in zip(counted.items(), prices, strict=True):
            found = spending.measure(exact.ravel(), part).reshape(exact.shape)
            noisy[feature] = np.maximum(found, 0)
        return [int(one.argmax()) for one in self._score_candidates(nodes, noisy)]

    def _add_children(self, node: int, chosen: _SplitCandidate, counts: Counts) -> list[int]:
        """Add the children of a node, of which `counts` has the exact counts by code and class."""
        parent, first = self._nodes[node], len(self._nodes)
        size, feature = len(counts), chosen.feature
        if chosen.after is None:
            side = np.arange(size)
        else:
            side = (np.arange(size) > chosen.after).astype(int)
        parent.split = CodeSplit.by_code(feature, first + side)
        for number in range(int(side.max()) + 1):
            ranges = dict(parent.ranges)
            low, high = ranges.pop(feature)
            if chosen.after is not None:
                ranges[feature] = (low, chosen.after) if number == 0 else (chosen.after + 1, high)
            exact = counts[side == number].sum(axis=0)
            self._nodes.append(_Node(exact, ranges=ranges))
            self.noisy.append(NoisyCounts.none(self._classes))
        return list(range(first, len(self._nodes)))


def _list_levels(tree: CodeTree) -> list[int]:
    levels = [0] * len(tree.splits)
    for node, split in enumerate(tree.splits):
        for child in () if split is None else split.children:
            levels[child] = levels[node] + 1
    return levels
