"""The methods by the names a policy gives them."""

from __future__ import annotations

from collections.abc import Callable

from discreet.errors import WrongUsage
from discreet.policy.model import ReleasePolicy
from discreet.release.anonymize.metrics import Metric
from discreet.release.anonymize.problem import Problem
from discreet.release.anonymize.reachability import require_reachable
from discreet.release.anonymize.recoding import Recoding

Progress = Callable[[str, int, int], None]


def solve_problem(
    problem: Problem,
    release: ReleasePolicy,
    *,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> Recoding:
    """Return how `problem` is recoded by the method that `release` names.

    Raises:
        CriteriaUnreachable: No recoding meets the criteria within the limit of suppression.
    """
    require_reachable(problem)
    if release.utility != "loss" and release.method != "full-domain":
        raise WrongUsage(
            f"The utility {release.utility} is a goal of the method full-domain; the method "
            f"{release.method} keeps the loss small. Choose --method full-domain or --utility loss."
        )
    match release.method:
        case "full-domain":
            from discreet.release.anonymize.full_domain import search

            return search(
                problem, metric=_choose_metric(problem, release), seconds=seconds, progress=progress
            )
        case "mondrian":
            from discreet.release.anonymize.mondrian import partition_strictly

            return partition_strictly(problem, progress=progress)
        case "relaxed-mondrian":
            from discreet.release.anonymize.mondrian import partition_loosely

            return partition_loosely(problem, progress=progress)
        case "cells":
            from discreet.release.anonymize.cells import suppress_cells_greedily

            return suppress_cells_greedily(problem, progress=progress)
        case "local":
            from discreet.release.anonymize.local import recode_locally

            return recode_locally(problem, seconds=seconds, progress=progress)


def _choose_metric(problem: Problem, release: ReleasePolicy) -> Metric:
    from discreet.release.anonymize.metrics import METRICS, classification

    if release.utility != "classification":
        return METRICS[release.utility]
    if release.target not in problem.judge.columns:
        raise WrongUsage(
            f"The column to predict, '{release.target}', must be one of the sensitive columns. Give "
            "it the role sensitive."
        )
    return classification(problem.judge.columns.index(release.target))
