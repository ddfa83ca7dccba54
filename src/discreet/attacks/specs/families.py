"""The attack families: how a guarantee weakens for people who share a secret."""

from discreet.registry import AttackSpec

SPEC = AttackSpec(
    name="families",
    summary="how a guarantee weakens for people who share a secret",
    target="mechanism",
    command="discreet.cli.attacks.families:command",
    position=260,
)
