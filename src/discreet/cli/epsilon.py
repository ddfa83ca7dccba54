"""`discreet epsilon`: the calculators of differential privacy."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from discreet.cli import options, output
from discreet.errors import did_you_mean
from discreet.result import Result

EXAMPLES = """\b
Examples:
  discreet epsilon randomized-response --heads 0.4
  discreet epsilon laplace --epsilon 0.5 --sensitivity 1
  discreet epsilon table chances.csv
  discreet epsilon compose 0.1 0.2 laplace:10:1 --delta 1e-6
  discreet epsilon distinguish 1
  discreet epsilon estimate --yes 3000 --of 5000 --heads 0.5
  discreet epsilon sensitivity mean --bounds 0,90000 --n 100 --neighbors bounded
"""


class ExactType(click.ParamType[Fraction]):
    """A decimal or a fraction, kept exactly."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Fraction:
        """Return the number."""
        from discreet.dp.calculate.loss import parse_fraction

        if isinstance(value, Fraction):
            return value
        found = parse_fraction(str(value))
        if found is None:
            self.fail("Write a number such as 0.25, 1/4 or 1e-6.", param, ctx)
        return found


class BoundPairType(click.ParamType[tuple[Fraction, Fraction]]):
    """A lower and an upper bound."""

    name = "lower,upper"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Fraction, Fraction]:
        """Return both bounds."""
        from discreet.dp.calculate.loss import parse_fraction

        lower, comma, upper = str(value).partition(",")
        least, most = parse_fraction(lower), parse_fraction(upper)
        if not comma or least is None or most is None:
            self.fail("Write two numbers with a comma between them: 0,90000.", param, ctx)
        return least, most


class CalculatorGroup(click.Group):
    """The calculators; a slip is answered with the word that was meant."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a calculator by its word."""
        found = super().get_command(ctx, "distinguish" if cmd_name == "error" else cmd_name)
        if found is None:
            ctx.fail(f"There is no '{cmd_name}'.{did_you_mean(cmd_name, self.commands)}")
        return found


EXACT, PAIR = ExactType(), BoundPairType()


@click.group(cls=CalculatorGroup, epilog=EXAMPLES, subcommand_metavar="CALCULATOR …")
def command() -> None:
    """Calculate the epsilon of a mechanism, or the noise that an epsilon needs.

    Numbers are decimals or fractions (0.25, 1/4) and are kept exactly. No data is read.
    """


def coin_options(wrapped: Any) -> Any:
    """Add the options that describe randomized response."""
    for option in (
        click.option(
            "--if-no", type=EXACT, metavar="P", help="Chance of saying yes if the truth is no."
        ),
        click.option(
            "--if-yes", type=EXACT, metavar="P", help="Chance of saying yes if the truth is yes."
        ),
        click.option(
            "--truth",
            type=EXACT,
            metavar="P",
            help="Chance of reporting the truth, whatever it is.",
        ),
        click.option(
            "--second",
            type=EXACT,
            metavar="P",
            help="Chance of heads of the second coin, which means yes. Default: that of --heads.",
        ),
        click.option(
            "--heads",
            type=EXACT,
            metavar="P",
            help="Chance of heads: after tails the answer is the truth, after heads a second coin's.",
        ),
    ):
        wrapped = option(wrapped)
    return wrapped


@command.command("randomized-response")
@coin_options
@click.option("--values", type=int, metavar="N", help="With --truth: how many values there are.")
@options.json_option
def randomized_response_command(as_json: bool, **choices: Any) -> None:
    """Calculate the epsilon of randomized response.

    Describe the coins in one of three ways: --heads (and --second), --truth, or --if-yes and --if-no.
    """
    from discreet.api.epsilon import randomized_response

    found = randomized_response(**choices)
    rows = [
        (f"{truth}", f"{answer}", f"{chance:.6g}")
        for truth, row in found.chances.items()
        for answer, chance in row.items()
    ]
    _print_result(found, as_json, _epsilon_text(found), chances=rows)


@command.command("laplace")
@click.option("--scale", type=EXACT, metavar="B", help="The scale of the noise.")
@click.option("--epsilon", type=EXACT, metavar="E", help="The wanted epsilon, to get the scale.")
@click.option(
    "--sensitivity",
    type=EXACT,
    metavar="S",
    required=True,
    help="The most that one person changes the answer: see `sensitivity`.",
)
@options.json_option
def laplace_command(as_json: bool, **choices: Any) -> None:
    """Calculate the epsilon of Laplace noise by its scale, or its scale by epsilon."""
    from discreet.api.epsilon import laplace

    found = laplace(**choices)
    _print_result(
        found,
        as_json,
        _epsilon_text(found),
        f"scale {found.scale:.6g}, standard deviation {found.standard_deviation:.6g}",
        f"95 % of answers are within ±{found.error_95:.6g} of the truth",
    )


@command.command("table")
@click.argument(
    "chances", type=click.Path(path_type=Path), metavar="FILE", callback=options.require_name
)
@click.option("--delta", type=EXACT, metavar="D", help="Also the smallest epsilon at this delta.")
@click.option("--epsilon", type=EXACT, metavar="E", help="Also the smallest delta at this epsilon.")
@click.option(
    "--header/--no-header",
    default=None,
    help="Whether the first line names the outputs. Default: found by itself.",
)
@options.json_option
def table_command(chances: Path, as_json: bool, **choices: Any) -> None:
    """Calculate the epsilon of a mechanism from its table of chances in the CSV FILE.

    Rows are inputs, columns are outputs, cells are chances such as 0.25 or 1/4. The first line may
    name the outputs and the first column the inputs.
    """
    from discreet.api.epsilon import table

    found = table(chances, **choices)
    points = [f"({point.epsilon:.6g}, {point.delta:.6g})-DP holds" for point in found.profile]
    _print_result(found, as_json, _epsilon_text(found), *points)


@command.command("compose")
@click.argument("mechanisms", nargs=-1, required=True, metavar="MECHANISM…")
@click.option("--parallel", is_flag=True, help="Each looks at another part of the people.")
@click.option("--bounded", is_flag=True, help="With --parallel: neighbors differ in one value.")
@click.option("--times", type=int, metavar="N", default=1, help="All of it is done N times.")
@click.option(
    "--delta", type=EXACT, metavar="D", help="Compare ways to count at this delta, such as 1e-6."
)
@options.json_option
def compose_command(mechanisms: tuple[str, ...], as_json: bool, **choices: Any) -> None:
    """Calculate the cost of several mechanisms together.

    A MECHANISM is an epsilon (0.1, 1/3, ln:3) or laplace:SCALE:SENSITIVITY.
    """
    from discreet.api.epsilon import compose

    found = compose(*mechanisms, **choices)
    lines = [_epsilon_text(found)]
    if found.accounts is not None:
        for name, value in vars(found.accounts).items():
            shown = "not computed" if value is None else f"{value:.6g}"
            lines.append(f"  at delta {found.delta:.3g} by {name}: {shown}")
    _print_result(found, as_json, *lines)


@command.command("distinguish")
@click.argument("epsilon", type=EXACT)
@options.json_option
def distinguish_command(epsilon: Fraction, as_json: bool) -> None:
    """Calculate how often the best guess between two neighbors errs (alias `error`)."""
    from discreet.api.epsilon import distinguish
    from discreet.dp.calculate.distinguish import describe_lowest_error

    found = distinguish(epsilon)
    _print_result(found, as_json, f"error from {describe_lowest_error(found.epsilon)} to 0.5")


@command.command("group")
@click.argument("epsilon", type=EXACT)
@click.option("--size", type=int, metavar="K", required=True, help="How many people.")
@options.json_option
def group_command(epsilon: Fraction, size: int, as_json: bool) -> None:
    """Calculate the epsilon of a group of people, such as a family."""
    from discreet.api.epsilon import group
    from discreet.dp.calculate.distinguish import describe_lowest_error

    found = group(epsilon, size=size)
    errors = [describe_lowest_error(value) for value in (found.epsilon_of_one, found.epsilon)]
    _print_result(
        found,
        as_json,
        _epsilon_text(found),
        f"error at least {errors[1]}, for one person {errors[0]}",
    )


@command.command("estimate")
@click.option("--yes", type=int, metavar="N", required=True, help="How many answered yes.")
@click.option("--of", type=int, metavar="N", required=True, help="How many answered.")
@coin_options
@click.option("--confidence", type=EXACT, metavar="P", default="0.95", help="Default: 0.95.")
@options.json_option
def estimate_command(as_json: bool, **choices: Any) -> None:
    """Estimate how many people's truth is yes, from randomized responses."""
    from discreet.api.epsilon import estimate

    found = estimate(**choices)
    _print_result(
        found,
        as_json,
        f"share {found.share:.6g} ± {found.standard_error:.4g}, {found.confidence:.3g} confidence: "
        f"{found.lower:.4g} to {found.upper:.4g}",
        f"people {found.people:,.6g}, from {found.people_lower:,.6g} to {found.people_upper:,.6g}",
        _epsilon_text(found),
    )


@command.command("sensitivity")
@click.argument(
    "statistic", type=options.SuggestingChoice(["count", "sum", "mean", "histogram", "variance"])
)
@click.option("--bounds", type=PAIR, help="The smallest and largest possible value.")
@click.option("--n", type=int, metavar="N", help="The number of people, where it is public.")
@click.option(
    "--neighbors",
    type=options.SuggestingChoice(["bounded", "unbounded"]),
    default="unbounded",
    help="bounded: one value is changed. unbounded (default): one person is added or removed.",
)
@click.option("--epsilon", type=EXACT, metavar="E", help="Also the scale of Laplace noise for it.")
@options.json_option
def sensitivity_command(statistic: Any, as_json: bool, **choices: Any) -> None:
    """Calculate how far one person can move an answer, and show why."""
    from discreet.api.epsilon import sensitivity

    found = sensitivity(statistic, **choices)
    lines = [f"sensitivity {output.format_number(found.sensitivity)} ({found.neighbors} neighbors)"]
    if found.scale is not None:
        lines.append(f"Laplace noise of scale {found.scale:.6g} gives epsilon {found.epsilon:.6g}")
    _print_result(found, as_json, *lines)


def _epsilon_text(found: Any) -> str:
    """Return the epsilon of a result, and its exact form where that is not the same."""
    if found.exact == "infinite":
        return "epsilon = ∞"
    number = f"{found.epsilon:.6g}"
    return f"epsilon = {number}" if found.exact == number else f"epsilon = {found.exact} ≈ {number}"


def _print_result(
    found: Result, as_json: bool, *lines: str, chances: list[tuple[str, str, str]] | None = None
) -> None:
    """Print a result for machines, or its lines, its chances and its reason for people."""
    if as_json:
        output.print_json(found)
        return
    for line in lines:
        click.echo(output.replace_control_characters(line))
    for truth, answer, chance in chances or ():
        click.echo(f"  truth {truth}, answer {answer}: {chance}")
    click.echo(output.replace_control_characters(found.to_dict()["why"]))
