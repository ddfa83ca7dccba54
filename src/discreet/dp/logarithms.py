"""Logarithms and exponentials between two fractions, so that an irrational epsilon is rounded up.

Python's `decimal` rounds `ln` and `exp` correctly (its documentation promises half-even within the
context's precision), so that one step further is a bound.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from discreet.errors import InvalidMechanism

PLACES = 12
_DIGITS = 60
_FAR = 10_000


def log_above(ratio: Fraction, *, places: int = PLACES) -> Fraction:
    """Return the least multiple of 10^-`places` that is known to be no less than ln `ratio`.

    >>> float(log_above(Fraction(3)))
    1.098612288669
    >>> log_above(Fraction(1))
    Fraction(0, 1)
    """
    if ratio <= 0:
        raise InvalidMechanism("Only a positive ratio has a logarithm. Give a ratio above 0.")
    if ratio == 1:
        return Fraction(0)
    context = _decimal_context(places)
    above = context.next_plus(context.ln(_to_decimal(ratio, context)))
    wide = Context(prec=2 * (_DIGITS + places), rounding=ROUND_CEILING)
    return Fraction(above.quantize(Decimal(1).scaleb(-places), context=wide))


def exp_above(exponent: Fraction) -> Fraction:
    """Return a fraction no less than e^`exponent`, and not more than 10^-50 of it away.

    Below e^-10000 it is 10^-4000.

    >>> exp_above(Fraction(0)), exp_below(Fraction(1)) < exp_above(Fraction(1))
    (Fraction(1, 1), True)
    """
    if exponent == 0:
        return Fraction(1)
    if exponent < -_FAR:
        return Fraction(1, 10**4000)
    if exponent > _FAR:
        raise InvalidMechanism("e^10000 and more is not a number to calculate with.")
    context = _decimal_context(_exponent_places(exponent))
    return Fraction(context.next_plus(context.exp(_to_decimal(exponent, context))))


def exp_below(exponent: Fraction) -> Fraction:
    """Return a fraction no more than e^`exponent`, and not more than 10^-50 of it away.

    Below e^-10000 it is 0, and above e^10000 it is 10^4000.
    """
    if exponent < -_FAR:
        return Fraction(0)
    return 1 / exp_above(-exponent)


def _decimal_context(places: int) -> Context:
    return Context(prec=_DIGITS + places, rounding=ROUND_CEILING, Emin=-(10**9), Emax=10**9)


def _exponent_places(exponent: Fraction) -> int:
    # An error of the exponent is a relative error of the result.
    return abs(int(exponent)).bit_length()


def _to_decimal(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))
