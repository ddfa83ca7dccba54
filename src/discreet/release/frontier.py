"""The privacy–utility frontier: what each k would cost, on the same table, by the same method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from discreet.errors import CriteriaUnreachable
from discreet.policy import model
from discreet.release.anonymize.methods import solve_problem
from discreet.release.anonymize.problem import Problem
from discreet.release.anonymize.recoding import loss, suppressed_rows

STEPS = (2, 3, 5, 10, 20, 50, 100)


def trace_frontier(
    problem: Problem, release: model.ReleasePolicy, *, steps: Sequence[int] = STEPS
) -> tuple[dict[str, Any], ...]:
    """Return the loss, classes and suppressed rows of the same problem for other values of k.

    The other criteria stay. A k that cannot be reached ends the frontier.
    """
    asked = [c.k for c in problem.judge.criteria if isinstance(c, model.KAnonymity)]
    found: list[dict[str, Any]] = []
    for k in sorted({*steps, *asked}):
        kept = [c for c in problem.judge.criteria if not isinstance(c, model.KAnonymity)]
        judge = replace(problem.judge, criteria=(model.KAnonymity(k), *kept))
        try:
            recoding = solve_problem(replace(problem, judge=judge), release)
        except CriteriaUnreachable:
            break
        found.append(
            {
                "k": k,
                "loss": loss(problem, recoding),
                "classes": len(recoding),
                "suppressed": suppressed_rows(problem, recoding),
                "asked": k in asked,
            }
        )
    return tuple(found)
