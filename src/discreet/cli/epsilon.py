"""`discreet epsilon`: the calculators of differential privacy."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from discreet.cli import options, output
from discreet.dp.calculate.coins import CoinChances
from discreet.errors import WrongUsage, did_you_mean
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
    """Calculate what a mechanism gives away, and what noise a wanted epsilon needs.

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
            help="Chance of the second coin's heads, which says yes. Default: that of --heads.",
        ),
        click.option(
            "--heads",
            type=EXACT,
            metavar="P",
            help="Chance of heads: tails tells the truth, after heads a second coin answers.",
        ),
    ):
        wrapped = option(wrapped)
    return wrapped


@command.command("randomized-response")
@coin_options
@click.option("--values", type=int, metavar="N", help="With --truth: how many values there are.")
@options.json_option
def randomized_response(values: int | None, as_json: bool, **coins: Fraction | None) -> None:
    """The epsilon of answering by coins.

    Say the coins in one of three ways: --heads (and --second), --truth, or --if-yes and --if-no.
    """
    from discreet.dp.calculate.coins import evaluate_k_ary_response, evaluate_response

    if values is not None and values != 2:
        truth = coins["truth"]
        if truth is None or any(given for name, given in coins.items() if name != "truth"):
            raise WrongUsage("--values is for answers that are true with chance --truth.")
        found = evaluate_k_ary_response(truth, values=values)
    else:
        found = evaluate_response(_read_coins(**coins))
    rows = [
        (f"{truth}", f"{answer}", f"{chance:.6g}")
        for truth, row in found.chances.items()
        for answer, chance in row.items()
    ]
    _print_result(found, as_json, _epsilon_text(found), chances=rows)


@command.command()
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
def laplace(
    scale: Fraction | None, epsilon: Fraction | None, sensitivity: Fraction, as_json: bool
) -> None:
    """The epsilon of Laplace noise by its scale, or the scale by the wanted epsilon."""
    from discreet.dp.calculate.laplace import calibrate_laplace, measure_laplace

    if scale is not None and epsilon is None:
        found = measure_laplace(scale, sensitivity=sensitivity)
    elif epsilon is not None and scale is None:
        found = calibrate_laplace(epsilon, sensitivity=sensitivity)
    else:
        raise WrongUsage("Give either --scale, to get epsilon, or --epsilon, to get the scale.")
    _print_result(
        found,
        as_json,
        _epsilon_text(found),
        f"scale {found.scale:.6g}, standard deviation {found.standard_deviation:.6g}",
        f"95 % of answers are within ±{found.error_95:.6g} of the truth",
    )


@command.command()
@click.argument("file", type=click.Path(path_type=Path), callback=options.require_name)
@click.option("--delta", type=EXACT, metavar="D", help="Also the smallest epsilon at this delta.")
@click.option("--epsilon", type=EXACT, metavar="E", help="Also the smallest delta at this epsilon.")
@click.option(
    "--header/--no-header",
    default=None,
    help="Whether the first line names the outputs. Default: found by itself.",
)
@options.json_option
def table(
    file: Path,
    delta: Fraction | None,
    epsilon: Fraction | None,
    header: bool | None,
    as_json: bool,
) -> None:
    """The epsilon of a mechanism by its table of chances in the CSV file FILE.

    Rows are inputs, columns are outputs, cells are chances such as 0.25 or 1/4. The first line may
    name the outputs and the first column the inputs.
    """
    from discreet.dp.calculate.chance_table_csv import read_chances
    from discreet.dp.calculate.table import evaluate_table

    found = evaluate_table(read_chances(file, header=header), delta=delta, epsilon=epsilon)
    points = [f"({point.epsilon:.6g}, {point.delta:.6g})-DP holds" for point in found.profile]
    _print_result(found, as_json, _epsilon_text(found), *points)


@command.command()
@click.argument("mechanisms", nargs=-1, required=True, metavar="MECHANISM…")
@click.option("--parallel", is_flag=True, help="Each looks at another part of the people.")
@click.option("--bounded", is_flag=True, help="With --parallel: neighbors differ in one value.")
@click.option("--times", type=int, metavar="N", default=1, help="All of it is done N times.")
@click.option(
    "--delta", type=EXACT, metavar="D", help="Compare ways to count at this delta, such as 1e-6."
)
@options.json_option
def compose(
    mechanisms: tuple[str, ...],
    parallel: bool,
    bounded: bool,
    times: int,
    delta: Fraction | None,
    as_json: bool,
) -> None:
    """What several mechanisms cost together.

    A MECHANISM is an epsilon (0.1, 1/3, ln:3) or laplace:SCALE:SENSITIVITY.
    """
    from discreet.dp.calculate.compose import compose_parts, compose_sequence, read_mechanism

    parts = [read_mechanism(text) for text in mechanisms]
    if parallel:
        if delta is not None:
            raise WrongUsage("--delta compares ways to add up. Leave out --parallel.")
        neighbors = "bounded" if bounded else "unbounded"
        found = compose_parts(parts, neighbors=neighbors, times=times)
    else:
        found = compose_sequence(parts, times=times, delta=delta)
    lines = [_epsilon_text(found)]
    if found.accounts is not None:
        for name, value in vars(found.accounts).items():
            shown = "not computed" if value is None else f"{value:.6g}"
            lines.append(f"  at delta {found.delta:.3g} by {name}: {shown}")
    _print_result(found, as_json, *lines)


@command.command()
@click.argument("epsilon", type=EXACT)
@options.json_option
def distinguish(epsilon: Fraction, as_json: bool) -> None:
    """How often the best guess between two neighbors must err (also called `error`)."""
    from discreet.dp.calculate.distinguish import bound_distinguishing as calculate
    from discreet.dp.calculate.distinguish import describe_lowest_error

    found = calculate(epsilon)
    _print_result(found, as_json, f"error from {describe_lowest_error(found.epsilon)} to 0.5")


@command.command()
@click.argument("epsilon", type=EXACT)
@click.option("--size", type=int, metavar="K", required=True, help="How many people.")
@options.json_option
def group(epsilon: Fraction, size: int, as_json: bool) -> None:
    """The epsilon of a group of people, such as a family."""
    from discreet.dp.calculate.distinguish import describe_lowest_error, protect_group

    found = protect_group(epsilon, size=size)
    errors = [describe_lowest_error(value) for value in (found.epsilon_of_one, found.epsilon)]
    _print_result(
        found,
        as_json,
        _epsilon_text(found),
        f"error at least {errors[1]}, for one person {errors[0]}",
    )


@command.command()
@click.option("--yes", type=int, metavar="N", required=True, help="How many answered yes.")
@click.option("--of", type=int, metavar="N", required=True, help="How many answered.")
@coin_options
@click.option("--confidence", type=EXACT, metavar="P", default="0.95", help="Default: 0.95.")
@options.json_option
def estimate(yes: int, of: int, confidence: Fraction, as_json: bool, **coins: Any) -> None:
    """How many people's truth is yes, from answers by coins."""
    from discreet.dp.calculate.coins import estimate_yes_share as calculate

    found = calculate(_read_coins(**coins), yes=yes, of=of, confidence=confidence)
    _print_result(
        found,
        as_json,
        f"share {found.share:.6g} ± {found.standard_error:.4g}, {found.confidence:.3g} confidence: "
        f"{found.lower:.4g} to {found.upper:.4g}",
        f"people {found.people:,.6g}, from {found.people_lower:,.6g} to {found.people_upper:,.6g}",
        _epsilon_text(found),
    )


@command.command()
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
def sensitivity(statistic: str, as_json: bool, **choices: Any) -> None:
    """How far one person can move an answer, with the derivation in words."""
    from discreet.dp.calculate.sensitivity import derive_sensitivity

    found = derive_sensitivity(statistic, **choices)
    lines = [f"sensitivity {output.format_number(found.sensitivity)} ({found.neighbors} neighbors)"]
    if found.scale is not None:
        lines.append(f"Laplace noise of scale {found.scale:.6g} gives epsilon {found.epsilon:.6g}")
    _print_result(found, as_json, *lines)


def _read_coins(
    *,
    heads: Fraction | None,
    second: Fraction | None,
    truth: Fraction | None,
    if_yes: Fraction | None,
    if_no: Fraction | None,
) -> CoinChances:
    """Return the coins, which must be said in exactly one way."""
    from discreet.dp.calculate.coins import CoinChances, symmetric_coin_chances, two_coin_chances

    ways = (heads is not None, truth is not None, if_yes is not None or if_no is not None)
    if sum(ways) == 1:
        if heads is not None:
            return two_coin_chances(heads, second=second)
        if second is None and truth is not None:
            return symmetric_coin_chances(truth)
        if second is None and if_yes is not None and if_no is not None:
            return CoinChances(if_yes, if_no)
    raise WrongUsage(
        "Say the coins in one way: --heads (with --second if that coin differs), --truth, or both "
        "--if-yes and --if-no."
    )


def _epsilon_text(found: Any) -> str:
    """Return the epsilon of a result, and its exact form where that says more."""
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
