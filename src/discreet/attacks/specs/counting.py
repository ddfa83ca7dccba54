"""The attack counting: one person's value by counts, halving what it may be."""

from discreet.registry import AttackSpec

SPEC = AttackSpec(
    name="counting",
    summary="one person's value by counts, halving what it may be",
    target="answers",
    command="discreet.cli.attacks.counting:command",
    position=190,
)
