"""A lattice small enough to hold: a bound for every node, sharpened by each check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.release.anonymize.incumbent import Incumbent

if TYPE_CHECKING:
    from discreet.release.anonymize.checks import Node, NodeCheck
    from discreet.release.anonymize.metrics import Gauge


# So many checks show whether they close other nodes as well.
_TRIED = 100


class GeneralizationLattice:
    """For each node a bound on its potential: infinite once it is checked or cannot be a solution."""

    def __init__(self, heights: Sequence[int], gauge: Gauge) -> None:
        self.shape = tuple(height + 1 for height in heights)
        self.gauge = gauge
        self.bounds = outer(gauge.start())
        self._flat = self.bounds.reshape(-1)
        self._learned = self._closed = 0
        self._sums = outer([np.arange(n, dtype=np.float64) for n in self.shape]).reshape(-1)

    @property
    def least(self) -> float:
        """A bound on the potential of every node that was not checked."""
        return float(self._flat.min())

    @property
    def pays(self) -> bool:
        """Whether checks close other nodes: where they do not, each must be checked itself."""
        return self._learned < _TRIED or self._closed > self._learned

    def learn(self, check: NodeCheck, best: Incumbent) -> None:
        """Close a checked node, and apply what follows for lower and higher ones."""
        self.bounds[check.node] = np.inf
        below = self.bounds[tuple(slice(0, level + 1) for level in check.node)]
        if best.checker.excludes_lower(check):
            self._closed += int(np.count_nonzero(below <= best.potential))
            below[...] = np.inf
        elif (
            self.pays
            and (hopeful := int(np.count_nonzero(below <= best.potential)))
            and (parts := self.gauge.below(check)) is not None
        ):
            np.maximum(below, outer(parts), out=below)
            self._closed += hopeful - int(np.count_nonzero(below <= best.potential))
        self._raise_above(check, best)
        self._learned += 1

    def _raise_above(self, check: NodeCheck, best: Incumbent) -> None:
        floor = self.gauge.above(check)
        if floor > -np.inf:
            above = self.bounds[tuple(slice(level, None) for level in check.node)]
            self._closed += int(
                np.count_nonzero((above <= best.potential) & (floor > best.potential))
            )
            np.maximum(above, floor, out=above)

    def is_open(self, node: Node, best: Incumbent | None = None) -> bool:
        """Return whether a node was neither checked nor excluded; nor, given the best, is worse."""
        bound = self.bounds[node]
        return bool(bound < np.inf and (best is None or bound <= best.potential + best.tolerance))

    def next(self, best: Incumbent) -> Node | None:
        """Return the most promising node that may be better than the best, None when none may."""
        least = self.least
        if least == np.inf or least > best.potential + best.tolerance:
            return None
        # Where only as good a node is left, the lowest of these wins, then the first.
        is_level = least >= best.potential - best.tolerance
        near = np.flatnonzero(
            self._flat <= (best.potential + best.tolerance if is_level else least)
        )
        index = int(near[np.argmin(self._sums[near])])
        node = tuple(int(level) for level in np.unravel_index(index, self.shape))
        return node if best.beats(least, (sum(node), node)) else None

    def path(self, node: Node, best: Incumbent) -> list[Node]:
        """Return nodes from `node` upward, each the most promising of those just above the last."""
        path = [node]
        while True:
            higher = [
                (*path[-1][:j], level + 1, *path[-1][j + 1 :])
                for j, level in enumerate(path[-1])
                if level + 1 < self.shape[j]
            ]
            bound, following = min(
                ((self.bounds[one], one) for one in higher), default=(np.inf, node)
            )
            if not bound < best.potential:
                return path
            path.append(following)


def size_of(heights: Sequence[int]) -> int:
    """Return the number of nodes of a lattice."""
    return prod(height + 1 for height in heights)


def outer(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the sums of one number from each part, in an array with an axis for each."""
    sums = np.zeros(())
    for part in parts:
        sums = sums[..., None] + part
    return sums


def projections(heights: Sequence[int], most: int) -> Iterator[Node]:
    """Yield the nodes with at most `most` attributes below their top, those with fewest first.

    They are tables of few columns, quick to check, and what must be suppressed there must be on
    every node below (LeFevre, DeWitt & Ramakrishnan 2005, Incognito).
    """
    for count in range(most + 1):
        for chosen in combinations(range(len(heights)), count):
            for levels in product(*(range(heights[j]) for j in chosen)):
                node = list(heights)
                for j, level in zip(chosen, levels, strict=True):
                    node[j] = level
                yield tuple(node)
