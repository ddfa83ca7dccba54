"""`discreet synthesize`: a table that anybody may have."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import curator_options, options, output
from discreet.cli.findings import print_refusal, show_findings
from discreet.errors import OutputRefused, RiskNotTolerated, WrongUsage

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.attacks.finding import Finding
    from discreet.release.synthesize.record import (
        ColumnSynthesis,
        MeasuredMarginal,
        SynthesisExplanation,
        SyntheticRelease,
        SyntheticTables,
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
again is free, and so are more rows of a saved model. With --with, OUT is a folder of tables.
"""

EXAMPLES = """\b
Examples:
  discreet synthesize people.csv --policy policy.yaml --epsilon 1 --dry-run
  discreet synthesize people.csv --policy policy.yaml --epsilon 1 --target ill \\
      -o synthetic.parquet --model model.json --report report.html
  discreet synthesize patients.csv --policy policy.yaml --with visits -o tables
"""


_WITHIN_CHANCE = "What exceeds its tolerance here may be chance: a few people are attacked, and a refusal needs near certainty."


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
    from discreet.api.synthesize import synthesize

    choices["target"] = predicted
    if children:
        unfit = {"dry-run": dry_run, "report": report}
        _write_family(source, out, children, unfit, choices, as_json=as_json)
        return
    if dry_run:
        _explain_table(source, report, choices, as_json=as_json)
        return
    if out is None:
        raise WrongUsage("Name the output with -o OUT, or add --dry-run.")
    _refuse_collisions(source, out, choices["model"], report)
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


def _write_family(
    source: str,
    out: str | None,
    children: tuple[str, ...],
    unfit: dict[str, Any],
    choices: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    """Write several tables to a folder."""
    from discreet.api.synthesize_tables import synthesize_tables

    for name in ("target", "find_domains", "leave_out", "model", "evaluate"):
        unfit[name.replace("_", "-")] = choices.pop(name)
    wrong = next((name for name, value in unfit.items() if value), None)
    if wrong is not None:
        raise WrongUsage(
            f"--{wrong} is for one table, and --with for several. Leave out one of both."
        )
    if out is None:
        raise WrongUsage("Name the folder of the tables with -o FOLDER.")
    if choices.get("policy") is None:
        raise WrongUsage("--with needs a policy of all tables. Add --policy FILE.")
    with output.progress() as step:
        try:
            found = synthesize_tables(
                source, output=out, children=children, progress=step, **choices
            )
        except RiskNotTolerated as refusal:
            print_refusal(refusal, as_json=as_json, report=None)
            raise
    if as_json:
        output.print_json(found)
    else:
        _show_family(found, output.console())


def _show_family(found: SyntheticTables, to: Console) -> None:
    output.print_sentence(to, found.verdict, style="bold")
    for one in found.tables:
        _show_columns(one.columns, to, title=f"Columns of {one.table}")
        _show_marginals(one.marginals, to)
        show_findings(one.findings, one.accepted_risk, to)
        _show_chance(one.findings, to)
    _show_spending(found, to)
    output.print_sentence(
        to, f"Wrote {len(found.tables)} tables to {found.output}, manifest in {found.manifest}."
    )


def _refuse_collisions(source: str, out: str, model: Path | None, report: Path | None) -> None:
    places = [Path(out)] if "://" not in out else []
    named = [*places, *(place for place in (model, report) if place is not None)]
    if report is not None:
        from discreet.writing import require_writable_path

        import_module("discreet.report.synthetic")  # a missing library is an error before any work
        require_writable_path(report)
    if len(set(named)) < len(named):
        raise OutputRefused("Rows, model and report need a file each. Name different ones.")
    for place in named:
        if place.exists() and Path(source).exists() and place.samefile(source):
            raise OutputRefused(f"{place} is the source itself. Name another file.")


def _show_release(found: SyntheticRelease, to: Console) -> None:
    """Print what was made, what it cost, how exact it is, and what attacks learned."""
    from discreet.release.synthesize.evaluate import describe_evaluation

    output.print_sentence(to, found.verdict, style="bold")
    _show_columns(found.columns, to)
    _show_marginals(found.marginals, to)
    if found.evaluation is not None:
        output.print_sentence(to, describe_evaluation(found.evaluation))
    show_findings(found.findings, found.accepted_risk, to)
    _show_chance(found.findings, to)
    _show_spending(found, to)
    if found.output is not None:
        where = f"Wrote {found.output.rows:,} rows to {found.output.place}"
        beside = f", manifest in {found.manifest}" if found.manifest else ""
        model = f", model in {found.model_path}" if found.model_path else ""
        output.print_sentence(to, f"{where}{beside}{model}.")


def _show_marginals(marginals: tuple[MeasuredMarginal, ...], to: Console) -> None:
    rows = [
        (" × ".join(one.columns), f"{one.cells:,}", output.format_number(one.standard_error))
        for one in marginals
    ]
    if rows:
        header = ("Columns", "Cells", "± of a count")
        output.print_table(to, "Relations that were measured", header, rows)


def _show_chance(findings: tuple[Finding, ...], to: Console) -> None:
    if any(not one.exceeds and one.advantage > (one.tolerance or 1) for one in findings):
        output.print_sentence(to, _WITHIN_CHANCE)


def _show_spending(found: SyntheticRelease | SyntheticTables, to: Console) -> None:
    for caution in found.cautions:
        output.print_sentence(to, f"! {caution}", style="yellow")
    spent = curator_options.format_amounts(found.spent["epsilon"], found.spent["delta"])
    if found.cached:
        spent = "nothing: the same table was paid for before"
    left = curator_options.format_amounts(found.remaining["epsilon"], found.remaining["delta"])
    output.print_sentence(to, f"Spent {spent}. Left: {left}.")


def _show_columns(
    columns: tuple[ColumnSynthesis, ...], to: Console, *, title: str = "Columns"
) -> None:
    rows = [
        (
            one.column,
            one.made,
            output.format_number(one.codes),
            output.format_number(one.standard_error),
        )
        for one in columns
    ]
    header = ("Column", "Made", "Values", "± of a count")
    output.print_table(to, title, header, rows, texts=(0, 1))


def _show_explanation(found: SynthesisExplanation, *, as_json: bool) -> None:
    if as_json:
        output.print_json(found)
        return
    to = output.console()
    output.print_sentence(to, found.verdict, style="bold")
    _show_columns(found.columns, to)
    left = curator_options.format_amounts(found.remaining["epsilon"], found.remaining["delta"])
    output.print_sentence(to, f"Left before it: {left}.")
    for caution in found.cautions:
        output.print_sentence(to, f"! {caution}", style="yellow")
