"""The attack differencing: one person left over when published answers are subtracted."""

from discreet.registry import AttackSpec

SPEC = AttackSpec(
    name="differencing",
    summary="one person left over when published answers are subtracted",
    target="answers",
    command="discreet.cli.attacks.differencing:command",
    position=170,
)
