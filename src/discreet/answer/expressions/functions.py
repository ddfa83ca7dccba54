"""ABS, ROUND, FLOOR, CEIL, SIGN and SQRT."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.answer.expressions.arithmetic import number, over, times
from discreet.answer.expressions.numbers import (
    computed,
    exact_step,
    flushed,
    interval,
    nearest,
    real,
    whole,
)
from discreet.answer.expressions.typed import (
    EXACT,
    NULL,
    Typed,
    domain,
    inner,
    integer,
    real_literal,
    refused,
)
from discreet.engines.engine import Kind
from discreet.engines.render import WIDE

if TYPE_CHECKING:
    from collections.abc import Callable

_DIGITS = 15


def absolute(typed: Typed) -> Typed:
    """Return the number without its sign."""
    typed = number(typed, "ABS")
    if typed.is_null:
        return NULL
    a = whole(typed) if typed.kind is Kind.INTEGER else real(typed)
    if a.kind is Kind.INTEGER and max(map(abs, interval(a))) > EXACT:
        a = real(a)
    low, high = interval(a)
    is_bounded = a.low is not None and a.high is not None
    values = domain(a) if a.values is not None else None
    return replace(
        a,
        tree=exp.Abs(this=a.tree.copy()),
        low=Fraction(0) if low <= 0 <= high else min(abs(low), abs(high)),
        high=max(abs(low), abs(high)) if is_bounded else None,
        values=None
        if values is None
        else tuple(dict.fromkeys(abs(value) for value in values if isinstance(value, int))),
    )


def sign(typed: Typed) -> Typed:
    """Return -1, 0 or 1."""
    typed = number(typed, "SIGN")
    if typed.is_null:
        return NULL
    a = whole(typed) if typed.kind is Kind.INTEGER else real(typed)
    low, high = interval(a)
    first, last = -1 if low < 0 else int(low > 0), 1 if high > 0 else -int(high < 0)
    found = integer(1)
    return replace(
        found,
        tree=exp.cast(exp.Sign(this=a.tree.copy()), "BIGINT"),
        low=Fraction(first),
        high=Fraction(last),
        values=tuple(range(first, last + 1)),
        nullable=a.nullable,
    )


def root(typed: Typed) -> Typed:
    """Return the square root, NULL of a negative number."""
    typed = number(typed, "SQRT")
    if typed.is_null:
        return NULL
    a = flushed(real(typed))
    low, high = interval(a)
    tree = a.tree
    if low < 0:
        positive = exp.GTE(this=inner(tree), expression=real_literal(0.0))
        tree = exp.Case(ifs=[exp.If(this=positive, true=tree.copy())])
    top = Fraction(math.sqrt(max(high, Fraction(0))))
    return computed(
        exp.Sqrt(this=tree.copy()),
        low=Fraction(0) if low <= 0 else Fraction(math.sqrt(low)),
        high=None if a.high is None else top,
        reach=(Fraction(0), top),
        least=Fraction(math.sqrt(a.least or Fraction(1))) / 2,
        nullable=a.nullable or low < 0,
    )


def floor(typed: Typed) -> Typed:
    """Return the whole number at or below."""
    return _to_whole(number(typed, "FLOOR"), exp.Floor, lambda value: Fraction(math.floor(value)))


def ceil(typed: Typed) -> Typed:
    """Return the whole number at or above."""
    return _to_whole(number(typed, "CEIL"), exp.Ceil, lambda value: Fraction(math.ceil(value)))


def rounded(typed: Typed, digits: int = 0) -> Typed:
    """Return the number rounded to `digits` after the point, halves away from zero."""
    typed = number(typed, "ROUND")
    if abs(digits) > _DIGITS:
        raise refused(f"ROUND to {digits} digits is refused.", f"Use at most {_DIGITS}.")
    if typed.is_null or (typed.kind is Kind.INTEGER and digits >= 0):
        return NULL if typed.is_null else whole(typed)
    if digits == 0:
        return _to_whole(typed, exp.Round, _half_away)
    scale = integer(10 ** abs(digits))
    if digits > 0:
        found = over(real(_to_whole(times(real(typed), scale), exp.Round, _half_away)), scale)
        return replace(found, step=Fraction(1, 10**digits))
    return times(_to_whole(over(typed, scale), exp.Round, _half_away), scale)


def _to_whole(
    typed: Typed,
    node: type[exp.Floor | exp.Ceil | exp.Round],
    apply: Callable[[Fraction], Fraction],
) -> Typed:
    if typed.is_null:
        return NULL
    if typed.kind is Kind.INTEGER:
        return whole(typed)
    a = real(typed)
    low, high = interval(a)
    reach = nearest(apply(low)), nearest(apply(high))
    cut = node(this=a.tree.copy())
    if max(abs(low), abs(high)) > EXACT:
        cut.meta[WIDE] = True
    tree = exp.cast(cut, "DOUBLE")
    return computed(
        tree,
        low=None if a.low is None else reach[0],
        high=None if a.high is None else reach[1],
        reach=reach,
        least=Fraction(1),
        step=exact_step(Fraction(1), reach),
        nullable=a.nullable,
    )


def _half_away(value: Fraction) -> Fraction:
    size = Fraction(math.floor(abs(value) + Fraction(1, 2)))
    return size if value >= 0 else -size
