"""The attack census: published tables turned back into the people they were made from."""

from discreet.registry import AttackSpec

SPEC = AttackSpec(
    name="census",
    summary="published tables turned back into the people they were made from",
    target="answers",
    command="discreet.cli.attacks.census:command",
    position=230,
)
