"""What a synthesis spends: every look at the data is priced before it is taken."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.dp.mechanisms.choice import exponential_mechanism, permute_and_flip
from discreet.dp.mechanisms.gaussian import gaussian_noisy_vector
from discreet.dp.mechanisms.laplace import laplace_noisy_vector
from discreet.dp.noise import Noise
from discreet.errors import InvalidBudget

_GRAIN = 2**48


class SynthesisBudget:
    """An amount of rho that noisy looks at counts are paid from, one after the other.

    Guarantee: what was returned is rho-zCDP in all, with `amount` as rho, for a unit that changes every
    vector of counts by at most `sensitivity` in the L2 norm and every gain of a choice by at most as much,
    where later vectors and gains may depend on earlier results (Bun & Steinke 2016, Lemma 2.3).

    Args:
        amount: What may be spent.
        sensitivity: What one unit changes, in counted units.
        noise: Where noise comes from; only tests say so.
        one: How many counted units a whole row has, where rows are weighted in whole numbers.

    Attributes:
        power: A vector of so many counts gets a share of the budget in proportion to their number
            to this power, which makes the sum of all standard errors least.

    >>> from fractions import Fraction
    >>> allowance = SynthesisBudget(Fraction(1, 2), sensitivity=1)
    >>> len(allowance.measure([3, 4], Fraction(1, 4)))
    2
    >>> allowance.left
    Fraction(1, 4)
    """

    power = 2 / 3

    def __init__(
        self, amount: Fraction, *, sensitivity: int, noise: Noise | None = None, one: int = 1
    ) -> None:
        self._amount, self._sensitivity, self._noise = amount, sensitivity, noise
        self.one = one
        self._spent = Fraction(0)

    @property
    def left(self) -> Fraction:
        """What can still be spent."""
        return self._amount - self._spent

    def scale(self, price: Fraction) -> float:
        """Return the standard error, in rows, of a count that costs `price`."""
        return math.sqrt(self._sensitivity**2 / (2 * price)) / self.one

    def measure(self, counts: Sequence[int] | NDArray[Any], price: Fraction) -> NDArray[np.float64]:
        """Return counts, as numbers of rows, with noise that costs `price`.

        Args:
            counts: Whole numbers of counted units.
            price: The price, as a part of the amount.

        Raises:
            InvalidBudget: Less is left.
        """
        self._require(price)
        noisy = self._add_noise(counts, price)
        self._spent += price
        return np.asarray(noisy, float) / self.one

    def choose(self, gains: Sequence[int], price: Fraction) -> int:
        """Return the place of a high gain, chosen for `price`.

        Args:
            gains: Whole numbers of counted units.
            price: The price, as a part of the amount.

        Raises:
            InvalidBudget: Less is left.
        """
        self._require(price)
        place = self._choose_place(gains, price)
        self._spent += price
        return place

    def _choose_place(self, gains: Sequence[int], price: Fraction) -> int:
        """Return a place by the exponential mechanism, which costs epsilon²/8 of rho (Dong, Durfee & Rogers 2020)."""
        epsilon = Fraction(math.isqrt(int(8 * price * _GRAIN**2)), _GRAIN)
        place, _ = exponential_mechanism(
            gains, epsilon=epsilon, sensitivity=self._sensitivity, noise=self._noise
        )
        return place

    def _add_noise(self, counts: Sequence[int] | NDArray[Any], price: Fraction) -> NDArray[Any]:
        squared = Fraction(self._sensitivity**2)
        noisy, _ = gaussian_noisy_vector(
            counts, rho=price, squared_sensitivity=squared, noise=self._noise
        )
        return noisy

    def _require(self, price: Fraction) -> None:
        if price > self.left:
            raise InvalidBudget("A step of the synthesis costs more than is left of its budget.")


class PureSynthesisBudget(SynthesisBudget):
    """An amount of epsilon, without delta, that looks at counts and choices are paid from.

    Guarantee: what was returned is epsilon-DP in all, with `amount` as epsilon, for a unit that changes every vector of counts
    by at most `sensitivity` in the L1 norm and every gain of a choice by at most as much, where the
    later vectors and gains may depend on the earlier results (Dwork & Roth 2014, theorem 3.16).

    >>> from fractions import Fraction
    >>> allowance = PureSynthesisBudget(Fraction(1), sensitivity=1)
    >>> allowance.choose([0, 900, 3], Fraction(1, 2)), allowance.left
    (1, Fraction(1, 2))
    """

    power = 1 / 2

    def scale(self, price: Fraction) -> float:
        """Return the standard error, in rows, of a count that costs `price`."""
        return math.sqrt(2) * float(self._sensitivity / price) / self.one

    def _choose_place(self, gains: Sequence[int], price: Fraction) -> int:
        place, _ = permute_and_flip(
            gains, epsilon=price, sensitivity=self._sensitivity, noise=self._noise
        )
        return place

    def _add_noise(self, counts: Sequence[int] | NDArray[Any], price: Fraction) -> NDArray[Any]:
        noisy, _ = laplace_noisy_vector(
            counts, epsilon=price, sensitivity=self._sensitivity, noise=self._noise
        )
        return noisy


def divide_budget(amount: Fraction, weights: Sequence[float]) -> list[Fraction]:
    """Return shares of `amount` in proportion to `weights`, exact and never more than it in all.

    >>> from fractions import Fraction
    >>> divide_budget(Fraction(1), [1, 3])
    [Fraction(1, 4), Fraction(3, 4)]
    """
    exact = [Fraction(weight) for weight in weights]
    total = sum(exact)
    return [amount * Fraction(int(_GRAIN * weight / total), _GRAIN) for weight in exact]
