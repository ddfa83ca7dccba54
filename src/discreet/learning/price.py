"""What a model or an estimate costs, and what its noisy looks are paid from."""

from __future__ import annotations

from fractions import Fraction

from discreet.dp.accounting import rho_of_epsilon
from discreet.dp.budget import Price
from discreet.dp.noise import Noise
from discreet.dp.spending import PureSpending, ZcdpSpending

_NONE = Fraction(0)


def price_spending(epsilon: Fraction, delta: Fraction) -> Price:
    """Return what the ledger is charged for all that `open_spending` lets be measured.

    Guarantee: what is measured is rho-zCDP in all, hence (epsilon, delta)-DP (Bun & Steinke 2016, Lemma
    3.5); without a delta it is epsilon-DP, hence epsilon²/2-zCDP (Proposition 3.3).

    >>> price_spending(Fraction(1), Fraction(0)).rho
    Fraction(1, 2)
    """
    if delta == 0:
        return Price(epsilon, _NONE, epsilon**2 / 2, _NONE)
    return Price(epsilon, delta, rho_of_epsilon(epsilon, delta=delta), _NONE)


def open_spending(
    epsilon: Fraction,
    delta: Fraction,
    *,
    sensitivity: int,
    one: int = 1,
    noise: Noise | None = None,
) -> ZcdpSpending:
    """Return what looks at counts are paid from, for the price of `price_spending`."""
    if delta == 0:
        return PureSpending(epsilon, sensitivity=sensitivity, one=one, noise=noise)
    rho = rho_of_epsilon(epsilon, delta=delta)
    return ZcdpSpending(rho, sensitivity=sensitivity, one=one, noise=noise)
