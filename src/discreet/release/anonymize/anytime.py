"""Search of lattices too large to hold: a good node soon, then a proof of how good it is."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from discreet.release.anonymize.checks import Node, NodeCheck, NodeChecker
from discreet.release.anonymize.frequencies import label_rows
from discreet.release.anonymize.lattice import Incumbent, best_first, projections
from discreet.release.anonymize.metrics import Metric, PerAttribute
from discreet.release.anonymize.problem import Problem

# Blocks of attributes are searched to the end when their lattice has at most so many nodes.
_BLOCK_NODES = 1024


def branch_and_bound(
    problem: Problem, metric: Metric, best: Incumbent, is_over: Callable[[], bool]
) -> None:
    """Improve the best node until none can be better, or time is over.

    Descents from many starts look for a good node. In between, for as many checks again, levels are
    chosen attribute by attribute: with those not yet chosen at their top, a check shows what every
    completion must suppress at least, and the choice that promises most is completed first.
    """
    checker = best.checker
    starts = projections(problem.heights, 1)
    _descend_greedily(next(starts), problem, best, is_over)
    descents = checker.checked
    tree = _Tree(problem, metric, best, is_over)
    proofs = 0
    while (branch := tree.pop()) is not None:
        if is_over():
            best.least = branch[0]
            return
        before = checker.checked
        tree.grow(branch[1])
        proofs += checker.checked - before
        if proofs > descents and (start := next(starts, None)) is not None:
            before = checker.checked
            _descend_greedily(start, problem, best, is_over)
            descents += checker.checked - before
    best.least = best.potential


def _descend_greedily(
    node: Node, problem: Problem, best: Incumbent, is_over: Callable[[], bool]
) -> None:
    """Lower the attribute that gains most, or raise one to lower another, as long as that gains."""
    start = best.gauge.start()
    here = Incumbent(best.checker, best.gauge)
    here.visit(node)
    before = None
    while here.check is not None and here.check is not before:
        before = here.check
        for moves in (_nodes_below, _exchange_levels):
            for one in moves(before.node, problem.heights):
                if is_over():
                    break
                if sum(float(start[j][level]) for j, level in enumerate(one)) < here.potential:
                    here.visit(one)
            if here.check is not before:
                break
    if here.check is not None:
        best.offer(here.check, here.potential)


def _nodes_below(node: Node, _: Sequence[int]) -> Iterator[Node]:
    for j, level in enumerate(node):
        if level > 0:
            yield (*node[:j], level - 1, *node[j + 1 :])


def _exchange_levels(node: Node, heights: Sequence[int]) -> Iterator[Node]:
    for j, level in enumerate(node):
        if level < heights[j]:
            raised = (*node[:j], level + 1, *node[j + 1 :])
            yield from (one for one in _nodes_below(raised, heights) if one[j] > level)


class _Tree:
    """Partial choices of levels, in the order of what they promise.

    A choice promises the parts of the chosen attributes, and for the others what their block must
    lose at least, searched alone.
    """

    def __init__(
        self, problem: Problem, metric: Metric, best: Incumbent, is_over: Callable[[], bool]
    ) -> None:
        self.problem, self.best = problem, best
        # Attributes with many values matter most for what must be suppressed.
        self.order = sorted(
            range(len(problem.attributes)), key=lambda j: (-problem.attributes[j].size, j)
        )
        self.start = best.gauge.start()
        # What the attributes from a place of the order on lose at least.
        self.rest = _remaining_losses(problem, metric, best, self.order, is_over)
        self.heap: list[tuple[float, int, tuple[int, ...]]] = []
        self._push_node(float(self.rest[0]), ())

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
            node = list(self.problem.heights)
            for j, own in zip(self.order, levels, strict=False):
                node[j] = own
            check = self.best.visit(tuple(node))
            if len(levels) < len(self.order) and not self.best.checker.excludes_lower(check):
                self._push_node(self._lower_bound(levels, check), levels)

    def _lower_bound(self, levels: tuple[int, ...], check: NodeCheck) -> float:
        parts = self.best.gauge.below(check) or self.start
        fixed = sum(float(parts[j][level]) for j, level in zip(self.order, levels, strict=False))
        free = sum(float(parts[j].min()) for j in self.order[len(levels) :])
        return fixed + max(free, float(self.rest[len(levels)]))

    def _push_node(self, bound: float, levels: tuple[int, ...]) -> None:
        if bound <= self.best.potential + self.best.tolerance:
            heapq.heappush(self.heap, (bound, -len(levels), levels))


def _remaining_losses(
    problem: Problem,
    metric: Metric,
    best: Incumbent,
    order: list[int],
    is_over: Callable[[], bool],
) -> list[float]:
    """Return what the attributes from each place of the order on lose at least.

    Rows that a node suppresses are a superset of those that it does with some attributes hidden, as
    long as classes only gain by rows that join them. So each attribute loses as much as in a search
    of its block alone, and the losses of blocks add up.
    """
    judge = problem.judge
    is_sound = judge.is_absorbing or (problem.limit == 0 and judge.is_monotone)
    gauge = best.gauge
    start = gauge.start()
    rest = [0.0] * (len(order) + 1)
    ends = _block_ends(problem, order)
    for begin, end in reversed(list(zip([0, *ends[:-1]], ends, strict=True))):
        block = order[begin:end]
        for place in range(end - 1, begin - 1, -1):
            rest[place] = rest[place + 1] + float(start[order[place]].min())
        if is_sound and isinstance(gauge, PerAttribute) and not is_over():
            own = metric.gauge(part := _restrict_problem(problem, block))
            if isinstance(own, PerAttribute):
                found = Incumbent(NodeChecker(part), own.weighed(gauge.weights[block]))
                found.visit(part.heights)
                best_first(part, found, is_over)
                best.checker.checked += found.checker.checked
                rest[begin] = max(rest[begin], rest[end] + max(found.least, 0.0))
    return rest


def _block_ends(problem: Problem, order: Sequence[int]) -> list[int]:
    """Return where blocks of neighbors in the order end."""
    ends: list[int] = []
    size = 1
    for place, j in enumerate(order):
        levels = problem.heights[j] + 1
        if size * levels > _BLOCK_NODES and place:
            ends.append(place)
            size = 1
        size *= levels
    return [*ends, len(order)]


def _restrict_problem(problem: Problem, block: Sequence[int]) -> Problem:
    """Return the problem with some attributes only."""
    codes = problem.table.codes[:, block]
    attributes = tuple(problem.attributes[j] for j in block)
    labels, count = label_rows([(codes[:, j], one.size) for j, one in enumerate(attributes)])
    table = replace(problem.table, codes=codes).merge(labels, count)
    people = problem.population
    if people is not None:
        people = replace(people, codes=people.codes[:, block])
    return replace(problem, table=table, attributes=attributes, population=people)
