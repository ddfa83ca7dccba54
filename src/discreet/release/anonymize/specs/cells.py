"""The method cells: single cells are hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.registry import MethodSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.policy.model import ReleasePolicy
    from discreet.release.anonymize.problem import Problem
    from discreet.release.anonymize.recoding import Recoding


def _run(
    problem: Problem, release: ReleasePolicy, *, seconds: float | None, progress: Any, search: str
) -> Recoding:
    del release, seconds
    if search == "optimal":
        from discreet.release.anonymize.optimal_cells import suppress_cells_optimally

        return suppress_cells_optimally(problem, progress=progress)
    from discreet.release.anonymize.cells import suppress_cells_greedily

    return suppress_cells_greedily(problem, progress=progress)


SPEC = MethodSpec(
    name="cells",
    summary="hides single cells, generalizes nothing",
    description="Cell suppression: single cells are hidden, nothing is generalized.",
    run=_run,
    options=(
        OptionSpec(
            "search",
            "choice",
            "greedy: few cells quickly; optimal: the fewest, of a small table.",
            default="greedy",
            choices=("greedy", "optimal"),
        ),
    ),
    position=50,
)
