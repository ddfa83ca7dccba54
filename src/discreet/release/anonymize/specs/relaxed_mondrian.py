"""The method relaxed-mondrian: the table is cut into even parts, which may overlap."""

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
    from discreet.release.anonymize.mondrian import partition_loosely

    del release, seconds
    return partition_loosely(problem, progress=progress)


SPEC = MethodSpec(
    name="relaxed-mondrian",
    summary="the same, and parts may overlap",
    description="Relaxed Mondrian: the table is cut into even parts, which may overlap.",
    run=_run,
    position=40,
)
