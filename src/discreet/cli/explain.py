"""`discreet explain`: what a question would cost, and how far off its answer would be."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import curator_options, options, output

if TYPE_CHECKING:
    from discreet.answer.explain import ExpectedError, Explanation

EXAMPLES = """\b
Examples:
  discreet explain people.csv "SELECT sex, count(*) FROM people GROUP BY sex" \\
      --epsilon 0.5 --policy policy.yaml
  discreet explain people.csv "SELECT count(*) FROM people" \\
      --epsilon 1 --within 5% --size 2000
"""


class ErrorShareType(click.ParamType["Fraction"]):
    """A share such as `5%` or `0.05`."""

    name = "share"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Fraction:
        """Return the share as a fraction."""
        from fractions import Fraction

        text = str(value).strip()
        try:
            share = Fraction(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = Fraction(0)
        if not share > 0:
            self.fail("Write a share such as 5% or 0.05.", param, ctx)
        return share


@click.command(cls=options.SourceCommand, epilog=EXAMPLES)
@options.source_argument
@curator_options.question_argument
@curator_options.epsilon_option
@curator_options.charge_options
@click.option(
    "--within",
    type=ErrorShareType(),
    metavar="SHARE",
    help="Also show what epsilon this error would need, such as 5%.",
)
@click.option(
    "--size",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="The assumed number of rows of a group.",
)
def command(
    source: str,
    question: str,
    *,
    epsilon: str,
    delta: str,
    noise: Any,
    cut_share: str,
    within: Fraction | None,
    size: int,
    confidence: float,
    weighted: bool,
    as_json: bool,
    **choices: Any,
) -> None:
    """Show what a question about SOURCE costs and how exact its answer is. Spends nothing.

    No row of people is read: everything shown follows from the question and the policy.
    """
    with curator_options.open_curator_for(source, **choices) as curator:
        found = curator.explain(
            question,
            epsilon=epsilon,
            delta=delta,
            noise=noise,
            cut_share=cut_share,
            confidence=confidence,
            weighted=weighted,
            size=size,
            within=within,
        )
    show_explanation(found, within=within, as_json=as_json)


def show_explanation(found: Explanation, *, within: Fraction | None = None, as_json: bool) -> None:
    """Print an explanation for people or for machines."""
    if as_json:
        output.print_json(found)
        return
    from discreet.answer.wording import describe_price

    to = output.console()
    output.print_sentence(to, describe_price(found))
    title = (
        f"Expected error, at {curator_options.format_share(found.confidence)} confidence, in a group of "
        f"{found.size:,} rows"
    )
    header = ["aggregate", "standard error", "±", "± of the value"]
    output.print_table(to, title, header, [_expected_row(item) for item in found.expected])
    if any(item.relative is not None for item in found.expected):
        output.print_sentence(to, "The value is taken to lie halfway between the bounds.")
    if found.needed_epsilon is not None and within is not None:
        share = curator_options.format_share(float(within))
        output.print_sentence(
            to, f"\nTo be within {share}, it takes epsilon {_round_up(found.needed_epsilon)}."
        )
    for name, cells in found.cells.items():
        if cells is not None:
            listed = ", ".join(cells[:6]) + (" …" if len(cells) > 6 else "")
            output.print_sentence(to, f"\nOnly these parts of {name} are charged: {listed}.")
    for caution in found.cautions:
        click.echo(output.replace_control_characters(f"! {caution}"), err=True)


def _expected_row(item: ExpectedError) -> list[str]:
    if item.ranks is not None:
        return [
            item.aggregate,
            "–",
            f"{curator_options.format_short(round(item.ranks))} ranks",
            "–",
        ]
    share = "–" if item.relative is None else curator_options.format_share(item.relative)
    return [
        item.aggregate,
        curator_options.format_short(item.standard_error),
        curator_options.format_short(item.within),
        share,
    ]


def _round_up(epsilon: float) -> str:
    """Return an epsilon in few digits that is not below the one that is needed."""
    step = 10.0 ** (floor(log10(epsilon)) - 2)
    return curator_options.format_short(float(f"{ceil(epsilon / step) * step:.3g}"))
