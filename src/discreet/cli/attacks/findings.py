"""Findings judged by a tolerance, printed for their custodian, as JSON or as a page."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.attacks.finding import Finding
from discreet.cli import output
from discreet.errors import RiskNotTolerated

if TYPE_CHECKING:
    from rich.console import Console


NOT_SAFE_ENOUGH = 3
MANY = 6


class ToleranceType(click.ParamType[float]):
    """A share such as 0.05 or 5%."""

    name = "share"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the share as a number from 0 to 1."""
        text = str(value).strip()
        try:
            share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            self.fail(f"'{value}' is no share. Write 0.05 or 5%.", param, ctx)
        return share


def finding_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what is tolerated and where findings go: `judge_and_print` takes them."""
    for option in (
        click.option(
            "--json", "as_json", is_flag=True, help="Print the findings as a JSON list, only that."
        ),
        click.option(
            "--report",
            type=click.Path(path_type=Path),
            metavar="FILE.html",
            help="Also write one self-contained page, aggregates only.",
        ),
        click.option(
            "--tolerance",
            type=ToleranceType(),
            metavar="SHARE",
            help="Exit 3 when more is learned, such as 5%; else as the policy says.",
        ),
        click.option(
            "--policy",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="The policy that says roles of columns and what is tolerated.",
        ),
    ):
        command = option(command)
    return command


def tolerance_of(
    policy: Path | None, *, tolerance: float | None, table: str | None, label: str
) -> Mapping[str, float]:
    """Return what is tolerated: the option, else the policy's table; nothing said is empty."""
    from discreet.policy.attack_tolerance import DEFAULT

    if tolerance is not None:
        return {DEFAULT: tolerance}
    if policy is None:
        return {}
    from discreet.measure.roles import select_table
    from discreet.policy.load import load_policy

    return select_table(load_policy(policy), label=label, name=table).tolerance


def judge_and_print(
    findings: Sequence[Finding],
    *,
    tolerance: Mapping[str, float],
    as_json: bool,
    report: Path | None,
) -> None:
    """Judge, write and print findings, worst first; exit 3 when one exceeds its tolerance."""
    from discreet.attacks.finding import judge, worst_first

    judged = worst_first([judge(found, tolerance) for found in findings])
    print_findings(judged, as_json=as_json, report=report)
    if any(found.exceeds for found in judged):
        raise click.exceptions.Exit(NOT_SAFE_ENOUGH)


def print_findings(findings: Sequence[Finding], *, as_json: bool, report: Path | None) -> None:
    """Write and print findings in their order."""
    if report is not None:
        from discreet.report.findings import write_findings_report

        write_findings_report(findings, report)
    if as_json:
        is_unicode = str(getattr(sys.stdout, "encoding", None)).lower().startswith("utf")
        told = [found.to_dict() for found in findings]
        click.echo(json.dumps(told, indent=2, ensure_ascii=not is_unicode))
    else:
        show_finding_list(findings, output.console())
    if report is not None:
        click.echo(f"Report written to {report}.", err=True)


def print_refusal(refusal: RiskNotTolerated, *, as_json: bool, report: Path | None) -> None:
    """Tell what kept a release back: its findings are all that is written."""
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
    told = [
        f"exposed {format_percent(found.rate)} of {found.targets:,} (95 % interval {low} to {high})"
    ]
    if found.correct is not None:
        told.append(f"{found.correct:,} of {found.claimed:,} claims right")
    shares = {
        "guessing without it reaches": found.baseline,
        "on people who are not in it": found.control,
        "the adversary's certainty": found.certainty,
        "tolerated": found.tolerance,
    }
    told += [
        f"{words} {format_percent(share)}" for words, share in shares.items() if share is not None
    ]
    if found.queries:
        told.append(f"{found.queries:,} questions")
    return told


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
