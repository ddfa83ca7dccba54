"""The attack membership: who is among the people behind frequencies or a release."""

from discreet.registry import AttackSpec

SPEC = AttackSpec(
    name="membership",
    summary="who is among the people behind frequencies or a release",
    target="release",
    command="discreet.cli.attacks.membership:command",
    position=120,
)
