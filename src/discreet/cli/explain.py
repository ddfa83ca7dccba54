"""`discreet explain`: what a question would cost, and how far off its answer would be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from discreet.cli import asking, options, output

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.answer.explain import Expected, Explanation

EXAMPLES = """\b
Examples:
  discreet explain people.csv "SELECT sex, count(*) FROM people GROUP BY sex" \\
      --epsilon 0.5 --policy policy.yaml
  discreet explain people.csv "SELECT count(*) FROM people" \\
      --epsilon 1 --within 5% --size 2000
"""


class Share(click.ParamType["Fraction"]):
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


@click.command(epilog=EXAMPLES)
@options.source_argument
@click.argument("question", metavar="SQL", callback=options.named)
@asking.price_options
@click.option(
    "--within",
    type=Share(),
    metavar="SHARE",
    help="Also say what epsilon this error would need: 5%.",
)
@click.option(
    "--size",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Rows that a group is taken to have.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="How sure the errors are.",
)
@options.policy_option
@asking.ledger_option
@asking.analyst_option
@options.reading_options
@options.json_option
def command(
    source: str,
    question: str,
    *,
    epsilon: str,
    delta: str,
    noise: Any,
    within: Fraction | None,
    size: int,
    confidence: float,
    as_json: bool,
    **choices: Any,
) -> None:
    """Say what a question about SOURCE costs and how exact its answer is. Spends nothing.

    No row is read: everything told here follows from the question and the policy.
    """
    with asking.open_for(source, **choices) as curator:
        plan, text = curator.plan(question, epsilon=epsilon, delta=delta, noise=noise)
        found = curator.explain(plan, text, confidence=confidence, size=size, within=within)
    show(found, as_json=as_json)


def show(found: Explanation, *, as_json: bool) -> None:
    """Print an explanation for people or for machines."""
    if as_json:
        output.print_json(found)
        return
    to = output.console()
    price = f"epsilon {asking.short(found.epsilon)}"
    if found.delta:
        price += f" and delta {asking.short(found.delta)}"
    output.print_sentence(
        to,
        f"The question costs {price}, spent on {found.mechanisms} noisy "
        f"{'statistic' if found.mechanisms == 1 else 'statistics'} with {found.noise} noise.",
    )
    groups = "" if found.groups is None else f", {found.groups:,} public groups"
    title = f"Expected error in a group of {found.size:,} rows ({found.confidence:.0%}{groups})"
    header = ["aggregate", "standard error", "within ±", "of the value"]
    output.print_table(to, title, header, [_row(item) for item in found.expected])
    if found.needed_epsilon is not None:
        output.print_sentence(
            to, f"\nThat error needs epsilon {asking.short(found.needed_epsilon)}."
        )
    for name, cells in found.cells.items():
        if cells is not None:
            listed = ", ".join(cells[:6]) + (" …" if len(cells) > 6 else "")
            output.print_sentence(to, f"Only these parts of {name} are charged: {listed}.")
    left = found.remaining.get("epsilon")
    if isinstance(left, float):
        output.print_sentence(to, f"Left before it: epsilon {asking.short(left)}.")
    for caution in found.cautions:
        click.echo(output.harmless(f"! {caution}"), err=True)


def _row(item: Expected) -> list[str]:
    if item.ranks is not None:
        return [item.aggregate, "–", f"{asking.short(round(item.ranks))} ranks", "–"]
    share = "–" if item.relative is None else f"{item.relative:.2%}"
    return [item.aggregate, asking.short(item.standard_error), asking.short(item.within), share]
