"""The attacks on classes share their options, and how a release is read for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from discreet.cli import options
from discreet.cli.attacks.findings import finding_options, finish, tolerance_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from discreet.attack.finding import Finding
    from discreet.attack.told import Classes
    from discreet.measure.subject import Bound


def class_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the release, the parts of its columns, and where findings go."""
    command = options.reading_options(finding_options(command))
    command = options.role_options(command)
    return click.argument("release", metavar="RELEASE", callback=options.named)(command)


def attack_bound(
    release: str,
    attack: Callable[[Bound], Sequence[Finding]],
    *,
    policy: Path | None,
    tolerance: float | None,
    table: str | None,
    memory: str | None,
    as_json: bool,
    report: Path | None,
    **roles: Any,
) -> None:
    """Open the release, attack it, and finish with what was found."""
    from discreet.attack.told import opened_release
    from discreet.writing import require_writable

    if report is not None:
        require_writable(report)
    with opened_release(release, policy, table=table, memory_limit=memory, **roles) as bound:
        if bound.guessed:
            click.echo(
                "The roles of the columns were guessed. Name them: --quasi, --sensitive, or --policy.",
                err=True,
            )
        label = bound.subject.table.label
        allowed = tolerance_of(policy, tolerance=tolerance, table=table, label=label)
        findings = attack(bound)
    finish(findings, tolerance=allowed, as_json=as_json, report=report)


def attack_classes(
    release: str, attack: Callable[[Classes], Sequence[Finding]], **choices: Any
) -> None:
    """Open the release, read its classes once, attack them, and finish."""
    from discreet.attack.told import read_classes

    attack_bound(release, lambda bound: attack(read_classes(bound)), **choices)
