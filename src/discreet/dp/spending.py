"""What a mechanism of several steps spends: every look at the data is priced before it is taken."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class RowChange:
    """How much one row that counts once changes a vector of whole numbers.

    Attributes:
        l1: The most that the absolute changes add up to.
        squared_l2: The most that their squares add up to.
    """

    l1: int = 1
    squared_l2: int = 1


ONE_CELL = RowChange()  # a row is in one cell of a marginal


class ZcdpSpending:
    """An amount of rho that noisy looks at counts are paid from, one after the other.

    Guarantee: what was returned is rho-zCDP in all, with `amount` as rho, for a unit whose rows count at most
    `sensitivity` in all, if one row changes a vector by at most the `change` it is measured with, and a gain
    by at most the `change` of the choice. Later vectors and gains may depend on earlier results
    (Bun & Steinke 2016, Lemma 2.3).

    Args:
        amount: What may be spent.
        sensitivity: How much the rows of one unit count in all, in counted units.
        noise: Where noise comes from; only tests say so.
        one: How many counted units a whole row has, where rows are weighted in whole numbers.

    Attributes:
        power: A vector of so many counts gets a share of the budget in proportion to their number
            to this power, which makes the sum of all standard errors least.

    >>> from fractions import Fraction
    >>> allowance = ZcdpSpending(Fraction(1, 2), sensitivity=1)
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

    def scale(self, price: Fraction, *, change: RowChange = ONE_CELL) -> float:
        """Return the standard error, in rows, of a count that costs `price`."""
        return math.sqrt(self._sensitivity**2 * change.squared_l2 / (2 * price)) / self.one

    def measure(
        self,
        counts: Sequence[int] | NDArray[Any],
        price: Fraction,
        *,
        change: RowChange = ONE_CELL,
    ) -> NDArray[np.float64]:
        """Return counts, as numbers of rows, with noise that costs `price`.

        Args:
            counts: Whole numbers of counted units: a marginal, or any sum over rows.
            price: The price, as a part of the amount.
            change: How much a row changes them.

        Raises:
            InvalidBudget: Less is left.
        """
        self._require(price)
        noisy = self._add_noise(counts, price, change)
        self._spent += price
        return np.asarray(noisy, float) / self.one

    def choose(self, gains: Sequence[int], price: Fraction, *, change: int = 1) -> int:
        """Return the place of a high gain, chosen for `price`.

        Args:
            gains: Whole numbers of counted units.
            price: The price, as a part of the amount.
            change: How much a row changes a gain, but for a shift of all gains alike: a choice depends on
                differences of gains only.

        Raises:
            InvalidBudget: Less is left.
        """
        return self._choose_places([gains], price, change)[0]

    def choose_each(
        self, gains: Sequence[Sequence[int]], price: Fraction, *, change: int = 1
    ) -> list[int]:
        """Return the place of a high gain in each of several lists, for `price` in all.

        Each list must be of rows of its own, so that no row changes two of them. Then a unit whose rows change
        the gains of list j by at most c_j rows' worth, with the sum of all c_j at most the sensitivity, costs
        c_j parts of the price for list j, and no more than the price in all (Dwork & Roth 2014, theorem 3.16;
        for rho the parts are squares, whose sum is smaller).

        Args:
            gains: Lists of whole numbers of counted units.
            price: The price, as a part of the amount.
            change: How much a row changes a gain, as in `choose`.

        Raises:
            InvalidBudget: Less is left.
        """
        return self._choose_places(gains, price, change)

    def _choose_places(
        self, gains: Sequence[Sequence[int]], price: Fraction, change: int
    ) -> list[int]:
        self._require(price)
        places = [self._choose_place(some, price, change) for some in gains]
        self._spent += price
        return places

    def _choose_place(self, gains: Sequence[int], price: Fraction, change: int) -> int:
        """Return a place by the exponential mechanism, which costs epsilon²/8 of rho (Dong, Durfee & Rogers 2020)."""
        epsilon = Fraction(math.isqrt(int(8 * price * _GRAIN**2)), _GRAIN)
        place, _ = exponential_mechanism(
            gains, epsilon=epsilon, sensitivity=self._sensitivity * change, noise=self._noise
        )
        return place

    def _add_noise(
        self, counts: Sequence[int] | NDArray[Any], price: Fraction, change: RowChange
    ) -> NDArray[Any]:
        squared = Fraction(self._sensitivity**2 * change.squared_l2)
        noisy, _ = gaussian_noisy_vector(
            counts, rho=price, squared_sensitivity=squared, noise=self._noise
        )
        return noisy

    def _require(self, price: Fraction) -> None:
        if price > self.left:
            raise InvalidBudget("A step costs more than is left of its budget.")


class PureSpending(ZcdpSpending):
    """An amount of epsilon, without delta, that looks at counts and choices are paid from.

    Guarantee: what was returned is epsilon-DP in all, with `amount` as epsilon, for a unit whose rows
    count at most `sensitivity` in all, if one row changes vectors and gains by at most the `change` they are
    measured with. Later ones may depend on earlier results (Dwork & Roth 2014, theorem 3.16).

    >>> from fractions import Fraction
    >>> allowance = PureSpending(Fraction(1), sensitivity=1)
    >>> allowance.choose([0, 900, 3], Fraction(1, 2)), allowance.left
    (1, Fraction(1, 2))
    """

    power = 1 / 2

    def scale(self, price: Fraction, *, change: RowChange = ONE_CELL) -> float:
        """Return the standard error, in rows, of a count that costs `price`."""
        return math.sqrt(2) * float(self._sensitivity * change.l1 / price) / self.one

    def _choose_place(self, gains: Sequence[int], price: Fraction, change: int) -> int:
        place, _ = permute_and_flip(
            gains, epsilon=price, sensitivity=self._sensitivity * change, noise=self._noise
        )
        return place

    def _add_noise(
        self, counts: Sequence[int] | NDArray[Any], price: Fraction, change: RowChange
    ) -> NDArray[Any]:
        noisy, _ = laplace_noisy_vector(
            counts, epsilon=price, sensitivity=self._sensitivity * change.l1, noise=self._noise
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
