"""`discreet.epsilon`: the calculators of differential privacy, without data.

Numbers may be given as texts (`"0.25"`, `"1/4"`, `"1e-6"`), fractions, decimals, integers or floats, and
are kept exactly; a float stands for the decimal that Python prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from discreet.dp.accounting.exact import ExactNumber
from discreet.dp.calculate.chance_table_csv import parse_chances, read_chances
from discreet.dp.calculate.coins import (
    CoinChances,
    RandomizedResponse,
    ResponseEstimate,
    estimate_yes_share,
    evaluate_k_ary_response,
    evaluate_response,
    symmetric_coin_chances,
    two_coin_chances,
)
from discreet.dp.calculate.compose import (
    Composition,
    compose_parts,
    compose_sequence,
    read_mechanism,
)
from discreet.dp.calculate.distinguish import (
    DistinguishingError,
    GroupLoss,
    bound_distinguishing,
    protect_group,
)
from discreet.dp.calculate.laplace import LaplaceNoise, calibrate_laplace, measure_laplace
from discreet.dp.calculate.loss import parse_fraction
from discreet.dp.calculate.sensitivity import Neighbors, Sensitivity, Statistic, derive_sensitivity
from discreet.dp.calculate.table import ChanceTable, TableLoss, evaluate_table
from discreet.errors import WrongUsage

__all__ = [
    "compose",
    "distinguish",
    "estimate",
    "group",
    "laplace",
    "randomized_response",
    "sensitivity",
    "table",
]


def randomized_response(
    *,
    heads: ExactNumber | None = None,
    second: ExactNumber | None = None,
    truth: ExactNumber | None = None,
    if_yes: ExactNumber | None = None,
    if_no: ExactNumber | None = None,
    values: int | None = None,
) -> RandomizedResponse:
    """Return the epsilon of answering by coins.

    Describe the coins in one of three ways: `heads` (and `second`), `truth`, or `if_yes` and `if_no`.

    Args:
        heads: The chance of heads: tails reports the truth, after heads a second coin answers.
        second: The chance of the second coin's heads, which says yes; that of `heads` by default.
        truth: The chance of reporting the truth, whatever it is.
        if_yes: The chance of saying yes if the truth is yes.
        if_no: The chance of saying yes if the truth is no.
        values: With `truth`: how many values there are.

    >>> randomized_response(heads="0.4").exact
    'ln 4.75'
    """
    coins = _read_numbers(heads=heads, second=second, truth=truth, if_yes=if_yes, if_no=if_no)
    if values is None or values == 2:
        return evaluate_response(_read_coins(coins))
    if coins["truth"] is None or any(coins[name] for name in coins if name != "truth"):
        raise WrongUsage("--values is for answers that are true with chance --truth.")
    return evaluate_k_ary_response(coins["truth"], values=values)


def laplace(
    *,
    sensitivity: ExactNumber,
    scale: ExactNumber | None = None,
    epsilon: ExactNumber | None = None,
) -> LaplaceNoise:
    """Return the epsilon of Laplace noise of a scale, or the scale for a wanted epsilon.

    Args:
        sensitivity: The most that one person changes the answer: see `sensitivity`.
        scale: The scale of the noise, to get its epsilon.
        epsilon: The wanted epsilon, to get the scale.

    >>> laplace(epsilon="0.5", sensitivity=90000).scale
    180000.0
    """
    given = _read_numbers(sensitivity=sensitivity, scale=scale, epsilon=epsilon)
    change, wide, wanted = given["sensitivity"], given["scale"], given["epsilon"]
    if change is not None and wide is not None and wanted is None:
        return measure_laplace(wide, sensitivity=change)
    if change is not None and wanted is not None and wide is None:
        return calibrate_laplace(wanted, sensitivity=change)
    raise WrongUsage("Give either --scale, to get epsilon, or --epsilon, to get the scale.")


def table(
    chances: str | Path | Mapping[str, Mapping[str, ExactNumber]],
    *,
    delta: ExactNumber | None = None,
    epsilon: ExactNumber | None = None,
    header: bool | None = None,
) -> TableLoss:
    r"""Return the epsilon of a mechanism by the chance of each output for each input.

    Args:
        chances: The chances by input and output, a CSV file, or the text of one: rows are inputs.
        delta: Also return the smallest epsilon at this delta.
        epsilon: Also return the smallest delta at this epsilon.
        header: Whether the first line of the CSV names the outputs; found by itself by default.

    >>> table({"yes": {"yes": "3/4", "no": "1/4"}, "no": {"yes": "1/4", "no": "3/4"}}).exact
    'ln 3'
    >>> table("3/4,1/4\n1/4,3/4\n").epsilon == table("3/4,1/4\n1/4,3/4\n", delta=0).profile[0].epsilon
    True
    """
    given = _read_numbers(delta=delta, epsilon=epsilon)
    if isinstance(chances, Mapping):
        found = _make_chances(chances)
    elif isinstance(chances, str) and "\n" in chances:
        found = parse_chances(chances, header=header)
    else:
        found = read_chances(Path(chances), header=header)
    return evaluate_table(found, delta=given["delta"], epsilon=given["epsilon"])


def compose(
    *mechanisms: ExactNumber,
    parallel: bool = False,
    bounded: bool = False,
    times: int = 1,
    delta: ExactNumber | None = None,
) -> Composition:
    """Return what several mechanisms cost together.

    Args:
        mechanisms: Epsilons, or texts: `"ln:3"`, `"laplace:SCALE:SENSITIVITY"`.
        parallel: Each looks at another part of the people.
        bounded: With `parallel`: neighbors differ in one value instead of one person.
        times: All of it is done so many times.
        delta: Compare ways to count at this delta, such as `"1e-6"`.

    >>> compose("0.1", "0.2", "laplace:10:1").exact
    '0.4'
    """
    parts = [read_mechanism(str(mechanism)) for mechanism in mechanisms]
    if not parallel:
        return compose_sequence(parts, times=times, delta=_read_numbers(delta=delta)["delta"])
    if delta is not None:
        raise WrongUsage("--delta compares ways to add up. Leave out --parallel.")
    return compose_parts(parts, neighbors="bounded" if bounded else "unbounded", times=times)


def distinguish(epsilon: ExactNumber) -> DistinguishingError:
    """Return how often the best guess between two neighbors must err.

    Args:
        epsilon: The epsilon of the mechanism.

    >>> round(distinguish(1).lowest_error, 5)
    0.26894
    """
    return bound_distinguishing(_read_number("epsilon", epsilon))


def group(epsilon: ExactNumber, *, size: int) -> GroupLoss:
    """Return the epsilon of a group of people, such as a family.

    Args:
        epsilon: The epsilon of one person.
        size: How many people.

    >>> group("0.1", size=10).epsilon
    1.0
    """
    return protect_group(_read_number("epsilon", epsilon), size=size)


def estimate(
    *,
    yes: int,
    of: int,
    heads: ExactNumber | None = None,
    second: ExactNumber | None = None,
    truth: ExactNumber | None = None,
    if_yes: ExactNumber | None = None,
    if_no: ExactNumber | None = None,
    confidence: ExactNumber = "0.95",
) -> ResponseEstimate:
    """Return how many people's truth is yes, from answers by coins.

    Args:
        yes: How many answered yes.
        of: How many answered.
        heads: The coins, as in `randomized_response`.
        second: The second coin.
        truth: The chance of reporting the truth.
        if_yes: The chance of saying yes if the truth is yes.
        if_no: The chance of saying yes if the truth is no.
        confidence: How sure the interval is.

    >>> found = estimate(yes=1500, of=5000, if_yes="0.6", if_no="0.2")
    >>> found.share, found.people
    (0.25, 1250.0)
    """
    coins = _read_numbers(heads=heads, second=second, truth=truth, if_yes=if_yes, if_no=if_no)
    sure = _read_number("confidence", confidence)
    return estimate_yes_share(_read_coins(coins), yes=yes, of=of, confidence=sure)


def sensitivity(
    statistic: Statistic,
    *,
    bounds: tuple[ExactNumber, ExactNumber] | None = None,
    n: int | None = None,
    neighbors: Neighbors = "unbounded",
    epsilon: ExactNumber | None = None,
) -> Sensitivity:
    """Return how far one person can move an answer, with the derivation in words.

    Args:
        statistic: `count`, `sum`, `mean`, `histogram` or `variance`.
        bounds: The smallest and largest possible value.
        n: The number of people, where it is public.
        neighbors: `bounded` where one value is changed, `unbounded` where one person is added or removed.
        epsilon: Also return the scale of Laplace noise for it.

    >>> sensitivity("mean", bounds=(0, 90000), n=100, neighbors="bounded").exact
    '900'
    """
    limits = None
    if bounds is not None:
        lower, upper = bounds
        limits = _read_number("bounds", lower), _read_number("bounds", upper)
    return derive_sensitivity(
        statistic,
        neighbors=neighbors,
        bounds=limits,
        n=n,
        epsilon=_read_numbers(epsilon=epsilon)["epsilon"],
    )


def _read_numbers(**given: ExactNumber | None) -> dict[str, Fraction | None]:
    return {
        name: None if value is None else _read_number(name, value) for name, value in given.items()
    }


def _read_number(name: str, value: ExactNumber) -> Fraction:
    """Return a number exactly; a float is the decimal that it is written as."""
    found = value if isinstance(value, Fraction) else parse_fraction(str(value))
    if found is None:
        raise WrongUsage(f"{name}: '{value}' is no number. Write one such as 0.25, 1/4 or 1e-6.")
    return found


def _make_chances(chances: Mapping[str, Mapping[str, ExactNumber]]) -> ChanceTable:
    """Return the table of chances; an output that an input does not list has chance 0 there."""
    outputs = tuple(dict.fromkeys(name for row in chances.values() for name in row))
    rows = tuple(
        tuple(_read_number(name, row.get(name, 0)) for name in outputs) for row in chances.values()
    )
    return ChanceTable(tuple(chances), outputs, rows)


def _read_coins(coins: Mapping[str, Fraction | None]) -> CoinChances:
    """Return the coins, which must be described in exactly one way."""
    heads, second, truth = coins["heads"], coins["second"], coins["truth"]
    if_yes, if_no = coins["if_yes"], coins["if_no"]
    ways: Sequence[bool] = (
        heads is not None,
        truth is not None,
        if_yes is not None or if_no is not None,
    )
    if sum(ways) == 1:
        if heads is not None:
            return two_coin_chances(heads, second=second)
        if second is None and truth is not None:
            return symmetric_coin_chances(truth)
        if second is None and if_yes is not None and if_no is not None:
            return CoinChances(if_yes, if_no)
    raise WrongUsage(
        "Describe the coins in one way: --heads (with --second if that coin differs), --truth, or "
        "both --if-yes and --if-no."
    )
