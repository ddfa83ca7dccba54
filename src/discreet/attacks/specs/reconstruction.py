"""The attack reconstruction: everybody's secret from counts of groups, solved all at once."""

from discreet.registry import AttackSpec

SPEC = AttackSpec(
    name="reconstruction",
    summary="everybody's secret from counts of groups, solved all at once",
    target="answers",
    command="discreet.cli.attacks.reconstruction:command",
    position=220,
)
