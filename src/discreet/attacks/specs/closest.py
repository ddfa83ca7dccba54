"""The attack closest: who lies so near to a synthetic record that they must be its source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.registry import AttackSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding


def _run(given: AttackInput) -> Sequence[Finding]:
    from discreet.attacks.synthetic.closest import find_closest_people

    return [find_closest_people(given.trial, rng=given.rng)] if given.trial else ()


SPEC = AttackSpec(
    name="closest",
    summary="who lies so near to a synthetic record that they must be its source",
    target="synthetic",
    needs=("trial",),
    run=_run,
    command="discreet.cli.attacks.closest:command",
    run_all=True,
    position=150,
)
