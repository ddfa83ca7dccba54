"""The attack attribute: what the closest synthetic record gives away about a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.registry import AttackSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding


def _run(given: AttackInput) -> Sequence[Finding]:
    from discreet.attacks.synthetic.attribute import infer_attribute
    from discreet.policy.model import ColumnRole

    if given.trial is None:
        return ()
    sensitive = [
        name
        for name, role in given.release.roles.items()
        if role is ColumnRole.SENSITIVE and name in given.trial.names
    ]
    return [infer_attribute(given.trial, name, rng=given.rng) for name in sensitive]


SPEC = AttackSpec(
    name="attribute",
    summary="what the closest synthetic record gives away about a person",
    target="synthetic",
    needs=("trial", "sensitive"),
    run=_run,
    command="discreet.cli.attacks.attribute:command",
    run_all=True,
    position=160,
)
