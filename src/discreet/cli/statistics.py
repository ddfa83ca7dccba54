"""`discreet statistics`: classical statistics that know their noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from discreet.cli import curator_options, options, output

if TYPE_CHECKING:
    from discreet.learning.statistics.record import StatisticExplanation, StatisticResult

_MOST_ROWS = 60  # of a table in the terminal

HELP = """\b
Compute a private statistic of SOURCE.

The engine bounds rows and counts them; counts and sums get noise, and estimates, intervals and p-values allow for
it. The policy declares which values are possible. What was measured once is free.
"""

EXAMPLES = """\b
Examples:
  discreet statistics people.csv histogram --policy policy.yaml --columns age
  discreet statistics people.csv chi-square --policy policy.yaml --columns sex,ill
  discreet statistics people.csv t-test --policy policy.yaml --columns cost --by sex
  discreet statistics people.csv survival --policy policy.yaml --columns days,died --set event=yes
"""


class StatisticsCommand(options.SourceCommand):
    """A command whose help lists the registry of statistics."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the text, then all kinds."""
        from discreet.learning.statistics.kinds import STATISTICS

        super().format_help_text(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"Kinds: {', '.join(STATISTICS.names())}.")


@click.command(cls=StatisticsCommand, help=HELP, epilog=EXAMPLES)
@options.source_argument
@click.argument("kind", metavar="KIND", callback=options.require_name)
@click.option(
    "--columns",
    type=options.NAMES,
    required=True,
    metavar="COLUMNS",
    help="What is measured.",
)
@click.option("--by", metavar="COLUMN", help="The groups that are compared.")
@click.option(
    "--epsilon",
    type=curator_options.AMOUNT,
    default="1",
    show_default=True,
    metavar="NUMBER",
    help="What the statistic costs.",
)
@click.option(
    "--delta",
    type=curator_options.AMOUNT,
    metavar="NUMBER",
    help="What noise may miss. Default: 1e-9.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    metavar="SHARE",
    help="How often intervals hold.",
)
@click.option(
    "--set",
    "stated",
    multiple=True,
    metavar="OPTION=VALUE",
    help="An option of the kind: bins=10.",
)
@options.policy_option
@curator_options.ledger_option
@curator_options.analyst_option
@click.option("--dry-run", is_flag=True, help="Show the price; read and spend nothing.")
@options.reading_options
@options.json_option
def command(
    source: str,
    *,
    kind: str,
    stated: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    **choices: Any,
) -> None:
    """Compute a private statistic of SOURCE."""
    from discreet.api.statistics import explain_statistics, statistics

    choices |= options.read_assignments(stated, example="bins=10")
    if dry_run:
        _show_price(explain_statistics(source, kind, **choices), as_json=as_json)
        return
    with output.progress() as step:
        found = statistics(source, kind, progress=step, **choices)
    _show_statistic(found, as_json=as_json)


def _show_price(found: StatisticExplanation, *, as_json: bool) -> None:
    if as_json:
        output.print_json(found)
        return
    to = output.console()
    output.print_sentence(to, found.verdict, style="bold")
    rows = [(name, output.format_number(error)) for name, error in found.errors.items()]
    output.print_table(to, "Noise", ("Measured", "Standard error, in rows"), rows)
    for caution in found.cautions:
        output.print_sentence(to, f"Note: {caution}")


def _show_statistic(found: StatisticResult, *, as_json: bool) -> None:
    if as_json:
        output.print_json(found)
        return
    to = output.console()
    output.print_sentence(to, found.verdict, style="bold")
    if found.test is not None:
        output.print_sentence(to, f"Tested: {found.test.describe()}.")
    header, rows = found.tabulate()
    if rows:
        title = f"Estimates, {curator_options.format_share(found.confidence)} confidence"
        texts = range(len(header) - 3)
        output.print_table(to, title, header, rows[:_MOST_ROWS], texts=texts)
        if len(rows) > _MOST_ROWS:
            output.print_sentence(to, f"{len(rows) - _MOST_ROWS:,} more rows are in --json.")
        output.print_sentence(to, f"Intervals are about {found.covers}.")
    for caution in found.cautions:
        output.print_sentence(to, f"Note: {caution}")
    spent = f"Spent epsilon {found.spent['epsilon']:g}."
    if found.cached:
        spent = "It cost nothing: the same was measured before."
    left = found.remaining.get("epsilon")
    if left is not None:
        spent += f" Left: epsilon {left:g}."
    output.print_sentence(to, spent)
