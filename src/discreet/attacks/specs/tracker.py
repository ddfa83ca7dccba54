"""The attack tracker: a forbidden sum put together from permitted ones."""

from discreet.registry import AttackSpec

SPEC = AttackSpec(
    name="tracker",
    summary="a forbidden sum put together from permitted ones",
    target="answers",
    command="discreet.cli.attacks.tracker:command",
    position=180,
)
