"""Search of lattices too large to hold: a good node soon, then a proof of how good it is."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from discreet.release.anonymize.checks import Check, Node
    from discreet.release.anonymize.incumbent import Incumbent
    from discreet.release.anonymize.metrics import Parts
    from discreet.release.anonymize.problem import Problem


def branch_and_bound(problem: Problem, best: Incumbent, is_over: Callable[[], bool]) -> None:
    """Improve the best node until none can be better, or time is over.

    First a descent from the top finds a good node. Then levels are chosen attribute by attribute:
    with those not yet chosen at their top, a check tells what every completion must suppress at
    least, and the choice that promises most is completed first.
    """
    descend(problem, best, is_over)
    tree = _Tree(problem, best)
    while (branch := tree.pop()) is not None:
        if is_over():
            best.least = min(tree.least, branch[0])
            return
        tree.grow(branch[1])
    best.least = best.potential


def descend(problem: Problem, best: Incumbent, is_over: Callable[[], bool]) -> None:
    """Lower one attribute after the other, the one that gains most, as long as something gains."""
    if best.check is None:
        return
    while not is_over():
        before = best.check
        for node in _neighbors(before.node, problem.heights):
            best.visit(node)
            if is_over():
                return
        if best.check is before:
            return


def _neighbors(node: Node, heights: Sequence[int]) -> Iterator[Node]:
    """Yield the nodes one level lower, and those one level lower here and one higher there."""
    for j, level in enumerate(node):
        if level > 0:
            yield (*node[:j], level - 1, *node[j + 1 :])
    del heights


class _Tree:
    """Partial choices of levels, in the order of what they promise."""

    def __init__(self, problem: Problem, best: Incumbent) -> None:
        self.problem, self.best = problem, best
        # Attributes with many values tell most about what must be suppressed.
        self.order = sorted(
            range(len(problem.attributes)),
            key=lambda j: (-problem.attributes[j].size, j),
        )
        self.start = best.gauge.start()
        self.heap: list[tuple[float, int, tuple[int, ...]]] = []
        self._push(float(sum(float(part.min()) for part in self.start)), ())

    @property
    def least(self) -> float:
        return self.heap[0][0] if self.heap else np.inf

    def pop(self) -> tuple[float, tuple[int, ...]] | None:
        """Return the most promising choice that may be better than the best, None when none may."""
        if not self.heap or self.heap[0][0] > self.best.potential + self.best.tolerance:
            return None
        bound, _, chosen = heapq.heappop(self.heap)
        return bound, chosen

    def grow(self, chosen: tuple[int, ...]) -> None:
        """Add each level of the next attribute to a choice."""
        attribute = self.order[len(chosen)]
        for level in range(self.problem.heights[attribute] + 1):
            levels = (*chosen, level)
            check = self.best.visit(self._node(levels))
            if len(levels) == len(self.order) or self.best.checker.excludes_lower(check):
                continue
            self._push(self._bound(levels, check), levels)

    def _node(self, levels: tuple[int, ...]) -> Node:
        node = list(self.problem.heights)
        for attribute, level in zip(self.order, levels, strict=False):
            node[attribute] = level
        return tuple(node)

    def _bound(self, levels: tuple[int, ...], check: Check) -> float:
        parts: Parts = self.best.gauge.below(check) or self.start
        fixed = dict(zip(self.order, levels, strict=False))
        return float(
            sum(
                float(part[fixed[j]])
                if j in fixed
                else float(part[: self.problem.heights[j] + 1].min())
                for j, part in enumerate(parts)
            )
        )

    def _push(self, bound: float, levels: tuple[int, ...]) -> None:
        if bound <= self.best.potential + self.best.tolerance:
            heapq.heappush(self.heap, (bound, -len(levels), levels))
