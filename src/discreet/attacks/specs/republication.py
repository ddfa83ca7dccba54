"""The attack republication: what successive releases of a changing table tell."""

from discreet.registry import AttackSpec

SPEC = AttackSpec(
    name="republication",
    summary="what successive releases of a changing table tell",
    target="release",
    command="discreet.cli.attacks.republication:command",
    position=90,
)
