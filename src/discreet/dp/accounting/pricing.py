"""The price of an event in every currency, in exact fractions that are never too small."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from discreet.dp.budget import Price
from discreet.dp.event import (
    Approximate,
    Choice,
    Event,
    Gaussian,
    Group,
    Laplace,
    Parallel,
    Pure,
    Sequence,
    Slip,
)
from discreet.dp.logarithms import exp_above
from discreet.errors import InvalidMechanism

_ZERO = Fraction(0)
_FREE = Price(_ZERO, _ZERO, _ZERO, _ZERO)
# Beyond e^700 every delta above 0 becomes 1.
_STEEPEST = 700


def price(event: Event) -> Price:
    """Return what `event` costs.

    Guarantee: a mechanism with this `event` is (`epsilon`, `delta`)-DP, and it is
    `rho`-zCDP but for a chance of `slip`, unless that currency is None. Sums hold for questions
    chosen adaptively (Dwork, Rothblum & Vadhan 2010; Bun & Steinke 2016, Lemma 2.3 and section 8),
    as the limits of a filter (Whitehouse, Ramdas, Rogers & Wu 2023, Theorem 1).

    Raises:
        InvalidMechanism: a parameter is outside its range, such as a scale of 0.

    >>> price(Laplace(sensitivity=Fraction(1), scale=Fraction(10)))
    Price(epsilon=Fraction(1, 10), delta=Fraction(0, 1), rho=Fraction(1, 200), slip=Fraction(0, 1))
    """
    match event:
        case Laplace():
            return _price_pure(_noise_ratio(event.sensitivity, event.scale))
        case Gaussian():
            rho = _noise_ratio(event.squared_sensitivity, event.scale) / (2 * event.scale)
            return Price(None if rho else _ZERO, _ZERO, rho, _ZERO)
        case Choice():
            return _price_choice(event)
        case Pure():
            return _price_pure(event.epsilon)
        case Slip() | Approximate():
            return _price_approximate(event)
        case Sequence():
            return add_prices(price(part) for part in event.events)
        case Parallel():
            return _largest_price([price(part) for part in event.events])
        case Group():
            return _price_group(event)


def add_prices(prices: Iterable[Price]) -> Price:
    """Return the price of all of `prices` together; a currency that one of them lacks is None."""
    listed = list(prices)
    return Price(
        epsilon=_sum_amounts([each.epsilon for each in listed]),
        delta=sum((each.delta for each in listed), _ZERO),
        rho=_sum_amounts([each.rho for each in listed]),
        slip=sum((each.slip for each in listed), _ZERO),
    )


def group_factor(epsilon: Fraction, *, size: int) -> Fraction:
    """Return a bound on 1 + e^epsilon + … + e^((size - 1) epsilon).

    A mechanism that is (epsilon, delta)-DP for one unit is (size × epsilon, factor × delta)-DP for
    `size` units (Vadhan 2017, Lemma 2.2).

    >>> group_factor(Fraction(0), size=3)
    Fraction(3, 1)
    >>> float(group_factor(Fraction(1), size=2))
    3.718281828459045
    """
    step = exp_above(epsilon)
    if size > 64:  # the sum is long, and its largest term times their number is not
        return size * exp_above(epsilon * (size - 1))
    return sum((step**power for power in range(size)), _ZERO)


def _price_pure(epsilon: Fraction) -> Price:
    _check(epsilon >= 0, "an epsilon is negative")
    # Bun & Steinke 2016, Proposition 1.4.
    return Price(epsilon, _ZERO, epsilon**2 / 2, _ZERO)


def _price_choice(event: Choice) -> Price:
    pure = _price_pure(event.epsilon)
    if not event.is_exponential:
        return pure
    # The exponential mechanism has bounded range: Cesar & Rogers 2021, Lemma 3.2.
    return Price(pure.epsilon, _ZERO, event.epsilon**2 / 8, _ZERO)


def _price_approximate(event: Slip | Approximate) -> Price:
    _check(0 <= event.delta <= 1, "a delta is no chance")
    if isinstance(event, Slip):
        return Price(_ZERO, event.delta, _ZERO, event.delta)
    _check(event.epsilon >= 0, "an epsilon is negative")
    return Price(event.epsilon, event.delta, None, event.delta)


def _largest_price(prices: list[Price]) -> Price:
    if not prices:
        return _FREE
    return Price(
        epsilon=_largest_amount([each.epsilon for each in prices]),
        delta=max(each.delta for each in prices),
        rho=_largest_amount([each.rho for each in prices]),
        slip=max(each.slip for each in prices),
    )


def _price_group(event: Group) -> Price:
    _check(event.size >= 1, "a group has no members")
    one = price(event.event)
    size = event.size
    if size == 1:
        return one
    epsilon = None if one.epsilon is None else one.epsilon * size
    delta = _group_delta(one, size)
    # Bun & Steinke 2016, Proposition 1.9. With a slip, the events that are left out for two pairs of
    # neighbours need not agree on the table between them, so nothing is claimed.
    rho = None if one.rho is None or one.slip else one.rho * size**2
    return Price(epsilon, delta, rho, delta if one.slip else _ZERO)


def _group_delta(one: Price, size: int) -> Fraction:
    if not one.delta:
        return _ZERO
    if one.epsilon is None or one.epsilon * (size - 1) > _STEEPEST:
        return Fraction(1)
    return min(Fraction(1), one.delta * group_factor(one.epsilon, size=size))


def _noise_ratio(sensitivity: Fraction, scale: Fraction) -> Fraction:
    _check(sensitivity >= 0, "a sensitivity is negative")
    _check(scale > 0, "the scale of noise is not positive")
    return sensitivity / scale


def _sum_amounts(amounts: list[Fraction | None]) -> Fraction | None:
    total = _ZERO
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total


def _largest_amount(amounts: list[Fraction | None]) -> Fraction | None:
    known = [amount for amount in amounts if amount is not None]
    return max(known) if len(known) == len(amounts) else None


def _check(holds: bool, fault: str) -> None:
    if not holds:
        raise InvalidMechanism(f"This event has no price: {fault}. Give parameters within range.")
