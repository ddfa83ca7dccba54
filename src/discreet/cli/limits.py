"""`discreet limits`: how many rows of one person should count, from a private histogram."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from discreet.cli import curator_options, options, output

if TYPE_CHECKING:
    from discreet.answer.limits import LimitAdvice

EXAMPLES = """\b
Examples:
  discreet limits visits.csv --policy policy.yaml --epsilon 0.1
  discreet limits visits.csv --policy policy.yaml --epsilon 0.1 \\
      --for-epsilon 0.5 --groups 7
"""


@click.command(cls=options.SourceCommand, epilog=EXAMPLES)
@options.source_argument
@click.option(
    "--epsilon",
    type=curator_options.AMOUNT,
    required=True,
    metavar="NUMBER",
    help="What this may cost; 0.1 suffices where there are a thousand people.",
)
@click.option(
    "--for-epsilon",
    type=curator_options.AMOUNT,
    default="1",
    metavar="NUMBER",
    help="The epsilon of the questions that the limit is for. Default: 1.",
)
@click.option(
    "--groups",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="How many groups their answers have.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="The confidence level of what is shown.",
)
@options.policy_option
@curator_options.ledger_option
@curator_options.analyst_option
@options.reading_options
@options.json_option
def command(
    source: str,
    *,
    epsilon: str,
    for_epsilon: str,
    groups: int,
    confidence: float,
    as_json: bool,
    **choices: Any,
) -> None:
    """Show the error of a count for each limit on a person's rows, and the best limit.

    A low limit cuts off rows, a high one needs much noise. How many rows people have is private, so
    that it is measured once, with noise, for the epsilon you give, and charged to the budget.
    """
    with curator_options.open_curator_for(source, **choices) as curator:
        found = curator.limits(
            choices["table"],
            epsilon=epsilon,
            for_epsilon=for_epsilon,
            groups=groups,
            confidence=confidence,
        )
    if as_json:
        output.print_json(found)
    else:
        _print(found)


def _print(found: LimitAdvice) -> None:
    to = output.console()
    where = "" if found.groups == 1 else f" in each of {found.groups:,} groups of equal size"
    title = (
        f"Error of a count at epsilon {curator_options.format_short(found.epsilon)}{where}, in rows, at "
        f"{curator_options.format_share(found.confidence)} confidence"
    )
    lines = [
        [
            f"{one.limit:,}",
            f"{one.cut_off:.0%}",
            f"{one.bias:,.0f}",
            f"{one.noise:,.0f}",
            f"{one.error:,.0f}" + (" ←" if one.limit == found.recommended else ""),
        ]
        for one in found.curve
    ]
    header = ["rows-per-unit", "cut off", "too low by", "± noise", "together"]
    output.print_table(to, title, header, lines, texts=set())
    output.print_sentence(
        to, f"\nAbout {found.people:,.0f} people have about {found.rows:,.0f} rows."
    )
    if found.recommended is None:
        output.print_sentence(
            to,
            "There are too few people to estimate how many rows they have. Try a larger epsilon.",
        )
    else:
        output.print_sentence(
            to,
            f"{found.recommended:,} rows err least. In the policy, table '{found.table}': "
            f"`limits: {{rows-per-unit: {found.recommended}}}`.",
        )
    spent = curator_options.format_amounts(found.spent["epsilon"], found.spent["delta"])
    if found.cached:
        spent = "nothing: this was measured before"
    left = curator_options.format_amounts(found.remaining["epsilon"], found.remaining["delta"])
    output.print_sentence(to, f"Spent {spent}. Left: {left}.")
