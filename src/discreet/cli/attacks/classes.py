"""The attacks on classes share their options, and how a release is read for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.attack.finding import Finding
from discreet.cli import options
from discreet.cli.attacks.findings import (
    ToleranceType,
    finding_options,
    judge_and_print,
    tolerance_of,
)

if TYPE_CHECKING:
    from discreet.attack.classes.histograms import Classes
    from discreet.measure.roles import RoleBinding


class ValuesType(click.ParamType[dict[str, str]]):
    """Values of columns, as COLUMN=VALUE separated by commas."""

    name = "column=value,…"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, str]:
        """Return the values by column."""
        if isinstance(value, dict):
            return value  # pyright: ignore[reportUnknownVariableType]
        pairs = [item.partition("=") for item in options.NAMES.convert(value, param, ctx)]
        if not all(sign and name.strip() for name, sign, _ in pairs):
            self.fail("Write values such as age=27,zip=47678.", param, ctx)
        return {name.strip(): text.strip() for name, _, text in pairs}


person_option = click.option(
    "--person",
    type=ValuesType(),
    metavar="COLUMN=VALUE,…",
    help="Attack one person, such as age=27,zip=47678; labels count for all they may stand for.",
)


def sure_option(help_text: str) -> Callable[..., Any]:
    """Return the option that says how sure the adversary must be."""
    return click.option(
        "--sure",
        type=ToleranceType(),
        metavar="SHARE",
        default=0.9,
        show_default="90%",
        help=help_text,
    )


def class_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the release, the parts of its columns, and where findings go."""
    command = options.reading_options(finding_options(command))
    command = options.role_options(command)
    return click.argument("release", metavar="RELEASE", callback=options.require_name)(command)


def attack_bound(
    release: str,
    attack: Callable[[RoleBinding], Sequence[Finding]],
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
    from discreet.attack.classes.histograms import opened_release
    from discreet.writing import require_writable_path

    if report is not None:
        require_writable_path(report)
    with opened_release(release, policy, table=table, memory_limit=memory, **roles) as bound:
        if bound.guessed:
            click.echo(
                "The roles of the columns were guessed. Name them: --quasi, --sensitive, or --policy.",
                err=True,
            )
        label = bound.subject.table.label
        allowed = tolerance_of(policy, tolerance=tolerance, table=table, label=label)
        findings = attack(bound)
    judge_and_print(findings, tolerance=allowed, as_json=as_json, report=report)


def attack_classes(
    release: str, attack: Callable[[Classes], Sequence[Finding]], **choices: Any
) -> None:
    """Open the release, read its classes once, attack them, and finish."""
    from discreet.attack.classes.histograms import read_classes

    attack_bound(release, lambda bound: attack(read_classes(bound)), **choices)
