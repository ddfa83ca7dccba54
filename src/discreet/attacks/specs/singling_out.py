"""The attack singling-out: descriptions read off synthetic data that fit one real person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.registry import AttackSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding


def _run(given: AttackInput) -> Sequence[Finding]:
    from discreet.attacks.synthetic.singling_out import single_out

    return single_out(given.trial, rng=given.rng) if given.trial else ()


SPEC = AttackSpec(
    name="singling-out",
    summary="descriptions read off synthetic data that fit one real person",
    target="synthetic",
    needs=("trial",),
    run=_run,
    command="discreet.cli.attacks.singling_out:command",
    run_all=True,
    position=130,
)
