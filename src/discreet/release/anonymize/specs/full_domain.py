"""The method full-domain: one level of each column's hierarchy for all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from discreet.errors import WrongUsage
from discreet.policy.model import ReleasePolicy, Utility
from discreet.registry import MethodSpec

if TYPE_CHECKING:
    from discreet.release.anonymize.metrics import Metric
    from discreet.release.anonymize.problem import Problem
    from discreet.release.anonymize.recoding import Recoding


def _run(
    problem: Problem, release: ReleasePolicy, *, seconds: float | None, progress: Any
) -> Recoding:
    from discreet.release.anonymize.full_domain import search

    metric = _choose_metric(problem, release)
    return search(problem, metric=metric, seconds=seconds, progress=progress)


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


SPEC = MethodSpec(
    name="full-domain",
    summary="one level per column for all rows; the proven optimum",
    description="Full-domain recoding: one level of each column's hierarchy for all rows.",
    run=_run,
    utilities=get_args(Utility),
    counts_population=True,
    position=20,
)
