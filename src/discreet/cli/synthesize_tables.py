"""`discreet synthesize --with`: several tables that anybody may have."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import curator_options, output
from discreet.cli.findings import print_refusal, show_findings
from discreet.cli.synthesis_output import (
    require_distinct_places,
    show_chance,
    show_columns,
    show_marginals,
    show_spending,
)
from discreet.errors import RiskNotTolerated, WrongUsage

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.release.synthesize.record import SyntheticTables, TablesExplanation

_UNUSED = ("rows", "model", "evaluate", "accept_risk", "force", "file_format")


def explain_family(
    source: str,
    children: tuple[str, ...],
    choices: dict[str, Any],
    *,
    report: Path | None,
    as_json: bool,
) -> None:
    """Print what several tables would cost; nothing is read or spent."""
    from discreet.api.synthesize_tables import explain_tables

    if report is not None:
        raise WrongUsage("--dry-run writes nothing. Leave out --report or --dry-run.")
    _require_policy(choices)
    asked = {name: value for name, value in choices.items() if name not in _UNUSED}
    found = explain_tables(source, children=children, **asked)
    if as_json:
        output.print_json(found)
    else:
        _show_explanation(found, output.console())


def write_family(
    source: str,
    out: str | None,
    children: tuple[str, ...],
    choices: dict[str, Any],
    *,
    report: Path | None,
    as_json: bool,
) -> None:
    """Write several tables to a folder."""
    from discreet.api.synthesize_tables import synthesize_tables

    _require_policy(choices)
    if out is None:
        raise WrongUsage("Name the folder of the tables with -o FOLDER, or add --dry-run.")
    require_distinct_places(source, out, choices["model"], report)
    if report is not None:
        import_module("discreet.report.synthetic_tables")
    if not choices["file_format"]:
        choices.pop("file_format")
    with output.progress() as step:
        try:
            found = synthesize_tables(
                source, output=out, children=children, progress=step, **choices
            )
        except RiskNotTolerated as refusal:
            print_refusal(refusal, as_json=as_json, report=report)
            raise
    if report is not None:
        from discreet.report.synthetic_tables import write_tables_report

        write_tables_report(found, report)
    if as_json:
        output.print_json(found)
    else:
        _show_family(found, output.console())
    if report is not None:
        click.echo(f"Report written to {report}.", err=True)


def _require_policy(choices: dict[str, Any]) -> None:
    if choices.get("policy") is None:
        raise WrongUsage("--with needs a policy of all tables. Add --policy FILE.")


def _show_family(found: SyntheticTables, to: Console) -> None:
    from discreet.release.synthesize.evaluate import describe_evaluation

    output.print_sentence(to, found.verdict, style="bold")
    for one in found.tables:
        show_columns(one.columns, to, title=f"Columns of {one.table}")
        show_marginals(one.marginals, to)
        show_findings(one.findings, one.accepted_risk, to)
        show_chance(one.findings, to)
    if found.evaluation is not None:
        output.print_sentence(to, describe_evaluation(found.evaluation))
    show_spending(found, to)
    model = f", model in {found.model_path}" if found.model_path else ""
    output.print_sentence(
        to,
        f"Wrote {len(found.tables)} tables to {found.output}, manifest in {found.manifest}{model}.",
    )


def _show_explanation(found: TablesExplanation, to: Console) -> None:
    output.print_sentence(to, found.verdict, style="bold")
    for one in found.tables:
        title = f"Columns of {one.table}, of which {one.rows_per_unit:,} rows a person count"
        show_columns(one.columns, to, title=title)
    left = curator_options.format_amounts(found.remaining["epsilon"], found.remaining["delta"])
    output.print_sentence(to, f"Left before it: {left}.")
    for caution in found.cautions:
        output.print_sentence(to, f"! {caution}", style="yellow")
