"""Budgets and prices in exact fractions, never floats."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Accounting = Literal["approximate", "zcdp"]


@dataclass(frozen=True)
class Price:
    """What an event costs in each currency; a currency that cannot pay for it is None.

    `epsilon` and `delta` are for (epsilon, delta)-DP by adding up; `rho` and `slip` are for zCDP,
    with `slip` the chance that zCDP does not cover.
    """

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None
    slip: Fraction

    def __add__(self, other: Price) -> Price:
        """Return what both cost; a currency that cannot pay for one cannot pay for both."""
        return Price(
            _add(self.epsilon, other.epsilon),
            self.delta + other.delta,
            _add(self.rho, other.rho),
            self.slip + other.slip,
        )


def _add(one: Fraction | None, two: Fraction | None) -> Fraction | None:
    return None if one is None or two is None else one + two


@dataclass(frozen=True)
class Budget:
    """The total budget: (`epsilon`, `delta`)-DP, enforced by adding up or by a zCDP filter."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    accounting: Accounting = "approximate"
