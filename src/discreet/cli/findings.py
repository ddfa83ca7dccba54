"""Findings judged by a tolerance, printed for their custodian, as JSON or as a page."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.attacks.all_attacks import AttackReport
from discreet.attacks.finding import Finding
from discreet.cli import options, output
from discreet.errors import RiskNotTolerated
from discreet.option_values import read_share
from discreet.registry import DetailTable

if TYPE_CHECKING:
    from rich.console import Console


NOT_SAFE_ENOUGH = 3
MANY = 6


class ShareType(click.ParamType[float]):
    """A share such as 0.05 or 5%."""

    name = "share"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the share as a number from 0 to 1."""
        try:
            return read_share(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


# What is tolerated and where findings go: `print_judged` takes these options.
finding_options = options.combine_options(
    click.option(
        "--policy",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The policy with the roles of columns and what is tolerated.",
    ),
    click.option(
        "--tolerance",
        type=ShareType(),
        metavar="SHARE",
        help="Exit 3 when more is learned, such as 5%. Default: as in the policy.",
    ),
    click.option(
        "--report",
        type=click.Path(path_type=Path),
        metavar="FILE.html",
        help="Also write one self-contained page, aggregates only.",
    ),
    click.option(
        "--json", "as_json", is_flag=True, help="Print the findings as a JSON list, only that."
    ),
    options.format_option,
)


def print_judged(
    found: AttackReport,
    *,
    as_json: bool,
    form: str | None,
    report: Path | None,
    tables: Sequence[DetailTable],
) -> None:
    """Write and print the findings of attacks; exit 3 when one exceeds its tolerance."""
    if not as_json and form is None:
        for table in tables:
            _show_detail_table(table, found)
    print_findings(found.findings, as_json=as_json, form=form, report=report)
    if found.exceeds:
        raise click.exceptions.Exit(NOT_SAFE_ENOUGH)


def _show_detail_table(table: DetailTable, found: AttackReport) -> None:
    for one in found:
        rows = [
            [format(record[key], form) for key, (_, form) in table.columns.items()]
            for record in one.details.get(table.key, ())
        ]
        if rows:
            header = [heading for heading, _ in table.columns.values()]
            output.print_table(output.console(), table.title, header, rows, texts=())


def print_findings(
    findings: Sequence[Finding], *, as_json: bool, form: str | None = None, report: Path | None
) -> None:
    """Write and print findings in their order."""
    if report is not None:
        from discreet.report.findings import write_findings_report

        write_findings_report(findings, report)
    if form is not None:
        from discreet.report.judgments import RENDERERS, judge_findings

        targets = dict.fromkeys(found.target for found in findings)
        click.echo(RENDERERS[form](judge_findings(findings), target=", ".join(targets)))
    elif as_json:
        is_unicode = str(getattr(sys.stdout, "encoding", None)).lower().startswith("utf")
        listed = [found.to_dict() for found in findings]
        click.echo(json.dumps(listed, indent=2, ensure_ascii=not is_unicode))
    else:
        show_finding_list(findings, output.console())
    if report is not None:
        click.echo(f"Report written to {report}.", err=True)


def print_refusal(refusal: RiskNotTolerated, *, as_json: bool, report: Path | None) -> None:
    """Print what kept a release back: its findings are all that is written."""
    print_findings(refusal.findings, as_json=as_json, report=report)


def show_finding_list(findings: Sequence[Finding], to: Console) -> None:
    """Print each finding: the sentence, the numbers, one worked example.

    Among many, those that learned nothing have their sentence only.
    """
    for found in findings:
        sign, style = ("✗", "bold red") if found.exceeds else ("•", "bold")
        if len(findings) > MANY and not found.advantage:
            output.print_sentence(to, f"{sign} {found.attack}: {found.verdict}")
            continue
        output.print_sentence(to, f"{sign} {found.attack}: {found.verdict}", style=style)
        output.print_sentence(to, f"  {'; '.join(finding_facts(found))}.")
        output.print_sentence(to, f"  Needs to know: {found.knowledge}")
        output.print_sentence(to, f"  What stops it: {found.remedy}")
        if found.example:
            output.print_sentence(to, "  For your eyes only:", style="dim")
            for line in found.example:
                output.print_sentence(to, f"    {line}", style="dim")


def finding_facts(found: Finding) -> list[str]:
    """Return a finding's numbers in words."""
    from discreet.formatting import format_percent

    low, high = (format_percent(end) for end in found.interval)
    facts = [
        f"exposed {format_percent(found.rate)} of {found.targets:,} (95 % interval {low} to {high})"
    ]
    if found.correct is not None:
        facts.append(f"{found.correct:,} of {found.claimed:,} claims right")
    shares = {
        "guessing without it reaches": found.baseline,
        "on people who are not in it": found.control,
        "the adversary's certainty": found.certainty,
        "tolerated": found.tolerance,
    }
    facts += [
        f"{words} {format_percent(share)}" for words, share in shares.items() if share is not None
    ]
    if found.queries:
        facts.append(f"{found.queries:,} questions")
    return facts


def show_findings(findings: Sequence[Finding], accepted: str | None, to: Console) -> None:
    """Print what attacks on a release learned, in a table, and why a risk was accepted."""
    from discreet.formatting import format_percent

    rows = [
        (
            f"{'✗ ' if one.exceeds else ''}{one.title}",
            format_percent(one.rate),
            format_percent(one.advantage),
            "–" if one.tolerance is None else format_percent(one.tolerance),
        )
        for one in findings
        if one.advantage > 0
    ]
    if rows:
        header = ("Attack", "Exposed", "Learned", "Tolerated")
        output.print_table(to, "Attacked before it is published", header, rows)
    elif findings:
        tried = ", ".join(dict.fromkeys(one.attack for one in findings))
        output.print_sentence(to, f"Attacked by {tried}: nothing was learned.")
    if accepted is not None:
        output.print_sentence(to, f"! Risk accepted: {accepted}", style="yellow")
