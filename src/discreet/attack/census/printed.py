"""Numbers as tables print them: `3`, `0..2`, `64..`, `36.7`, `exactly 30`."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.attack.census.block import Range

if TYPE_CHECKING:
    from collections.abc import Sequence

_WHOLE = re.compile(r"-?\d+")
_RANGE = re.compile(r"(-?\d+)?\.\.(-?\d+)?")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_SPAN = re.compile(r"(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)")
_EXACT = re.compile(r"exactly\s+(-?\d+(?:\.\d+)?)")


class Unreadable(Exception):
    """A text is no number of the kind that is expected; the message says which kind is."""


def read_range(written: Any, lowest: int | None, highest: int | None) -> Range:
    """Return a whole number or a range of them; an open end is `lowest` or `highest`.

    >>> read_range("0..2", 0, 7), read_range("3..", 0, 7)
    (Range(low=0, high=2), Range(low=3, high=7))
    """
    text = written.strip() if isinstance(written, str) else ""
    if _WHOLE.fullmatch(text):
        low = high = int(text)
    elif found := _RANGE.fullmatch(text):
        low = int(found[1]) if found[1] else lowest
        high = int(found[2]) if found[2] else highest
    else:
        raise Unreadable("a whole number such as 3, or a range such as 0..2, is expected here.")
    if low is None or high is None:
        raise Unreadable("both ends of this range are needed, such as 0..115.")
    if low > high:
        raise Unreadable("this range ends before it begins.")
    if (lowest is not None and low < lowest) or (highest is not None and high > highest):
        raise Unreadable(f"this must be within {lowest}..{highest}, the number of people.")
    return Range(low, high)


def read_bounds(written: Any, numbers: Sequence[int]) -> tuple[int, int]:
    """Return the ends of a range of a variable's numbers, such as `64..`.

    Raises:
        Unreadable: It is no range, or one without any of the numbers.
    """
    found = _RANGE.fullmatch(written.strip()) if isinstance(written, str) else None
    if found is None or not numbers:
        raise Unreadable("no range.")
    low = int(found[1]) if found[1] else min(numbers)
    high = int(found[2]) if found[2] else max(numbers)
    if not any(low <= number <= high for number in numbers):
        raise Unreadable("no number is in this range.")
    return low, high


def read_number(
    written: Any, *, decimals: int | None, is_rounded: bool
) -> tuple[Fraction, Fraction]:
    """Return the smallest and the largest number that is printed so.

    A rounded one stands for everything within half a unit of its last digit, or of `decimals` digits.

    >>> read_number("36.7", decimals=None, is_rounded=True)
    (Fraction(733, 20), Fraction(147, 4))
    >>> read_number("exactly 30", decimals=None, is_rounded=True)
    (Fraction(30, 1), Fraction(30, 1))
    """
    text = written.strip() if isinstance(written, str) else ""
    if found := _EXACT.fullmatch(text):
        return Fraction(found[1]), Fraction(found[1])
    if found := _SPAN.fullmatch(text):
        low, high = Fraction(found[1]), Fraction(found[2])
        if low > high:
            raise Unreadable("this range ends before it begins.")
        return low, high
    if not _NUMBER.fullmatch(text):
        raise Unreadable("a number such as 36.7, `exactly 30` or 36..37 is expected here.")
    number = Fraction(text)
    if not is_rounded:
        return number, number
    digits = decimals if decimals is not None else -int(Decimal(text).as_tuple().exponent)
    half = Fraction(1, 2 * 10**digits)
    return number - half, number + half
