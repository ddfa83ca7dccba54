"""The attack distinguishing: what epsilon means to somebody who guesses."""

from discreet.registry import AttackSpec

SPEC = AttackSpec(
    name="distinguishing",
    summary="how often the best guess between two neighbors is wrong",
    target="mechanism",
    command="discreet.cli.attacks.distinguishing:command",
    position=250,
)
