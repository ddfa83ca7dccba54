"""Randomized response with any coin: its privacy loss, and estimates from many answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.dp.calculate.distinguish import lowest_error
from discreet.dp.calculate.loss import Loss, format_fraction, nearest_float
from discreet.dp.calculate.table import ChanceTable, evaluate_table, largest_ratio
from discreet.errors import InvalidMechanism
from discreet.result import Result


@dataclass(frozen=True)
class CoinChances:
    """The chance of answering yes: `if_yes` if the truth is yes, `if_no` otherwise."""

    if_yes: Fraction
    if_no: Fraction

    def __post_init__(self) -> None:
        _require_chance(self.if_yes, "of saying yes")
        _require_chance(self.if_no, "of saying yes")

    @property
    def chances(self) -> ChanceTable:
        """The coins as a table of chances."""
        rows = ((self.if_yes, 1 - self.if_yes), (self.if_no, 1 - self.if_no))
        return ChanceTable(("yes", "no"), ("yes", "no"), rows)


@dataclass(frozen=True)
class RandomizedResponse(Result):
    """The privacy loss of one answer; `chances[truth][answer]`."""

    epsilon: float
    exact: str
    chances: dict[str, dict[str, float]]
    values: int
    lowest_error: float
    why: str


@dataclass(frozen=True)
class ResponseEstimate(Result):
    """The estimate from noisy answers: the share and number of people whose truth is yes."""

    epsilon: float
    exact: str
    yes: int
    of: int
    share: float
    people: float
    standard_error: float
    confidence: float
    lower: float
    upper: float
    people_lower: float
    people_upper: float
    why: str


def two_coin_chances(heads: Fraction, *, second: Fraction | None = None) -> CoinChances:
    """Return the two coins of the classic scheme, each with chance `heads`.

    The first coin's tails asks for the truth; after heads the second coin answers, heads for yes
    (Dwork & Roth 2014, section 3.2).

    Args:
        heads: The chance that the first coin shows heads, and the truth is not reported.
        second: The chance that the second coin shows heads; that of the first when not given.

    >>> two_coin_chances(Fraction(1, 2))
    CoinChances(if_yes=Fraction(3, 4), if_no=Fraction(1, 4))
    """
    _require_chance(heads, "of heads")
    answer = heads if second is None else second
    _require_chance(answer, "of the second coin's heads")
    return CoinChances(1 - heads + heads * answer, heads * answer)


def symmetric_coin_chances(truth: Fraction) -> CoinChances:
    """Return coins that report the truth with chance `truth`, else its opposite (Warner 1965)."""
    _require_chance(truth, "of reporting the truth")
    return CoinChances(truth, 1 - truth)


def evaluate_response(coins: CoinChances) -> RandomizedResponse:
    """Return the privacy loss of one answer by `coins`.

    Guarantee: epsilon is the largest logarithm of a ratio of chances, for yes and for no.

    >>> evaluate_response(two_coin_chances(Fraction(2, 5))).exact
    'ln 4.75'
    """
    found = evaluate_table(coins.chances)
    rows = zip(coins.chances.inputs, coins.chances.rows, strict=True)
    return RandomizedResponse(
        epsilon=found.epsilon,
        exact=found.exact,
        chances={
            truth: dict(zip(("yes", "no"), map(float, row), strict=True)) for truth, row in rows
        },
        values=2,
        lowest_error=lowest_error(found.epsilon),
        why=found.why,
    )


def evaluate_k_ary_response(truth: Fraction, *, values: int) -> RandomizedResponse:
    """Return the privacy loss of an answer that is true with chance `truth`, else any other value.

    Guarantee: |ln(p (n - 1) / (1 - p))| (generalized randomized response; Kairouz et al. 2014).

    >>> evaluate_k_ary_response(Fraction(1, 2), values=3).exact
    'ln 2'
    """
    _require_chance(truth, "of reporting the truth")
    if values < 2:
        raise InvalidMechanism(
            "There must be at least two values: one value carries no information."
        )
    other = (1 - truth) / (values - 1)
    high, low = max(truth, other), min(truth, other)
    loss = Loss.of_ratio(high / low if low else None)
    return RandomizedResponse(
        epsilon=loss.value,
        exact=loss.words,
        chances={"a value": {"itself": float(truth), "each other": float(other)}},
        values=values,
        lowest_error=lowest_error(loss.value),
        why=(
            f"A value is reported with chance {format_fraction(truth)} by people who have it and with chance "
            f"{format_fraction(other)} by people with another: epsilon is the logarithm of their ratio."
        ),
    )


def estimate_yes_share(
    coins: CoinChances, *, yes: int, of: int, confidence: Fraction = Fraction(19, 20)
) -> ResponseEstimate:
    """Return how many people's truth is yes, when `yes` of `of` answered yes by `coins`.

    The share of yes answers is if_no + share * (if_yes - if_no) in the mean, which is solved for
    the share: unbiased, so that it may lie outside 0 to 1. The interval is that of Clopper &
    Pearson (1934) for the share of yes answers, brought over and cut to what is possible.

    >>> found = estimate_yes_share(CoinChances(Fraction(3, 5), Fraction(1, 5)), yes=1500, of=5000)
    >>> found.share, found.people
    (0.25, 1250.0)
    """
    if of < 1 or not 0 <= yes <= of:
        raise InvalidMechanism(f"{yes} of {of} people cannot have answered yes.")
    if not 0 < confidence < 1:
        raise InvalidMechanism("A confidence is a number between 0 and 1, such as 0.95.")
    slope = coins.if_yes - coins.if_no
    if not slope:
        raise InvalidMechanism(
            "Yes has the same chance whatever the truth: the answers carry no information."
        )
    share = (Fraction(yes, of) - coins.if_no) / slope
    answered = nearest_float(Fraction(yes, of))
    error = math.sqrt(answered * (1 - answered) / of) / abs(float(slope))
    bounds = [
        (bound - float(coins.if_no)) / float(slope)
        for bound in _clopper_pearson(yes, of, confidence=float(confidence))
    ]
    lower, upper = (min(1.0, max(0.0, bound)) for bound in sorted(bounds))
    ratio, _ = largest_ratio(coins.chances)
    loss = Loss.of_ratio(ratio)
    return ResponseEstimate(
        epsilon=loss.value,
        exact=loss.words,
        yes=yes,
        of=of,
        share=float(share),
        people=float(share * of),
        standard_error=error,
        confidence=float(confidence),
        lower=lower,
        upper=upper,
        people_lower=lower * of,
        people_upper=upper * of,
        why=(
            f"{format_fraction(Fraction(yes, of))} of the answers are yes. With a share s of true yes that is "
            f"{format_fraction(coins.if_yes)} s + {format_fraction(coins.if_no)} (1 - s) in the mean, so that "
            f"s = ({format_fraction(Fraction(yes, of))} - {format_fraction(coins.if_no)}) / {format_fraction(slope)} = "
            f"{format_fraction(share)}."
        ),
    )


def _clopper_pearson(yes: int, of: int, *, confidence: float) -> tuple[float, float]:
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    lower = float(betaincinv(yes, of - yes + 1, tail)) if yes else 0.0
    upper = float(betaincinv(yes + 1, of - yes, 1 - tail)) if yes < of else 1.0
    return lower, upper


def _require_chance(chance: Fraction, what: str) -> None:
    if not 0 <= chance <= 1:
        raise InvalidMechanism(f"The chance {what} is a number from 0 to 1.")
