"""Fractions as whole numbers of small units: costs rounded up, limits rounded down."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from fractions import Fraction

from discreet.dp.accounting.conversion import rho_of_epsilon
from discreet.dp.budget import Budget, Price
from discreet.errors import InvalidBudget

# Spending stops here, so that the sum of two amounts never leaves 64 bits; no limit reaches it.
MOST = 2**62 - 1
PER_EPSILON = 10**12
PER_DELTA = 10**18
PER_RHO = 10**15


@dataclass(frozen=True)
class Units:
    """An amount in every currency; `MOST` stands for more than any budget."""

    epsilon: int
    delta: int
    rho: int
    slip: int

    def __add__(self, other: Units) -> Units:
        """Add up, no further than `MOST`."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Units(*(min(MOST, one + two) for one, two in pairs))

    def leaving(self, room: Units) -> Units:
        """Return these limits with so much less; a currency without a limit stays without one."""
        pairs = zip(astuple(self), astuple(room), strict=True)
        return Units(*(one if one == MOST else max(0, one - two) for one, two in pairs))


NOTHING = Units(0, 0, 0, 0)


def cost_in_units(price: Price) -> Units:
    """Return `price` rounded up; a currency that cannot pay costs more than any budget."""
    return Units(
        epsilon=_round_up(price.epsilon, PER_EPSILON),
        delta=_round_up(price.delta, PER_DELTA),
        rho=_round_up(price.rho, PER_RHO),
        slip=_round_up(price.slip, PER_DELTA),
    )


def limits_in_units(budget: Budget) -> Units:
    """Return what may be spent, rounded down; a currency that `budget` does not hold is free.

    Under zCDP, half of delta is for the conversion of rho to epsilon and half for slips.

    Raises:
        InvalidBudget: a parameter is outside its range.
    """
    if budget.epsilon <= 0:
        raise InvalidBudget("A budget needs an epsilon above 0. Give one, such as 1.")
    if not 0 <= budget.delta < 1:
        raise InvalidBudget("A budget's delta is a chance below 1. Give one, such as 1e-6.")
    if budget.accounting == "approximate":
        return Units(
            epsilon=_round_down(budget.epsilon, PER_EPSILON),
            delta=_round_down(budget.delta, PER_DELTA),
            rho=MOST,
            slip=MOST,
        )
    if not budget.delta:
        raise InvalidBudget("Accounting 'zcdp' needs a delta above 0. Give one, such as 1e-6.")
    half = budget.delta / 2
    return Units(
        epsilon=MOST,
        delta=MOST,
        rho=_round_down(rho_of_epsilon(budget.epsilon, delta=half), PER_RHO),
        slip=_round_down(half, PER_DELTA),
    )


def _round_up(amount: Fraction | None, per: int) -> int:
    if amount is None:
        return MOST
    if amount < 0:
        raise InvalidBudget("A price is negative. Give prices of 0 or more.")
    return min(MOST, math.ceil(amount * per))


def _round_down(amount: Fraction, per: int) -> int:
    units = math.floor(amount * per)
    if units >= MOST:
        raise InvalidBudget(
            f"A budget of epsilon {float(amount):.6g} is too large to keep count of, and protects "
            "no one. Give a smaller one."
        )
    return units
