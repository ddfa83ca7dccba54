"""Chances of classes at the leaves of a tree, from noisy counts of its nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.domain.code_tree import CodeTree

Floats = NDArray[np.float64]
_PRIOR = 2.0  # rows that a node's parent speaks for
_NOISE = 2.0  # and so many more for each standard error of a count


@dataclass(frozen=True)
class NoisyCounts:
    """Noisy counts of a node's rows by class, and the variance of each; infinite where nothing is known."""

    counts: Floats
    variance: float

    @staticmethod
    def none(classes: int) -> NoisyCounts:
        """Return what is known before anything was measured."""
        return NoisyCounts(np.zeros(classes), math.inf)

    @property
    def rows(self) -> float:
        """The noisy number of rows."""
        return float(self.counts.sum())

    def combine(self, counts: Floats, variance: float) -> NoisyCounts:
        """Return both together, each weighted by how exact it is."""
        if math.isinf(variance):
            return self
        if math.isinf(self.variance):
            return NoisyCounts(np.asarray(counts, float), variance)
        share = self.variance / (self.variance + variance)
        counts = share * np.asarray(counts, float) + (1 - share) * self.counts
        return NoisyCounts(counts, share * variance)


def estimate_chances(tree: CodeTree, counts: Sequence[NoisyCounts]) -> list[Floats]:
    """Return the chance of each class at each node.

    What its leaves add up to is a second count of a node, and both are combined (Hay et al. 2010). Then the
    chances of a node are drawn towards those of its parent, the more the fewer rows and the more noise it has.
    """
    known = _add_leaves(tree, counts)
    classes = len(counts[0].counts)
    chances = [np.full(classes, 1 / classes) for _ in tree.splits]
    parents = _find_parents(tree)
    for node, one in enumerate(known):
        above = chances[parents[node]] if node else np.full(classes, 1 / classes)
        weight = _PRIOR + _NOISE * (math.sqrt(one.variance) if math.isfinite(one.variance) else 1)
        rows = np.maximum(one.counts, 0)
        chances[node] = (rows + weight * above) / (rows.sum() + weight)
    return chances


def _add_leaves(tree: CodeTree, counts: Sequence[NoisyCounts]) -> list[NoisyCounts]:
    known = list(counts)
    for node in reversed(range(len(known))):
        split = tree.splits[node]
        if split is not None:
            below = [known[child] for child in dict.fromkeys(split.children)]
            total = np.sum([one.counts for one in below], axis=0)
            known[node] = known[node].combine(total, sum(one.variance for one in below))
    return known


def _find_parents(tree: CodeTree) -> list[int]:
    parents = [0] * len(tree.splits)
    for node, split in enumerate(tree.splits):
        for child in () if split is None else split.children:
            parents[child] = node
    return parents
