"""The attack sparse: histories found by a few ratings, purchases or places."""

from discreet.registry import AttackSpec

SPEC = AttackSpec(
    name="sparse",
    summary="histories found by a few ratings, purchases or places",
    target="release",
    command="discreet.cli.attacks.sparse:command",
    position=100,
)
