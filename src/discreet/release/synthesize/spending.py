"""What a synthesis spends: every look at the data is priced before it is taken."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.dp.mechanisms.gaussian import gaussian_noisy_vector
from discreet.dp.noise import Noise
from discreet.errors import InvalidBudget

_GRAIN = 2**48


class SynthesisBudget:
    """An amount of rho that noisy looks at counts are paid from, one after the other.

    Guarantee: what was returned is `rho`-zCDP in all, for a unit that changes every vector of counts
    by at most `sensitivity` in the L2 norm, where the later vectors may depend on the earlier results
    (Bun & Steinke 2016, Lemma 2.3).

    >>> from fractions import Fraction
    >>> allowance = SynthesisBudget(Fraction(1, 2), sensitivity=1)
    >>> len(allowance.measure([3, 4], Fraction(1, 4)))
    2
    >>> allowance.left
    Fraction(1, 4)
    """

    def __init__(self, rho: Fraction, *, sensitivity: int, noise: Noise | None = None) -> None:
        self._rho, self._sensitivity, self._noise = rho, sensitivity, noise
        self._spent = Fraction(0)

    @property
    def left(self) -> Fraction:
        """What can still be spent."""
        return self._rho - self._spent

    def scale(self, rho: Fraction, *, vectors: int = 1) -> float:
        """Return the standard error of a count that costs `rho`."""
        return math.sqrt(vectors * self._sensitivity**2 / (2 * rho))

    def measure(
        self, counts: Sequence[int] | NDArray[Any], rho: Fraction, *, vectors: int = 1
    ) -> NDArray[np.float64]:
        """Return counts with Gaussian noise that costs `rho`.

        Args:
            counts: Whole numbers.
            rho: The price.
            vectors: Of how many parts `counts` consists that one unit changes by the sensitivity each.

        Raises:
            InvalidBudget: Less is left.
        """
        if rho > self.left:
            raise InvalidBudget("A step of the synthesis costs more than is left of its budget.")
        squared = Fraction(vectors * self._sensitivity**2)
        noisy, _ = gaussian_noisy_vector(
            counts, rho=rho, squared_sensitivity=squared, noise=self._noise
        )
        self._spent += rho
        return np.asarray(noisy, float)


def divide_budget(amount: Fraction, weights: Sequence[float]) -> list[Fraction]:
    """Return shares of `amount` in proportion to `weights`, exact and never more than it in all.

    >>> from fractions import Fraction
    >>> divide_budget(Fraction(1), [1, 3])
    [Fraction(1, 4), Fraction(3, 4)]
    """
    exact = [Fraction(weight) for weight in weights]
    total = sum(exact)
    return [amount * Fraction(int(_GRAIN * weight / total), _GRAIN) for weight in exact]
