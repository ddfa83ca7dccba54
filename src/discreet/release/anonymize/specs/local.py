"""The method local: classes are called by what their members share."""

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
    from discreet.release.anonymize.local import recode_locally

    del release
    return recode_locally(problem, seconds=seconds, progress=progress)


SPEC = MethodSpec(
    name="local",
    summary="a class is called by what its members share; little loss (default)",
    description="Local recoding: each class is called by what its members share, and loses no more.",
    run=_run,
    position=10,
)
