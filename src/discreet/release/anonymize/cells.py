"""Cell suppression: some cells become `*`, all others stay as they are, and every class holds.

A `*` is a label like any other: it is equal to another `*` and to nothing else. Classes that only
hold because a hidden cell might stand for any value are not accepted.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.release.anonymize.attribute import CodedAttribute
from discreet.release.anonymize.cuts import cut_between_values
from discreet.release.anonymize.frequencies import label_rows, sum_by_label
from discreet.release.anonymize.judge import holds_as_one
from discreet.release.anonymize.mondrian import divide, require_classes_suffice
from discreet.release.anonymize.problem import Problem
from discreet.release.anonymize.reachability import require_reachable, unreachable_error
from discreet.release.anonymize.recoding import SUPPRESSED, Recoding, loss, tighten_labels

if TYPE_CHECKING:
    from discreet.progress import Progress

# The lattice of hidden attributes has 2**m nodes; with more than these, parts are cut from above.
_WALKED_ATTRIBUTES = 12
# Classes that the last rows try to join, the cheapest first, before two classes must.
_JOINS_TRIED = 32


def suppress_cells_greedily(problem: Problem, *, progress: Progress | None = None) -> Recoding:
    """Return a recoding that hides few cells, weighted by their attributes' weights.

    Sets of attributes to hide are walked from cheapest to dearest, among equals the one that lets
    most rows hold; groups that hold leave with just these attributes hidden. Cutting the table from
    above, all hidden, until no value more can be shown, is tried as well; the better one counts.

    Guarantee: every class meets the criteria by its labels, a cell keeps its value or is `*`, and at
    most `problem.limit` rows are suppressed.

    Raises:
        CriteriaUnreachable: The criteria fail even when all people are in one class.
        WrongUsage: A criterion is about the population.
    """
    require_classes_suffice(problem)
    require_reachable(problem)
    choices = keep_or_hide(problem)
    found: list[Recoding] = []
    if len(problem.attributes) <= _WALKED_ATTRIBUTES:
        classes = _place_rest(choices, _walk(choices, progress))
        found.append(tighten_labels(choices, classes))
    if holds_as_one(problem.judge, problem.table):
        found.append(
            tighten_labels(choices, divide(choices, [cut_between_values], progress=progress))
        )
    if not found:
        raise unreachable_error(problem)
    best = min(found, key=lambda recoding: loss(choices, recoding))
    return as_written(problem, best, notes={"method": "cells-greedy", "is_optimal": False})


def keep_or_hide(problem: Problem) -> Problem:
    """Return the problem in which the only label besides a value is `*`."""
    attributes = tuple(
        CodedAttribute(
            attribute.name,
            groups=(np.arange(attribute.size), np.zeros(attribute.size, dtype=np.int64)),
            shares=(np.full(attribute.size, attribute.leaf), np.ones(1)),
            leaf=attribute.leaf,
            weight=attribute.weight,
            has_missing=attribute.has_missing,
        )
        for attribute in problem.attributes
    )
    return replace(problem, attributes=attributes)


def as_written(problem: Problem, recoding: Recoding, *, notes: dict[str, Any]) -> Recoding:
    """Return a recoding of `keep_or_hide(problem)` as one of the problem, with its hidden cells."""
    hidden = recoding.levels > 0
    heights = np.array(problem.heights, dtype=np.int64)
    kept = recoding.classes != SUPPRESSED
    rows = sum_by_label(recoding.classes[kept], problem.table.rows[kept], len(recoding))
    cells = (hidden * rows[:, None]).sum(axis=0)
    by_attribute = {a.name: int(n) for a, n in zip(problem.attributes, cells, strict=True)}
    facts = {**notes, "cells": int(cells.sum()), "cells_by_attribute": by_attribute}
    return replace(recoding, levels=np.where(hidden, heights, 0), notes=facts)


def _walk(problem: Problem, progress: Progress | None) -> NDArray[np.int64]:
    """Return classes from walking the sets of hidden attributes; `SUPPRESSED` where none held."""
    classes = np.full(len(problem.table), SUPPRESSED, dtype=np.int64)
    numbered = 0
    for tier in _cost_tiers(problem):
        # What a set lets hold only shrinks while others let rows leave, so that an old figure is a
        # bound, and few sets are looked at twice.
        queue = [(-problem.rows, node) for node in tier]
        fresh: dict[int, NDArray[np.int64]] = {}
        while queue:
            _, node = heapq.heappop(queue)
            if node in fresh:
                groups = fresh.pop(node)
                leaving = groups != SUPPRESSED
                classes[leaving] = numbered + groups[leaving]
                numbered += int(groups.max(initial=-1)) + 1
                fresh.clear()
                continue
            fresh[node] = groups = _groups_that_hold(problem, node, classes == SUPPRESSED)
            gained = int(problem.table.rows[groups != SUPPRESSED].sum())
            if gained:
                heapq.heappush(queue, (-gained, node))
        if progress is not None:
            left = int(problem.table.rows[classes == SUPPRESSED].sum())
            progress("cells", problem.rows - left, problem.rows)
    return classes


def _cost_tiers(problem: Problem) -> Iterator[list[int]]:
    """Yield sets of attributes to hide, as bits of a number, by what they cost."""
    nodes = np.arange(2 ** len(problem.attributes))
    bits = nodes[:, None] >> np.arange(len(problem.attributes)) & 1
    costs = np.round(bits @ problem.weights, 9)
    order = np.argsort(costs, kind="stable")
    for _, tier in groupby(order.tolist(), key=lambda node: float(costs[node])):
        yield list(tier)


def _groups_that_hold(problem: Problem, node: int, waiting: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the groups of waiting combinations that hold with the attributes of `node` hidden."""
    groups = np.full(len(waiting), SUPPRESSED, dtype=np.int64)
    if not waiting.any():
        return groups
    table = problem.table if waiting.all() else problem.table.take(waiting)
    none = [(np.zeros(len(table), dtype=np.int32), 1)]
    labels, count = label_rows(
        none
        + [
            (table.codes[:, j], attribute.size)
            for j, attribute in enumerate(problem.attributes)
            if not node >> j & 1
        ]
    )
    held = problem.judge.holds(table, labels, count)
    groups[waiting] = np.where(held[labels], labels, SUPPRESSED)
    return groups


def _place_rest(problem: Problem, classes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Suppress the rows without a class if the limit allows; else let them join classes.

    Together they join the class whose union with them hides least, then another, until it holds.
    """
    rest = classes == SUPPRESSED
    if int(problem.table.rows[rest].sum()) <= problem.limit:
        return classes
    while not holds_as_one(problem.judge, problem.table.take(rest)):
        others = tighten_labels(problem, np.where(rest, SUPPRESSED, classes))
        if not len(others):
            raise unreachable_error(problem)
        ordered = np.argsort(_costs_of_joining(problem, others, rest), kind="stable")
        unions = (rest | (others.classes == one) for one in ordered[:_JOINS_TRIED].tolist())
        holding = (
            union for union in unions if holds_as_one(problem.judge, problem.table.take(union))
        )
        rest = next(holding, rest | (others.classes == ordered[0]))
        classes = np.where(rest, SUPPRESSED, others.classes)
    return np.where(rest, int(classes.max(initial=-1)) + 1, classes)


def _costs_of_joining(
    problem: Problem, recoding: Recoding, rest: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return what each class hides more when the rest joins it."""
    codes = problem.table.codes[rest]
    shared = (codes == codes[0]).all(axis=0)
    was_hidden = recoding.levels > 0
    hidden = was_hidden | ~shared | (recoding.lows != codes[0])
    kept = recoding.classes != SUPPRESSED
    rows = sum_by_label(recoding.classes[kept], problem.table.rows[kept], len(recoding))
    own = ((hidden & ~was_hidden) @ problem.weights) * rows
    return own + (hidden @ problem.weights) * int(problem.table.rows[rest].sum())
