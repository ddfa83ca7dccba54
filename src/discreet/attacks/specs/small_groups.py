"""The attack small-groups: answers about one or two people, and dominated sums."""

from discreet.registry import AttackSpec

SPEC = AttackSpec(
    name="small-groups",
    summary="answers about one or two people, and dominated sums",
    target="answers",
    command="discreet.cli.attacks.small_groups:command",
    position=210,
)
