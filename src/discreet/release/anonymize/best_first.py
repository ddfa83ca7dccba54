"""Search of a lattice small enough to hold, to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from discreet.release.anonymize.incumbent import Incumbent
from discreet.release.anonymize.lattice import GeneralizationLattice, projections
from discreet.release.anonymize.problem import Problem

if TYPE_CHECKING:
    from discreet.release.anonymize.checks import Node

# How far up a path the first node is tried, and then of the rest the next: found by trying.
_STEP = 0.75


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
