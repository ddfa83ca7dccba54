"""Numbers as tables print them: `3`, `0..2`, `64..`, `36.7`, `exactly 30`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from discreet.attacks.census.block import CountRange

_WHOLE = re.compile(r"-?\d+")
_RANGE = re.compile(r"(-?\d+)?\.\.(-?\d+)?")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_SPAN = re.compile(r"(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)")
_EXACT = re.compile(r"exactly\s+(-?\d+(?:\.\d+)?)")


class UnreadableNumber(Exception):
    """A text is no number of the kind that is expected; the message says which kind is."""


def read_count_range(written: Any, lowest: int | None, highest: int | None) -> CountRange:
    """Return a whole number or a range of them; an open end is `lowest` or `highest`.

    >>> read_count_range("0..2", 0, 7), read_count_range("3..", 0, 7)
    (CountRange(low=0, high=2), CountRange(low=3, high=7))
    """
    text = written.strip() if isinstance(written, str) else ""
    if _WHOLE.fullmatch(text):
        low = high = int(text)
    elif found := _RANGE.fullmatch(text):
        low = int(found[1]) if found[1] else lowest
        high = int(found[2]) if found[2] else highest
    else:
        raise UnreadableNumber(
            "a whole number such as 3, or a range such as 0..2, is expected here."
        )
    if low is None or high is None:
        raise UnreadableNumber("both ends of this range are needed, such as 0..115.")
    if low > high:
        raise UnreadableNumber("this range ends before it begins.")
    if (lowest is not None and low < lowest) or (highest is not None and high > highest):
        raise UnreadableNumber(f"this must be within {lowest}..{highest}, the number of people.")
    return CountRange(low, high)


def read_variable_bounds(written: Any, numbers: Sequence[int]) -> tuple[int, int]:
    """Return the ends of a range of a variable's numbers, such as `64..`.

    Raises:
        Unreadable: It is no range, or one without any of the numbers.
    """
    found = _RANGE.fullmatch(written.strip()) if isinstance(written, str) else None
    if found is None or not numbers:
        raise UnreadableNumber("no range.")
    low = int(found[1]) if found[1] else min(numbers)
    high = int(found[2]) if found[2] else max(numbers)
    if not any(low <= number <= high for number in numbers):
        raise UnreadableNumber("no number is in this range.")
    return low, high


def read_printed_number(
    written: Any, *, decimals: int | None, is_rounded: bool
) -> tuple[Fraction, Fraction]:
    """Return the smallest and the largest number that is printed so.

    A rounded one stands for everything within half a unit of its last digit, or of `decimals` digits.

    >>> read_printed_number("36.7", decimals=None, is_rounded=True)
    (Fraction(733, 20), Fraction(147, 4))
    >>> read_printed_number("exactly 30", decimals=None, is_rounded=True)
    (Fraction(30, 1), Fraction(30, 1))
    """
    text = written.strip() if isinstance(written, str) else ""
    if found := _EXACT.fullmatch(text):
        return Fraction(found[1]), Fraction(found[1])
    if found := _SPAN.fullmatch(text):
        low, high = Fraction(found[1]), Fraction(found[2])
        if low > high:
            raise UnreadableNumber("this range ends before it begins.")
        return low, high
    if not _NUMBER.fullmatch(text):
        raise UnreadableNumber("a number such as 36.7, `exactly 30` or 36..37 is expected here.")
    number = Fraction(text)
    if not is_rounded:
        return number, number
    digits = decimals if decimals is not None else -int(Decimal(text).as_tuple().exponent)
    half = Fraction(1, 2 * 10**digits)
    return number - half, number + half
