"""`discreet choose`: which of several columns matters most for another one."""

from __future__ import annotations

from typing import Any

import click

from discreet.cli import curator_options, options, output

EXAMPLES = """\b
Examples:
  discreet choose people.csv --policy policy.yaml --target ill --among age,sex --dry-run
  discreet choose people.csv --policy policy.yaml --target ill --among age,sex
"""


@click.command(cls=options.SourceCommand, epilog=EXAMPLES)
@options.source_argument
@click.option(
    "--target", "explained", required=True, metavar="COLUMN", help="What factors are compared for."
)
@click.option(
    "--among",
    type=options.NAMES,
    required=True,
    metavar="COLUMNS",
    help="The factors: two or more.",
)
@click.option(
    "--bins",
    type=click.IntRange(2, 1000),
    default=8,
    show_default=True,
    metavar="NUMBER",
    help="Into how many ranges numbers are divided.",
)
@click.option(
    "--epsilon",
    type=curator_options.AMOUNT,
    default="1",
    show_default=True,
    metavar="NUMBER",
    help="What the choice costs.",
)
@options.policy_option
@curator_options.ledger_option
@curator_options.analyst_option
@click.option("--dry-run", is_flag=True, help="Show the price; read and spend nothing.")
@options.reading_options
@options.json_option
def command(source: str, *, explained: str, dry_run: bool, as_json: bool, **choices: Any) -> None:
    """Choose which of several columns of SOURCE goes with another one the most.

    One column is chosen by the exponential mechanism, and nothing else is shown. The same request
    again is free.
    """
    from discreet.api.choose_factor import choose_factor, explain_factor

    found: Any
    if dry_run:
        found = explain_factor(source, target=explained, **choices)
    else:
        with output.progress() as step:
            found = choose_factor(source, target=explained, progress=step, **choices)
    if as_json:
        output.print_json(found)
        return
    to = output.console()
    output.print_sentence(to, found.verdict, style="bold")
    for caution in found.cautions:
        output.print_sentence(to, f"Note: {caution}")
    if not dry_run:
        cost = "It cost nothing: it was chosen before." if found.cached else "Spent"
        if not found.cached:
            cost += f" epsilon {found.spent['epsilon']:g}."
        left = found.remaining.get("epsilon")
        output.print_sentence(to, cost if left is None else f"{cost} Left: epsilon {left:g}.")
