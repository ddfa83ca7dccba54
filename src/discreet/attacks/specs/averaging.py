"""The attack averaging: noise averaged away, in the same words and in others."""

from discreet.registry import AttackSpec

SPEC = AttackSpec(
    name="averaging",
    summary="noise averaged away, in the same words and in others",
    target="answers",
    command="discreet.cli.attacks.averaging:command",
    position=200,
)
