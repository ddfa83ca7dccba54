"""The attack audit: whether outputs refute the epsilon that a mechanism claims."""

from discreet.registry import AttackSpec

SPEC = AttackSpec(
    name="audit",
    summary="whether outputs refute the epsilon that a mechanism claims",
    target="mechanism",
    command="discreet.cli.attacks.audit:command",
    position=240,
)
