"""A lattice small enough to hold: a bound for every node, sharpened by each check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.release.anonymize.checks import Node, NodeCheck, NodeChecker
from discreet.release.anonymize.metrics import Gauge
from discreet.release.anonymize.problem import Problem

# Sums of the same losses in another order differ by less.
TOLERANCE = 1e-12
# How far up a path the first node is tried, and then of the rest the next: found by trying.
_STEP = 0.75


@dataclass
class Incumbent:
    """The best solution so far: least potential, then least sum of levels, then first node.

    `least` bounds the potential of every node that was not checked.
    """

    checker: NodeChecker
    gauge: Gauge
    check: NodeCheck | None = None
    potential: float = np.inf
    rank: tuple[int, Node] = field(default=(0, ()))
    least: float = -np.inf

    @property
    def tolerance(self) -> float:
        """By how much potentials may differ and still be the same."""
        return TOLERANCE * max(1.0, abs(self.potential)) if self.check else 0.0

    @property
    def gap(self) -> float:
        """The score minus the least score that any node could have: 0 when this is the optimum."""
        if self.least >= self.potential - self.tolerance:
            return 0.0
        return self.gauge.score(self.potential) - self.gauge.score(self.least)

    def visit(self, node: Node) -> NodeCheck:
        """Check a node, and keep it if it is the best solution."""
        check = self.checker.check(node)
        if self.checker.holds(check):
            self.offer(check, self.gauge.potential(check))
        return check

    def offer(self, check: NodeCheck, potential: float) -> None:
        """Keep a solution if it is better than the best so far."""
        rank = (sum(check.node), check.node)
        if self.beats(potential, rank):
            self.check, self.potential, self.rank = check, potential, rank

    def beats(self, potential: float, rank: tuple[int, Node]) -> bool:
        """Return whether a node with this potential would be better than the best so far."""
        if self.check is None or potential < self.potential - self.tolerance:
            return True
        return potential <= self.potential + self.tolerance and rank < self.rank


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


def best_first(problem: Problem, best: Incumbent, is_over: Callable[[], bool]) -> None:
    """Close the node that promises most, again and again, until none promises more than the best.

    A node is closed by its own check, or sooner by that of a higher one: what must be suppressed
    there must be here. High nodes close many others at once, so that they are tried first, on a path
    upward from the node, ever nearer to it.
    """
    lattice = GeneralizationLattice(problem.heights, best.gauge)
    # Where nothing may be suppressed, two columns alone exclude much.
    for node in projections(problem.heights, 1 if problem.limit else 2):
        if lattice.is_open(node):
            lattice.learn(best.visit(node), best)
    while (chosen := lattice.next(best)) is not None:
        for node in _descend_path(lattice.path(chosen, best) if lattice.pays else [chosen]):
            if is_over():
                best.least = lattice.least
                return
            if lattice.is_open(node):
                lattice.learn(best.visit(node), best)
            if not lattice.is_open(chosen, best):
                break
    best.least = best.potential


def _descend_path(path: list[Node]) -> Iterator[Node]:
    """Yield a node high on the path, then ever lower ones, the first of the path last."""
    place = len(path) - 1
    while place > 0:
        place = int(place * _STEP)
        yield path[place]
    if len(path) == 1:
        yield path[0]
