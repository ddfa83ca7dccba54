"""Epsilon as an adversary's error: how often the best guess between two neighbors must err."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.dp.calculate.loss import Loss, format_fraction, nearest_float
from discreet.errors import InvalidMechanism
from discreet.result import Result


@dataclass(frozen=True)
class DistinguishingError(Result):
    """The error of an adversary who guesses, with even odds, which of two neighbors gave an output.

    No guess errs less than `lowest_error`; tossing a coin errs `highest_error`. The former may be
    smaller than any float, so that its decimal logarithm is given as well.
    """

    epsilon: float
    lowest_error: float
    highest_error: float
    log10_lowest_error: float
    ratio: float
    why: str


@dataclass(frozen=True)
class GroupLoss(Result):
    """The privacy loss of `size` people together."""

    epsilon: float
    exact: str
    size: int
    epsilon_of_one: float
    lowest_error: float
    lowest_error_of_one: float
    why: str


def bound_distinguishing(epsilon: Fraction) -> DistinguishingError:
    """Return the range of errors of an adversary who faces an epsilon-DP mechanism.

    An adversary who guesses from the output which of two neighbors it came from errs with a
    chance of at least 1 / (1 + e^epsilon) (Wasserman & Zhou 2010; Kairouz, Oh & Viswanath 2015).

    >>> from fractions import Fraction
    >>> round(bound_distinguishing(Fraction(1)).lowest_error, 5)
    0.26894
    >>> round(bound_distinguishing(Fraction(100000)).log10_lowest_error, 3)
    -43429.448
    """
    _require_loss(epsilon)
    value = nearest_float(epsilon)
    words = describe_lowest_error(value)
    return DistinguishingError(
        epsilon=value,
        lowest_error=lowest_error(value),
        highest_error=0.5,
        log10_lowest_error=log10_lowest_error(value),
        ratio=math.exp(value) if value < 709 else math.inf,
        why=(
            f"A guess which of two neighbors an output came from is wrong with a chance of "
            f"1/(1 + e^{format_fraction(epsilon)}) = {words} at least, and of 1/2 by guessing blindly."
        ),
    )


def protect_group(epsilon: Fraction, *, size: int) -> GroupLoss:
    """Return what an epsilon-DP mechanism guarantees to `size` people together.

    Guarantee: size * epsilon (group privacy; Dwork & Roth 2014, theorem 2.2).

    >>> from fractions import Fraction
    >>> protect_group(Fraction(1, 10), size=10).epsilon
    1.0
    """
    _require_loss(epsilon)
    if size < 1:
        raise InvalidMechanism("A group has at least one person.")
    loss, one = Loss(epsilon * size), nearest_float(epsilon)
    return GroupLoss(
        epsilon=loss.value,
        exact=loss.words,
        size=size,
        epsilon_of_one=one,
        lowest_error=lowest_error(loss.value),
        lowest_error_of_one=lowest_error(one),
        why=(
            f"From one table to another that differs in {size} people there are {size} steps between "
            f"neighbors, each of which changes a chance by e^{format_fraction(epsilon)} at most."
        ),
    )


def lowest_error(epsilon: float) -> float:
    """Return 1 / (1 + e^epsilon); 0 where that is smaller than any float."""
    # e^-epsilon underflows to 0 where e^epsilon would overflow and raise.
    shrunk = math.exp(-epsilon)
    return shrunk / (1 + shrunk)


def log10_lowest_error(epsilon: float) -> float:
    """Return the decimal logarithm of 1 / (1 + e^epsilon), for any epsilon."""
    return -(epsilon + math.log1p(math.exp(-epsilon))) / math.log(10)


def describe_lowest_error(epsilon: float) -> str:
    """Return the lowest error as text, as a power of ten where no float is so small."""
    error = lowest_error(epsilon)
    if error > 1e-300 or math.isinf(epsilon):
        return f"{error:.5g}"
    return f"10^{log10_lowest_error(epsilon):.3f}"


def _require_loss(epsilon: Fraction) -> None:
    if epsilon < 0:
        raise InvalidMechanism("An epsilon is not negative.")
