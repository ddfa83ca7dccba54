"""The method mondrian: the table is cut into parts that do not overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.registry import MethodSpec

if TYPE_CHECKING:
    from discreet.policy.model import ReleasePolicy
    from discreet.release.anonymize.problem import Problem
    from discreet.release.anonymize.recoding import Recoding


def _run(
    problem: Problem, release: ReleasePolicy, *, seconds: float | None, progress: Any
) -> Recoding:
    from discreet.release.anonymize.mondrian import partition_strictly

    del release, seconds
    return partition_strictly(problem, progress=progress)


SPEC = MethodSpec(
    name="mondrian",
    summary="cuts the table into parts",
    description="Mondrian: the table is cut into parts that do not overlap.",
    run=_run,
    position=30,
)
