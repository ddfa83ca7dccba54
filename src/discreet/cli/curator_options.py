"""What `ask`, `explain` and `budget` share: how a curator is opened, how numbers are written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.answer.wording import format_amounts, format_share, format_short
from discreet.cli import options

if TYPE_CHECKING:
    from discreet.answer.curator import Curator

__all__ = [
    "AMOUNT",
    "analyst_option",
    "charge_options",
    "epsilon_option",
    "format_amounts",
    "format_share",
    "format_short",
    "ledger_option",
    "open_curator_for",
    "question_argument",
]


class AmountType(click.ParamType[str]):
    """A number above 0, kept as it was written so that it stays exact."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text of the number."""
        from decimal import Decimal, InvalidOperation

        try:
            number = Decimal(str(value))
        except InvalidOperation:
            number = None
        if number is None or not number.is_finite() or number < 0:
            self.fail("Write a number such as 0.5 or 1e-6.", param, ctx)
        return str(value)


AMOUNT = AmountType()

ledger_option = click.option(
    "--ledger",
    metavar="PLACE",
    callback=options.require_name,
    help="Where spending is kept: a file or a postgresql:// URL. Default: $DISCREET_LEDGER, else "
    "~/.local/state/discreet/ledger.sqlite.",
)
analyst_option = click.option(
    "--as",
    "analyst",
    metavar="NAME",
    help="The analyst who asks, if the policy has budgets of analysts.",
)


question_argument = click.argument("question", metavar="SQL", callback=options.require_name)
epsilon_option = click.option(
    "--epsilon",
    type=AMOUNT,
    required=True,
    metavar="NUMBER",
    help="What the question may cost, all its aggregates together.",
)
# What a question may cost besides, who pays, and how its answer is shown.
charge_options = options.combine_options(
    click.option(
        "--cut-share",
        type=AMOUNT,
        default="0.05",
        metavar="SHARE",
        help="The share of epsilon spent on how many rows the policy's limits cut off; 0: none. "
        "Default: 0.05.",
    ),
    click.option(
        "--delta",
        type=AMOUNT,
        default="0",
        metavar="NUMBER",
        help="The chance that a rare group is released, such as 1e-6. Default: 0.",
    ),
    click.option(
        "--noise",
        type=options.SuggestingChoice(["laplace", "gaussian"]),
        help="The noise. Default: the one with the smaller error; gaussian needs a delta.",
    ),
    options.policy_option,
    ledger_option,
    analyst_option,
    click.option(
        "--confidence",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=0.95,
        show_default=True,
        help="The confidence level of intervals.",
    ),
    click.option(
        "--weighted",
        is_flag=True,
        help="Each row counts as its sampling weight: the answer estimates the population.",
    ),
    options.reading_options,
    options.json_option,
)


def open_curator_for(
    source: str,
    *,
    policy: Path | None,
    ledger: str | None,
    analyst: str | None,
    table: str | None,
    memory: str | None,
    delimiter: str | None,
    encoding: str | None,
) -> Curator:
    """Return the curator of `source`."""
    from discreet.answer.curator import open_curator

    return open_curator(
        source,
        policy,
        ledger=ledger,
        analyst=analyst,
        table=table,
        delimiter=delimiter,
        encoding=encoding,
        memory=memory,
    )
