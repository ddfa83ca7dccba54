"""What `ask`, `explain` and `budget` share: how a curator is opened, how numbers are written."""

from __future__ import annotations

from math import isinf, isnan
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import options

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from discreet.answer.curator import Curator


class Amount(click.ParamType[str]):
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


AMOUNT = Amount()

ledger_option = click.option(
    "--ledger",
    metavar="PLACE",
    callback=options.named,
    help="Where spending is kept: a file or a postgresql:// URL. Default: $DISCREET_LEDGER, else "
    "~/.local/state/discreet/ledger.sqlite.",
)
analyst_option = click.option(
    "--as", "analyst", metavar="NAME", help="Who asks, where the policy has budgets of analysts."
)


def question_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what a question is asked of, its text, what it may cost, and who pays."""
    for option in (
        options.json_option,
        options.reading_options,
        click.option(
            "--confidence",
            type=click.FloatRange(0, 1, min_open=True, max_open=True),
            default=0.95,
            show_default=True,
            help="How sure the intervals are.",
        ),
        analyst_option,
        ledger_option,
        options.policy_option,
        click.option(
            "--noise",
            type=options.Word(["laplace", "gaussian"]),
            help="Default: the one with the smaller error; gaussian needs a delta.",
        ),
        click.option(
            "--delta",
            type=AMOUNT,
            default="0",
            metavar="NUMBER",
            help="The chance that a rare group is told, such as 1e-6. Default: 0.",
        ),
        click.option(
            "--epsilon",
            type=AMOUNT,
            required=True,
            metavar="NUMBER",
            help="What the question may cost, for all its aggregates together.",
        ),
        click.argument("question", metavar="SQL", callback=options.named),
        options.source_argument,
    ):
        command = option(command)
    return command


def open_for(
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
        reading={"memory_limit": memory, "delimiter": delimiter, "encoding": encoding},
    )


def short(value: float | None) -> str:
    """Return a number as people read it, with no more digits than tell something.

    >>> short(1234.5678), short(0.00001234), short(None), short(12.0), short(1e-6)
    ('1,234.6', '1.234e-5', '–', '12', '1e-6')
    """
    if value is None or isnan(value):
        return "–"
    if isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.1f}"
    return f"{value:.4g}".replace("e-0", "e-").replace("e+0", "e+")


def amounts(epsilon: float, delta: float) -> str:
    """Return a price or what is left in words; a delta of 0 goes without saying.

    >>> amounts(0.5, 0), amounts(1, 1e-6)
    ('epsilon 0.5', 'epsilon 1 and delta 1e-6')
    """
    told = f"epsilon {short(epsilon)}"
    return f"{told} and delta {short(delta)}" if delta else told


def percent(share: float) -> str:
    """Return a share of 1 as people read it.

    >>> percent(0.95), percent(0.0845)
    ('95 %', '8.45 %')
    """
    return f"{share * 100:.3g} %" if share < 10 else f"{share * 100:,.0f} %"
