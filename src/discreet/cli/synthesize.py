"""`discreet synthesize`: a table that anybody may have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import curator_options, options, output
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

    from discreet.release.synthesize.record import (
        SynthesisExplanation,
        SyntheticRelease,
    )

HELP = """\b
Write a synthetic table of SOURCE: rows of people who do not exist, drawn from
noisy counts. Differential privacy bounds what it reveals of any one person.

\b
  full   the default: several rounds, the most exact table
  fast   one round, about a fifth of the time
  pure   epsilon without delta

The policy declares which values are possible. Identifiers and free text get made-up values. The table
is attacked before it is published; exit 3 if attacks learn more than is tolerated. The same request
is free, and so are more rows of a saved model. With --with, OUT is a folder.
"""

EXAMPLES = """\b
Examples:
  discreet synthesize people.csv --policy policy.yaml --epsilon 1 --dry-run
  discreet synthesize people.csv --policy policy.yaml -o made.csv --model made.json
  discreet synthesize patients.csv --policy policy.yaml --with visits -o tables
"""


@click.command(cls=options.SourceCommand, help=HELP, epilog=EXAMPLES)
@options.source_argument
@click.option(
    "--epsilon",
    type=curator_options.AMOUNT,
    default="1",
    show_default=True,
    metavar="NUMBER",
    help="What the table costs.",
)
@click.option(
    "--delta",
    type=curator_options.AMOUNT,
    metavar="NUMBER",
    help="What noise may fail to cover. Default: 1e-9.",
)
@click.option(
    "--method", default="full", show_default=True, metavar="METHOD", help="full, fast or pure."
)
@click.option(
    "--target", "predicted", metavar="COLUMN", help="A column that others are to predict."
)
@click.option(
    "--find-domains",
    type=curator_options.AMOUNT,
    metavar="SHARE",
    help="Of the price, for undeclared values and bounds.",
)
@click.option(
    "--evaluate",
    type=curator_options.AMOUNT,
    metavar="EPSILON",
    help="Judge predictions of the target for so much more.",
)
@click.option(
    "--rows",
    type=click.IntRange(1),
    metavar="NUMBER",
    help="How many rows. Default: a noisy count.",
)
@click.option(
    "--with",
    "children",
    multiple=True,
    metavar="TABLE",
    help="A table that refers to SOURCE. Repeatable.",
)
@click.option(
    "-o",
    "--output",
    "out",
    metavar="OUT",
    callback=options.require_name,
    help="Where rows go, and OUT.release.json.",
)
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    metavar="FILE.json",
    help="Also save the model, for `discreet sample`.",
)
@click.option(
    "--file-format",
    metavar="ENDING",
    help="Of tables of --with. Default: parquet.",
)
@options.policy_option
@options.leave_out_option
@curator_options.ledger_option
@curator_options.analyst_option
@options.accept_risk_option
@click.option("--force", is_flag=True, help="Replace OUT and the model if they exist.")
@click.option("--dry-run", is_flag=True, help="Show price and errors; read and spend nothing.")
@options.reading_options
@options.report_option
@options.json_option
def command(
    source: str,
    *,
    out: str | None,
    report: Path | None,
    predicted: str | None,
    dry_run: bool,
    as_json: bool,
    children: tuple[str, ...],
    **choices: Any,
) -> None:
    """Write a synthetic table of SOURCE."""
    choices["target"] = predicted
    if children:
        from discreet.cli.synthesize_tables import explain_family, write_family

        if dry_run:
            explain_family(source, children, choices, report=report, as_json=as_json)
        else:
            write_family(source, out, children, choices, report=report, as_json=as_json)
        return
    if choices.pop("file_format"):
        raise WrongUsage("--file-format is for several tables. The ending of OUT says it for one.")
    if dry_run:
        _explain_table(source, report, choices, as_json=as_json)
    else:
        _write_table(source, out, report, choices, as_json=as_json)


def _write_table(
    source: str, out: str | None, report: Path | None, choices: dict[str, Any], *, as_json: bool
) -> None:
    from discreet.api.synthesize import synthesize

    if out is None:
        raise WrongUsage("Name the output with -o OUT, or add --dry-run.")
    require_distinct_places(source, out, choices["model"], report)
    with output.progress() as step:
        try:
            found = synthesize(source, output=out, progress=step, **choices)
        except RiskNotTolerated as refusal:
            print_refusal(refusal, as_json=as_json, report=report)
            raise
    if report is not None:
        from discreet.report.synthetic import write_synthetic_report

        write_synthetic_report(found, report)
    if as_json:
        output.print_json(found)
    else:
        _show_release(found, output.console())
    if report is not None:
        click.echo(f"Report written to {report}.", err=True)


def _explain_table(
    source: str, report: Path | None, choices: dict[str, Any], *, as_json: bool
) -> None:
    from discreet.api.synthesize import explain_synthesis

    if report is not None:
        raise WrongUsage("--dry-run writes nothing. Leave out --report or --dry-run.")
    unused = ("rows", "model", "evaluate", "accept_risk", "force")
    asked = {name: value for name, value in choices.items() if name not in unused}
    _show_explanation(explain_synthesis(source, **asked), as_json=as_json)


def _show_release(found: SyntheticRelease, to: Console) -> None:
    """Print what was made, what it cost, how exact it is, and what attacks learned."""
    from discreet.release.synthesize.evaluate import describe_evaluation

    output.print_sentence(to, found.verdict, style="bold")
    show_columns(found.columns, to)
    show_marginals(found.marginals, to)
    if found.evaluation is not None:
        output.print_sentence(to, describe_evaluation(found.evaluation))
    show_findings(found.findings, found.accepted_risk, to)
    show_chance(found.findings, to)
    show_spending(found, to)
    if found.output is not None:
        where = f"Wrote {found.output.rows:,} rows to {found.output.place}"
        beside = f", manifest in {found.manifest}" if found.manifest else ""
        model = f", model in {found.model_path}" if found.model_path else ""
        output.print_sentence(to, f"{where}{beside}{model}.")


def _show_explanation(found: SynthesisExplanation, *, as_json: bool) -> None:
    if as_json:
        output.print_json(found)
        return
    to = output.console()
    output.print_sentence(to, found.verdict, style="bold")
    show_columns(found.columns, to)
    left = curator_options.format_amounts(found.remaining["epsilon"], found.remaining["delta"])
    output.print_sentence(to, f"Left before it: {left}.")
    for caution in found.cautions:
        output.print_sentence(to, f"! {caution}", style="yellow")
