"""Conversions between privacy measures, each rounded to the safe side.

No float decides: floats only look for a good order alpha. Every alpha gives a true bound, and the
bound at the alpha that was found is computed in fractions with logarithms rounded to the safe side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from discreet.dp.accounting.exact import ceil_to, floor_to, root_above
from discreet.dp.event import Event, Group
from discreet.dp.logarithms import log_above
from discreet.errors import InvalidBudget

_PLACES = 15
_DIGITS_OF_LOGARITHMS = 30


@lru_cache(maxsize=4096)
def epsilon_of_rho(rho: Fraction, *, delta: Fraction) -> Fraction:
    """Return an epsilon such that every `rho`-zCDP mechanism is (epsilon, `delta`)-DP.

    Guarantee: the bound of Canonne, Kamath & Steinke 2020, Proposition 12 with the divergence
    `rho` × alpha, which is min over alpha > 1 of
    rho alpha + ln(1 / (alpha delta)) / (alpha - 1) + ln(1 - 1 / alpha), rounded up.

    >>> float(epsilon_of_rho(Fraction(1, 2), delta=Fraction(1, 10**6)))
    5.22153444453017
    """
    _check_delta(delta)
    if rho < 0:
        raise InvalidBudget("A rho is negative. Give a rho of 0 or more.")
    if rho == 0:
        return Fraction(0)
    size, floor = float(rho), -_float_log(delta)
    best = _find_best_excess(
        lambda excess: size * (1 + excess) + _overhead_float(excess, floor), floor
    )
    epsilon = rho * (1 + best) + _overhead_above(best, delta)
    return max(Fraction(0), ceil_to(epsilon, places=_PLACES))


@lru_cache(maxsize=4096)
def rho_of_epsilon(epsilon: Fraction, *, delta: Fraction) -> Fraction:
    """Return the largest rho, rounded down, such that rho-zCDP is (`epsilon`, `delta`)-DP.

    Guarantee: `epsilon_of_rho` of the result is at most `epsilon` in exact arithmetic.

    >>> rho = rho_of_epsilon(Fraction(1), delta=Fraction(1, 10**6))
    >>> float(rho), epsilon_of_rho(rho, delta=Fraction(1, 10**6)) <= 1
    (0.024355970359538, True)
    """
    _check_delta(delta)
    if epsilon < 0:
        raise InvalidBudget("An epsilon is negative. Give an epsilon of 0 or more.")
    size, floor = float(epsilon), -_float_log(delta)
    best = _find_best_excess(
        lambda excess: (_overhead_float(excess, floor) - size) / (1 + excess), floor
    )
    rho = (epsilon - _overhead_above(best, delta)) / (1 + best)
    return max(Fraction(0), floor_to(rho, places=_PLACES))


def gaussian_scale(
    squared_sensitivity: Fraction, *, epsilon: Fraction, delta: Fraction
) -> Fraction:
    """Return a scale of discrete Gaussian noise that is (`epsilon`, `delta`)-DP, rounded up.

    Guarantee: through zCDP (Canonne, Kamath & Steinke 2020, Theorem 14), so that it holds for
    vectors of integers of any length. The exact calibration of Balle & Wang 2018 asks for a few
    percent less noise, and is proven for continuous noise only.

    >>> float(gaussian_scale(Fraction(1), epsilon=Fraction(1), delta=Fraction(1, 10**6)))
    4.530877118
    """
    rho = rho_of_epsilon(epsilon, delta=delta)
    if not rho:
        raise InvalidBudget(
            "No Gaussian noise is large enough for this epsilon and delta. Give larger ones."
        )
    return gaussian_scale_of_rho(squared_sensitivity, rho=rho)


def gaussian_scale_of_rho(squared_sensitivity: Fraction, *, rho: Fraction) -> Fraction:
    """Return a scale of discrete Gaussian noise that is `rho`-zCDP, rounded up.

    >>> gaussian_scale_of_rho(Fraction(4), rho=Fraction(1, 2))
    Fraction(2, 1)
    """
    if rho <= 0:
        raise InvalidBudget("A rho must be above 0. Give a larger one.")
    return root_above(squared_sensitivity / (2 * rho), places=9)


def replacing_one(event: Event) -> Event:
    """Return the cost of `event` under bounded neighbours: one unit is replaced, not added or removed.

    Guarantee: replacing is removing and adding, so it is the event for a group of two: 2 epsilon,
    4 rho, (1 + e^epsilon) delta; the same as doubling the sensitivity. For `Parallel` it is twice
    the largest part too, since the unit may move from one part to another. There is no converse: a
    mechanism for bounded neighbours may release the exact number of units.

    >>> from discreet.dp.accounting import price
    >>> from discreet.dp.event import Pure
    >>> price(replacing_one(Pure(Fraction(1)))).epsilon
    Fraction(2, 1)
    """
    return Group(event, 2)


def _overhead_above(excess: Fraction, delta: Fraction) -> Fraction:
    """Return a bound on what an order of 1 + `excess` adds to rho × alpha."""
    alpha = 1 + excess
    first = log_above(1 / (alpha * delta), places=_DIGITS_OF_LOGARITHMS) / excess
    return first + log_above(excess / alpha, places=_DIGITS_OF_LOGARITHMS)


def _overhead_float(excess: float, minus_log_delta: float) -> float:
    return (minus_log_delta - math.log1p(excess)) / excess - math.log1p(1 / excess)


def _find_best_excess(cost: Callable[[float], float], minus_log_delta: float) -> Fraction:
    """Return an `excess` of alpha over 1 where `cost` is small: a grid, then golden sections."""
    # The best order lies within these for every rho from 1e-15 to 1e6; beyond, it is only less tight.
    low, high = -18.0, min(24.0 + minus_log_delta, 600.0)
    count = 96
    step = (high - low) / count
    at = min(range(count + 1), key=lambda index: cost(math.exp(low + index * step)))
    low, high = low + (at - 1) * step, low + (at + 1) * step
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(48):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if cost(math.exp(left)) <= cost(math.exp(right)):
            high = right
        else:
            low = left
    return Fraction(math.exp((low + high) / 2))


def _float_log(value: Fraction) -> float:
    """Return about ln `value`, also where `value` is too small for a float."""
    return math.log(value.numerator) - math.log(value.denominator)


def _check_delta(delta: Fraction) -> None:
    if not 0 < delta < 1:
        raise InvalidBudget(
            "zCDP becomes an epsilon only with a delta above 0 and below 1, such as 1e-6. Give one."
        )
