"""Local recoding: every class has a label of its own, as tight as its members allow.

The default method. Rows that are alike keep their values; only those that stand out are given
wider labels, so that classes may overlap.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from math import isqrt, prod

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Bug, WrongUsage
from discreet.progress import Progress, ignore_progress
from discreet.release.anonymize.blocks import cut_into_blocks
from discreet.release.anonymize.frequencies import label_rows, renumber_keys
from discreet.release.anonymize.greedy_clustering import MOST_K, grow_classes
from discreet.release.anonymize.judge import CachedJudge, holds_as_one
from discreet.release.anonymize.label_cost import Space
from discreet.release.anonymize.lattice_search import best_node, make_walk, search_lattice
from discreet.release.anonymize.leftovers import hide_outliers, merge_rest, show_hidden
from discreet.release.anonymize.mondrian import partition_loosely
from discreet.release.anonymize.move_costs import MoveCosts
from discreet.release.anonymize.problem import Problem
from discreet.release.anonymize.reachability import require_reachable
from discreet.release.anonymize.recoding import SUPPRESSED, Recoding, loss, tighten_labels
from discreet.release.anonymize.refine import Refiner

# A lattice of more nodes is not walked; classes are gathered around rows instead.
MOST_NODES = 30_000
# How many groups of combinations a walk may hold; more combinations are walked in blocks.
MOST_HELD = 50_000_000
# What refinement may cost, in sums of single numbers; more rows are refined in smaller blocks.
REFINEMENT_WORK = 4_000_000_000
MOST_SWEEPS = 4
# From so many combinations on, Mondrian is tried as another start: it takes little time then.
MONDRIAN_COMBINATIONS = 50_000
LEAST_BLOCK = 256


def recode_locally(
    problem: Problem, *, seconds: float | None = None, progress: Progress | None = None
) -> Recoding:
    """Return the local recoding of a problem: little loss, classes that may overlap.

    With `seconds`, refinement ends after so long, and the result depends on the machine's speed.

    Guarantee: every class meets the criteria, and at most `problem.limit` rows are suppressed.

    Raises:
        WrongUsage: A criterion is about the population.
        CriteriaUnreachable: No recoding meets the criteria within the limit of suppression.
    """
    if problem.judge.population:
        raise WrongUsage(
            "The method local gives overlapping labels, and how many people of the population are "
            "behind one of them is not defined. Choose --method full-domain for k-map and "
            "delta-presence."
        )
    require_reachable(problem)
    # In the order of their codes, so that ties fall alike however the combinations were listed.
    ranks, count = label_rows(
        [(problem.table.codes[:, j], one.size) for j, one in enumerate(problem.attributes)]
    )
    ordered = replace(problem, table=problem.table.merge(ranks, count))
    classes = _search(ordered, seconds=seconds, progress=progress) if count else ranks
    return tighten_labels(problem, classes[ranks], notes={"method": "local"})


def _search(
    problem: Problem, *, seconds: float | None, progress: Progress | None
) -> NDArray[np.int64]:
    deadline = None if seconds is None else time.monotonic() + seconds
    space, referee = Space(problem), CachedJudge(problem.table, problem.judge)

    size, step = len(problem.table), progress or ignore_progress

    def report(left: int) -> None:
        step("first classes", size - left, size)

    def is_over() -> bool:
        return deadline is not None and time.monotonic() >= deadline

    def improve(classes: NDArray[np.int64]) -> NDArray[np.int64]:
        return _improve_classes(problem, space, referee, classes, is_over=is_over, progress=step)

    def cost(classes: NDArray[np.int64]) -> float:
        return loss(problem, tighten_labels(problem, classes))

    walk = make_walk(problem) if _fits_in_memory(problem) else None
    if walk is not None:
        first = search_lattice(problem, walk, report=report)
        if len(problem.table) > MONDRIAN_COMBINATIONS and referee.takes_all:
            # With many combinations nearly every row has duplicates, and few cuts are needed.
            first = min(first, partition_loosely(problem, progress=progress).classes, key=cost)
        classes = improve(first)
    else:
        classes = improve(_start(problem, space, referee, report=report))
    if not referee.takes_all and holds_as_one(problem.judge, problem.table):
        # What is left by a greedy method is harder to place the more the criteria are about shares.
        other = partition_loosely(problem, progress=progress).classes
        classes = min(classes, improve(other), key=cost)
    step("labels", 0, 2)
    classes = show_hidden(problem, space, referee, classes)
    if walk is not None:
        # What showing hidden rows costs may exceed what one node for all costs.
        step("best generalization", 0, 1)
        other = best_node(problem, walk, below=cost(classes))
        if other is not None:
            better = show_hidden(problem, space, referee, improve(other))
            classes = min(classes, better, other, key=cost)
    step("labels", 1, 2)
    return _check_labels(problem, space, referee, classes)


def _improve_classes(
    problem: Problem,
    space: Space,
    referee: CachedJudge,
    classes: NDArray[np.int64],
    *,
    is_over: Callable[[], bool],
    progress: Progress,
) -> NDArray[np.int64]:
    """Return better classes, in which everyone has a place that the criteria allow."""

    def report(done: int) -> None:
        progress("refinement", done, len(classes))

    report(0)
    better = _refine_classes(space, referee, classes, is_over=is_over, report=report)
    progress("leftovers", 0, 2)
    better = merge_rest(problem, space, referee, better)
    progress("leftovers", 1, 2)
    return hide_outliers(problem, space, referee, better)


def _fits_in_memory(problem: Problem, rows: int | None = None) -> bool:
    """Return whether a lattice can be walked with all of a table's combinations at hand."""
    nodes = prod(height + 1 for height in problem.heights)
    held = 2 * isqrt(nodes) * (len(problem.table) if rows is None else rows)
    return nodes <= MOST_NODES and held <= MOST_HELD


def _start(
    problem: Problem, space: Space, referee: CachedJudge, *, report: Callable[[int], None]
) -> NDArray[np.int64]:
    """Return classes where the lattice or the table is too large for one walk."""
    if not _fits_in_memory(problem, rows=1):
        if referee.k > MOST_K and holds_as_one(problem.judge, problem.table):
            return partition_loosely(problem).classes
        return grow_classes(space, referee, report=report)
    nodes = prod(height + 1 for height in problem.heights)
    most = max(MOST_HELD // (2 * isqrt(nodes)), 1)
    classes, left = np.full(len(problem.table), SUPPRESSED, dtype=np.int64), len(problem.table)
    for block in cut_into_blocks(space.places, space.label_costs, most=most):
        chosen = np.zeros(len(problem.table), dtype=np.bool_)
        chosen[block] = True
        part = replace(problem, table=problem.table.take(chosen))
        found = search_lattice(part, make_walk(part))
        begin = int(classes.max()) + 1
        classes[chosen] = np.where(found == SUPPRESSED, SUPPRESSED, found + begin)
        left -= len(block)
        report(left)
    return classes


def _refine_classes(
    space: Space,
    referee: CachedJudge,
    classes: NDArray[np.int64],
    *,
    is_over: Callable[[], bool],
    report: Callable[[int], None],
) -> NDArray[np.int64]:
    """Return better classes; combinations without one join others where that is allowed."""
    kept = np.flatnonzero(classes != SUPPRESSED)
    if not len(kept):
        return classes
    numbers = classes.copy()
    numbers[kept], count = renumber_keys(classes[kept], int(classes.max()) + 1)
    lows, _ = space.ends(numbers, count)
    loose = np.flatnonzero(classes == SUPPRESSED)
    most = max(REFINEMENT_WORK // (len(classes) * len(space.sizes)), LEAST_BLOCK)
    items = np.concatenate([lows, space.places[loose]])
    blocks = cut_into_blocks(items, space.label_costs, most=most)
    block_of = np.empty(len(items), dtype=np.int64)
    block_of[np.concatenate(blocks)] = np.repeat(np.arange(len(blocks)), list(map(len, blocks)))
    item_of = numbers.copy()
    item_of[loose] = count + np.arange(len(loose))
    owners = block_of[item_of]
    order = np.argsort(owners, kind="stable")
    result, begin, done = np.full(len(classes), SUPPRESSED, dtype=np.int64), 0, 0
    for members in np.split(order, np.searchsorted(owners[order], np.arange(1, len(blocks)))):

        def report_sweep(share: float, done: int = done, size: int = len(members)) -> None:
            report(done + int(share * size))

        found, used = _refine_block(
            space, referee, members, numbers[members], is_over=is_over, report=report_sweep
        )
        result[members] = np.where(found >= 0, found + begin, SUPPRESSED)
        begin, done = begin + used, done + len(members)
        report(done)
    return result


def _refine_block(
    space: Space,
    referee: CachedJudge,
    members: NDArray[np.int64],
    classes: NDArray[np.int64],
    *,
    is_over: Callable[[], bool],
    report: Callable[[float], None],
) -> tuple[NDArray[np.int64], int]:
    kept = classes >= 0
    if not kept.any():
        return classes, 0
    numbers = classes.copy()
    numbers[kept], count = renumber_keys(classes[kept], int(classes.max()) + 1)
    board = MoveCosts(space, members, numbers, count)
    refiner = Refiner(board, referee, is_over)
    refiner.place(np.flatnonzero(~kept).tolist())
    sweeps = REFINEMENT_WORK // (len(members) * count * len(space.sizes))
    most = min(max(sweeps, 1), MOST_SWEEPS)
    for sweep in range(most):
        report(sweep / most)
        if not refiner.sweep() + refiner.exchange():
            break
    return board.classes, count


def _check_labels(
    problem: Problem, space: Space, referee: CachedJudge, classes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the classes after asking the judge about them as they are called.

    Classes with equal labels are one class. Where people have several rows, that may be one that
    does not hold: it takes in others until it does.
    """
    while True:
        recoding = tighten_labels(problem, classes)
        kept = recoding.classes != SUPPRESSED
        table = problem.table if kept.all() else problem.table.take(kept)
        held = problem.judge.holds(table, recoding.classes[kept], len(recoding))
        if held.all():
            return recoding.classes
        if len(recoding) == 1 or problem.judge.is_monotone:
            raise Bug("Local recoding made a class that does not meet the criteria.")
        failing = np.flatnonzero(~held)[0]
        classes = recoding.classes.copy()
        classes[classes == failing] = SUPPRESSED
        classes = merge_rest(problem, space, referee, classes)
