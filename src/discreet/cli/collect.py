"""`discreet collect`: local differential privacy, file in and file out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import options, output
from discreet.cli.epsilon import EXACT
from discreet.errors import WrongUsage

if TYPE_CHECKING:
    from discreet.api.collect import CollectedReports
    from discreet.dp.local.collect import FrequencyEstimates

EXAMPLES = """\b
Examples:
  discreet collect people.csv --column smokes --values no,yes --epsilon 1 -o reports.csv
  discreet collect --estimate reports.csv
  discreet collect people.csv --column drug --policy policy.yaml --epsilon 2 --dry-run
"""

METHODS = ("randomized-response", "grr", "oue", "olh", "hadamard")


@click.command(cls=options.SourceCommand, epilog=EXAMPLES)
@click.argument("source", metavar="SOURCE", required=False, callback=options.require_name)
@click.option("--column", metavar="NAME", help="The column that people report.")
@click.option("--epsilon", type=EXACT, metavar="E", help="The privacy loss of each report.")
@click.option(
    "--method",
    type=options.SuggestingChoice(METHODS),
    metavar="NAME",
    help=f"{', '.join(METHODS)}. Default: the one whose counts vary least.",
)
@click.option(
    "--values",
    type=options.NAMES,
    help="All possible values, which are public. Default: those of the policy.",
)
@click.option("--other", metavar="VALUE", help="Stands for missing values and those not listed.")
@options.policy_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    callback=options.require_name,
    help="Where the reports go: .csv, .tsv (also .gz, .zst) or .parquet.",
)
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and write nothing.")
@click.option(
    "--estimate",
    "reports",
    type=click.Path(path_type=Path),
    metavar="FILE",
    callback=options.require_name,
    help="Estimate counts from the reports in FILE instead.",
)
@click.option(
    "--consistent", is_flag=True, help="With --estimate: no negative counts; they add up."
)
@click.option(
    "--confidence", type=EXACT, metavar="P", help="With --estimate: of intervals. Default: 0.95."
)
@options.reading_options
@options.json_option
def command(source: str | None, reports: Path | None, as_json: bool, **choices: Any) -> None:
    """Perturb each person's value on its own, or estimate counts from such reports.

    Each row of SOURCE is a person, who reports one of the public values at random. The
    collector of the reports learns little about any person, and the counts with their error.
    """
    if reports is not None:
        estimated = _estimate_reports(source, reports, choices)
        if as_json:
            output.print_json(estimated)
        else:
            _show_estimates(estimated)
        return
    made = _collect_reports(source, choices)
    if as_json:
        output.print_json(made)
    else:
        _show_reports(made)


def _collect_reports(source: str | None, choices: dict[str, Any]) -> CollectedReports:
    from discreet.api.collect import collect

    if source is None:
        raise WrongUsage("Name the SOURCE whose column people report, or --estimate FILE.")
    if choices.pop("consistent") or choices.pop("confidence") is not None:
        raise WrongUsage("--consistent and --confidence are for --estimate.")
    if choices["column"] is None or choices["epsilon"] is None:
        raise WrongUsage(
            "Name the column that people report and the epsilon of a report: --column, --epsilon."
        )
    if choices["output"] is None and not choices["dry_run"]:
        raise WrongUsage("Say where the reports go: -o reports.csv; or add --dry-run.")
    return collect(source, **choices)


def _estimate_reports(
    source: str | None, reports: Path, choices: dict[str, Any]
) -> FrequencyEstimates:
    from discreet.api.collect import estimate_reports

    if source is not None or choices["output"] is not None:
        raise WrongUsage("--estimate counts reports that were made. Leave out SOURCE and -o.")
    used = {name: choices[name] for name in ("method", "epsilon", "values", "consistent")}
    if choices["confidence"] is not None:
        used["confidence"] = choices["confidence"]
    return estimate_reports(reports, **used)


def _show_reports(found: CollectedReports) -> None:
    what = f"Each of {found.rows:,} people reports '{found.column}' by {found.method}"
    click.echo(
        output.replace_control_characters(f"{what}: {found.epsilon:.6g}-DP for each report.")
    )
    click.echo(f"The count of a rare value will have a standard error of {found.error:,.4g}.")
    if found.output is not None:
        place = f"Written to {found.output}, manifest in {found.manifest}"
        click.echo(output.replace_control_characters(place))


def _show_estimates(found: FrequencyEstimates) -> None:
    rows = [
        (
            item.value,
            f"{item.count:,.1f}",
            f"{item.standard_error:,.1f}",
            f"{item.lower:,.1f} to {item.upper:,.1f}",
        )
        for item in found.values
    ]
    title = f"{found.reports:,} reports by {found.method}, each {found.epsilon:.6g}-DP"
    header = ("Value", "People", "Standard error", f"{found.confidence:.3g} interval")
    output.print_table(output.console(), title, header, rows)
