"""Full-domain recoding: one level for each attribute, the best of all nodes of the lattice."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.release.anonymize.anytime import branch_and_bound
from discreet.release.anonymize.checks import NodeChecker
from discreet.release.anonymize.lattice import Incumbent, best_first, size_of
from discreet.release.anonymize.metrics import Metric, loss
from discreet.release.anonymize.problem import Problem
from discreet.release.anonymize.reachability import unreachable_error
from discreet.release.anonymize.recoding import Recoding, at_node

# Up to this many nodes, a bound for each is held, and all learn from each check.
HELD_NODES = 200_000
# A larger lattice may take for ever to prove, so that its search ends by default.
DEFAULT_SECONDS = 30.0


def search(
    problem: Problem,
    *,
    metric: Metric = loss,
    seconds: float | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Recoding:
    """Return the recoding of the node with the least score, some rows suppressed within the limit.

    Of nodes with the same score, the one with the least sum of levels wins, then the first.

    Args:
        problem: The table, its attributes and criteria.
        metric: What to minimize.
        seconds: When to stop; then the best so far is returned, with how far from the optimum it
            can be. Without it, small lattices are searched to the end, large ones for 30 s.
        progress: Called with `nodes`, the number of checked ones and of all.
        clock: Returns the time in seconds.

    Returns:
        A recoding whose notes have `metric`, `score`, `node` (level by attribute), `optimal`,
        `gap` (the score minus a bound on all others), `checked` and `lattice` (numbers of nodes).

    Raises:
        CriteriaUnreachable: No node holds within the limit of suppression.
    """
    gauge = metric.gauge(problem)
    best = Incumbent(NodeChecker(problem, needs_values=gauge.needs_values), gauge)
    size = size_of(problem.heights)
    is_small = size <= HELD_NODES
    if seconds is None and not is_small:
        seconds = DEFAULT_SECONDS
    end = np.inf if seconds is None else clock() + seconds

    def is_over() -> bool:
        if progress is not None:
            progress("nodes", best.checker.checked, size)
        return end < np.inf and clock() >= end

    # The last resort comes first, so that a search that runs out of time has something to return.
    best.visit(problem.heights)
    if is_small:
        best_first(problem, best, is_over)
    else:
        branch_and_bound(problem, metric, best, is_over)
    is_over()  # reports the progress once more
    if best.check is None:
        raise unreachable_error(problem)
    suppressed = np.zeros(len(problem.table), dtype=np.bool_)
    suppressed[best.check.lost] = True
    return at_node(problem, best.check.node, suppressed, notes=_search_notes(problem, metric, best))


def _search_notes(problem: Problem, metric: Metric, best: Incumbent) -> dict[str, Any]:
    node = best.check.node if best.check else problem.heights
    gap = best.gap
    return {
        "metric": metric.name,
        "score": best.gauge.score(best.potential),
        "node": {a.name: level for a, level in zip(problem.attributes, node, strict=True)},
        "optimal": gap == 0,
        "gap": gap,
        "checked": best.checker.checked,
        "lattice": size_of(problem.heights),
    }
