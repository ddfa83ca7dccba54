"""The attacks on classes share their options, and how a release is read for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.attacks.finding import Finding
from discreet.cli import options
from discreet.cli.attacks.findings import finding_options, judge_and_print, tolerance_of
from discreet.engines.engine import Table

if TYPE_CHECKING:
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
    from discreet.attacks.classes.histograms import opened_release
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


def open_beside(source: str, bound: RoleBinding) -> Table:
    """Open a table beside the release, where both can be joined."""
    from dataclasses import replace

    from discreet.engines.connect import open_table
    from discreet.engines.scratch import innermost

    engine = bound.subject.table.engine
    return replace(open_table(source, engine=innermost(engine)), engine=engine)
