"""The attack linkability: two tables about the same people, joined through synthetic data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.registry import AttackSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding


def _run(given: AttackInput) -> Sequence[Finding]:
    from discreet.attacks.synthetic.linkability import link_column_sets

    return [link_column_sets(given.trial, rng=given.rng)] if given.trial else ()


SPEC = AttackSpec(
    name="linkability",
    summary="two tables about the same people, joined through synthetic data",
    target="synthetic",
    needs=("trial",),
    run=_run,
    command="discreet.cli.attacks.linkability:command",
    run_all=True,
    position=140,
)
