"""Privacy losses as exact sums of fractions and logarithms; they become floats to be read only."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from discreet.dp.logarithms import log_above

_NUMBER = re.compile(r"[+-]?(\d{1,60}(\.\d{0,60})?|\.\d{1,60})([eE][+-]?\d{1,3})?")
_LONGEST = 24


def parse_fraction(text: str) -> Fraction | None:
    """Return the number that `text` writes as a decimal or a fraction, exactly, or None.

    >>> parse_fraction("0.4"), parse_fraction(" 1/3 "), parse_fraction("a lot")
    (Fraction(2, 5), Fraction(1, 3), None)
    """
    above, slash, below = text.strip().partition("/")
    if not _NUMBER.fullmatch(above) or (slash and not _NUMBER.fullmatch(below)):
        return None
    divisor = Fraction(below) if slash else Fraction(1)
    return Fraction(above) / divisor if divisor else None


def format_fraction(number: Fraction) -> str:
    """Return a fraction as people write it: a short decimal where that is exact, else a/b.

    >>> format_fraction(Fraction(19, 4)), format_fraction(Fraction(8, 3)), format_fraction(Fraction(90000))
    ('4.75', '8/3', '90000')
    """
    if number.denominator == 1:
        text = str(number.numerator)
    elif 10**9 % number.denominator == 0:
        text = f"{number.numerator / number.denominator:.9f}".rstrip("0")
        text = text if Fraction(text) == number else str(number)
    else:
        text = str(number)
    return text if len(text) <= _LONGEST else f"{nearest_float(number):.6g}"


def nearest_float(number: Fraction) -> float:
    """Return the float nearest to a fraction; what is too large for one is infinite."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def logarithm(ratio: Fraction) -> float:
    """Return ln of a positive fraction, also where it is larger than any float."""
    if Fraction(1, 2) < ratio < 2:
        return math.log1p(float(ratio - 1))
    return math.log(ratio.numerator) - math.log(ratio.denominator)


@dataclass(frozen=True)
class Loss:
    """An epsilon: `rational` plus the logarithm of each ratio, taken some times; or infinity.

    >>> both = Loss(Fraction(1, 10)) + Loss.of_ratio(Fraction(3)).times(2)
    >>> both.words, round(both.value, 4)
    ('0.1 + 2 ln 3', 2.2972)
    """

    rational: Fraction = Fraction(0)
    logs: tuple[tuple[Fraction, int], ...] = ()
    is_infinite: bool = False

    @classmethod
    def of_ratio(cls, ratio: Fraction | None) -> Loss:
        """Return ln `ratio`; None stands for a ratio with 0 below."""
        if ratio is None:
            return cls(is_infinite=True)
        return cls(logs=((ratio, 1),)) if ratio != 1 else cls()

    @property
    def value(self) -> float:
        """The loss as a float."""
        if self.is_infinite:
            return math.inf
        return math.fsum(
            (nearest_float(self.rational), *(n * logarithm(ratio) for ratio, n in self.logs))
        )

    @property
    def above(self) -> Fraction:
        """A fraction that is no less than the loss, which must not be infinite."""
        return self.rational + sum((n * log_above(ratio) for ratio, n in self.logs), Fraction(0))

    @property
    def words(self) -> str:
        """The loss in exact words, such as `2 ln 4.75`."""
        if self.is_infinite:
            return "infinite"
        terms = [format_fraction(self.rational)] if self.rational or not self.logs else []
        for ratio, n in self.logs:
            text = format_fraction(ratio)
            log = f"ln({text})" if "/" in text else f"ln {text}"
            terms.append(log if n == 1 else f"{n} {log}")
        return " + ".join(terms)

    def __add__(self, other: Loss) -> Loss:
        counts: dict[Fraction, int] = {}
        for ratio, n in (*self.logs, *other.logs):
            counts[ratio] = counts.get(ratio, 0) + n
        return Loss(
            self.rational + other.rational,
            tuple(counts.items()),
            self.is_infinite or other.is_infinite,
        )

    def times(self, n: int) -> Loss:
        """Return the loss of doing it `n` times."""
        return Loss(
            self.rational * n, tuple((ratio, m * n) for ratio, m in self.logs), self.is_infinite
        )
