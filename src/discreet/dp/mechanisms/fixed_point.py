"""Numbers as integer steps of a public granularity: exact, within bounds, without NaN."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidMechanism, NoBounds

Number = int | float | Decimal | Fraction | None

_EXTREME = 10**300


@dataclass(frozen=True)
class FixedPoint:
    """Numbers from `lower` to `upper` in steps of `granularity`, all three public.

    Guarantee: each value becomes one integer, by a rule that looks at no other value; the integer is
    from `least` to `most`, so that the sum of a unit's values changes by at most `largest` for each of
    them. Sums of integers are the same in any order (against Casacuberta et al. 2022).
    """

    lower: Fraction
    upper: Fraction
    granularity: Fraction

    def __post_init__(self) -> None:
        if not Fraction(1, _EXTREME) <= self.granularity <= _EXTREME:
            raise InvalidMechanism("A granularity is above 0 and below 10^300, such as 1/100.")
        if self.least > self.most:
            raise NoBounds("No multiple of the granularity is between the bounds. Widen them.")
        if max(abs(self.least), abs(self.most)) >= 1 << 62:
            raise NoBounds("The bounds are 2^62 steps or more apart. Use a coarser granularity.")

    @property
    def least(self) -> int:
        """The smallest number of steps."""
        return math.ceil(self.lower / self.granularity)

    @property
    def most(self) -> int:
        """The largest number of steps."""
        return math.floor(self.upper / self.granularity)

    @property
    def largest(self) -> int:
        """The largest distance from 0, in steps: the sensitivity of a sum to adding one value."""
        return max(abs(self.least), abs(self.most))

    @property
    def neutral(self) -> int:
        """The number of steps nearest to 0; it stands for what is missing and for NaN."""
        return min(max(0, self.least), self.most)

    def to_steps(self, values: Iterable[Number] | NDArray[Any]) -> NDArray[np.int64]:
        """Return each value as steps: rounded half to even, then clamped; infinities are clamped too.

        >>> cents = FixedPoint(Fraction(0), Fraction(10), Fraction(1, 100))
        >>> cents.to_steps([Decimal("1.255"), 99, -math.inf, math.nan, None]).tolist()
        [126, 1000, 0, 0, 0]
        """
        if isinstance(values, np.ndarray) and np.issubdtype(values.dtype, np.floating):
            if self._is_binary:
                return self._from_floats(values.astype(np.float64))
            values = values.tolist()
        return np.array([self._to_step(value) for value in values], np.int64)

    def from_steps(self, steps: int | Fraction) -> Fraction:
        """Return the number that so many steps are.

        >>> FixedPoint(Fraction(0), Fraction(10), Fraction(1, 100)).from_steps(126)
        Fraction(63, 50)
        """
        return Fraction(steps) * self.granularity

    @property
    def _is_binary(self) -> bool:
        """Whether dividing a float by the granularity is exact, and stays within floats."""
        top, bottom = self.granularity.numerator, self.granularity.denominator
        is_power = top & (top - 1) == 0 and bottom & (bottom - 1) == 0
        return is_power and max(top, bottom) <= 1 << 64 and self.largest < 1 << 52

    def _from_floats(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        # Clamping to a float within half a step of the bounds comes first: then scaling by a power
        # of 2 cannot overflow, and `least` and `most` hold what rounding leaves.
        near = np.where(np.isnan(values), 0.0, values)
        near = np.clip(near, float(self.from_steps(self.least)), float(self.from_steps(self.most)))
        steps = np.rint(near / float(self.granularity)).astype(np.int64)
        return np.where(np.isnan(values), self.neutral, np.clip(steps, self.least, self.most))

    def _to_step(self, value: Number) -> int:
        if isinstance(value, Decimal):
            value = _limit_exponent(value)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return self.neutral
        if isinstance(value, float) and math.isinf(value):
            return self.most if value > 0 else self.least
        return min(max(round(Fraction(value) / self.granularity), self.least), self.most)


def _limit_exponent(value: Decimal) -> Number:
    """Return a number as near as matters here: an exponent of millions would take all memory."""
    if value.is_nan():
        return None
    if value.is_infinite() or (value and value.adjusted() > 400):
        return -math.inf if value.is_signed() else math.inf
    return value if value and value.adjusted() >= -400 else 0
