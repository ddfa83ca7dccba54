"""The method cells: single cells are hidden."""

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
    from discreet.release.anonymize.cells import suppress_cells_greedily

    del release, seconds
    return suppress_cells_greedily(problem, progress=progress)


SPEC = MethodSpec(
    name="cells",
    summary="hides single cells, generalizes nothing",
    description="Cell suppression: single cells are hidden, nothing is generalized.",
    run=_run,
    position=50,
)
