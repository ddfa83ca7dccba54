"""Numbers as people write them, made exact; and fractions rounded to a chosen side."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

from discreet.errors import InvalidBudget

ExactNumber = str | int | float | Decimal | Fraction

# Exponents are bounded because 1e999999999 would fill the memory before it could be refused.
_WRITTEN = re.compile(
    r"\s*[+-]?(\d{1,400}/\d{1,400}|(\d{1,400}(\.\d{0,400})?|\.\d{1,400})(e[+-]?\d{1,3})?)\s*",
    re.I | re.A,
)


def to_fraction(value: ExactNumber) -> Fraction:
    """Return exactly the number that was written; a float is the shortest decimal that it prints.

    Raises:
        InvalidBudget: `value` is no finite number.

    >>> to_fraction("0.1"), to_fraction(0.1), to_fraction("1/3"), to_fraction("1e-6")
    (Fraction(1, 10), Fraction(1, 10), Fraction(1, 3), Fraction(1, 1000000))
    >>> 3 * to_fraction(0.1) <= to_fraction(0.3)
    True
    """
    if isinstance(value, Fraction):
        return value
    # numpy's floats are floats, and print with their type's name.
    text = repr(float(value)) if isinstance(value, float) else str(value)
    if isinstance(value, bool) or not _WRITTEN.fullmatch(text):
        raise InvalidBudget(
            "A privacy parameter must be a finite number. Write it as 0.5, 1/3 or 1e-6."
        )
    try:
        return Fraction(text)
    except ZeroDivisionError as error:
        raise InvalidBudget(
            "A privacy parameter is divided by zero. Write it as 0.5, 1/3 or 1e-6."
        ) from error


def ceil_to(value: Fraction, *, places: int) -> Fraction:
    """Return the least multiple of 10^-`places` that is not below `value`.

    >>> ceil_to(Fraction(1, 3), places=2)
    Fraction(17, 50)
    """
    return Fraction(math.ceil(value * 10**places), 10**places)


def floor_to(value: Fraction, *, places: int) -> Fraction:
    """Return the greatest multiple of 10^-`places` that is not above `value`."""
    return Fraction(math.floor(value * 10**places), 10**places)


def root_above(value: Fraction, *, places: int) -> Fraction:
    """Return the least multiple of 10^-`places` that is not below the square root of `value`.

    >>> root_above(Fraction(4), places=6), float(root_above(Fraction(2), places=6))
    (Fraction(2, 1), 1.414214)
    """
    squared = math.ceil(value * 10 ** (2 * places))
    root = math.isqrt(squared)
    return Fraction(root if root * root == squared else root + 1, 10**places)
