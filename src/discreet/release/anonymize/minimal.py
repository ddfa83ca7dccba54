"""All minimal generalizations: nodes that hold, and nothing below them does."""

from __future__ import annotations

import numpy as np

from discreet.errors import WrongUsage
from discreet.release.anonymize.checks import Node, NodeChecker
from discreet.release.anonymize.lattice import projections, size_of
from discreet.release.anonymize.problem import Problem

LARGEST_LATTICE = 1_000_000


def minimal_nodes(problem: Problem) -> list[Node]:
    """Return every node that holds within the limit while no lower node does (Samarati 2001).

    Nodes are in the order of the sum of their levels, then of the levels; there is none when no
    node holds.

    Raises:
        WrongUsage: The lattice is too large to list them all.
    """
    size = size_of(problem.heights)
    if size > LARGEST_LATTICE:
        raise WrongUsage(
            f"The lattice has {size:,} nodes, and all minimal generalizations can be listed for up "
            f"to {LARGEST_LATTICE:,}. Leave out quasi-identifiers, or ask for the best node only."
        )
    walk = _MinimalSearch(problem)
    for node in projections(problem.heights, 2):
        if not walk.is_known[node]:
            walk.check(node)
    for node in _nodes_by_height(walk.is_known.shape):
        if not walk.is_known[node]:
            walk.climb(node)
    return sorted(walk.minimal(), key=lambda node: (sum(node), node))


class _MinimalSearch:
    """What is known of each node: that it fails, or that it holds or is above one that does."""

    def __init__(self, problem: Problem) -> None:
        shape = tuple(height + 1 for height in problem.heights)
        self.checker = NodeChecker(problem)
        self.heights = problem.heights
        self.is_known = np.zeros(shape, dtype=np.bool_)
        self.holding: list[Node] = []
        # Holding is handed up by criteria that a class cannot lose when rows join it, and by all
        # monotone ones as long as nothing is suppressed.
        judge = problem.judge
        self.is_monotone = judge.is_absorbing or (judge.is_monotone and problem.limit == 0)

    def check(self, node: Node) -> bool:
        """Return whether a node holds, and note what follows."""
        check = self.checker.check(node)
        holds = self.checker.holds(check)
        if holds:
            self.holding.append(node)
            self.is_known[tuple(slice(level, None) for level in node)] = True
        elif self.checker.excludes_lower(check):
            self.is_known[tuple(slice(0, level + 1) for level in node)] = True
        self.is_known[node] = True
        return holds

    def climb(self, node: Node) -> None:
        """Check a node; or, if that decides more, the middle of a path from it, and so on.

        On a path of a monotone problem, nodes fail up to some point and hold from there, which a
        binary search finds (Kohlmayer et al. 2012, Flash).
        """
        if not self.is_monotone:
            self.check(node)
            return
        path = self._ascending_path(node)
        low, high = 0, len(path)
        while low < high:
            middle = (low + high) // 2
            if self.check(path[middle]):
                high = middle
            else:
                low = middle + 1

    def minimal(self) -> list[Node]:
        """Return the nodes that hold and are above no other one that does."""
        found = np.array(self.holding, dtype=np.int64).reshape(-1, len(self.heights))
        return [
            node
            for node in self.holding
            if not ((found <= node).all(axis=1) & (found != node).any(axis=1)).any()
        ]

    def _ascending_path(self, node: Node) -> list[Node]:
        path = [node]
        while True:
            higher = (
                (*path[-1][:j], level + 1, *path[-1][j + 1 :])
                for j, level in enumerate(path[-1])
                if level < self.heights[j]
            )
            following = next((one for one in higher if not self.is_known[one]), None)
            if following is None:
                return path
            path.append(following)


def _nodes_by_height(shape: tuple[int, ...]) -> list[Node]:
    levels = np.indices(shape).reshape(len(shape), -1)
    order = np.argsort(levels.sum(axis=0), kind="stable")
    return [tuple(int(level) for level in node) for node in levels[:, order].T]
