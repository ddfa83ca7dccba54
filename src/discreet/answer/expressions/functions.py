"""ABS, ROUND, FLOOR, CEIL, SIGN and SQRT."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from discreet.answer.expressions.arithmetic import divide_numbers, require_number, times
from discreet.answer.expressions.numbers import (
    exact_step,
    flush_small_numbers,
    make_computed_number,
    nearest_double,
    number_range,
    to_integer,
    to_real,
)
from discreet.answer.expressions.typed import (
    EXACT,
    NULL,
    TypedExpression,
    integer_literal,
    make_refusal,
    parenthesize,
    real_literal,
    value_domain,
)
from discreet.engines.engine import Kind
from discreet.engines.render import WIDE

_DIGITS = 15


def absolute(typed: TypedExpression) -> TypedExpression:
    """Return the number without its sign."""
    typed = require_number(typed, "ABS")
    if typed.is_null:
        return NULL
    a = to_integer(typed) if typed.kind is Kind.INTEGER else to_real(typed)
    if a.kind is Kind.INTEGER and max(map(abs, number_range(a))) > EXACT:
        a = to_real(a)
    low, high = number_range(a)
    is_bounded = a.low is not None and a.high is not None
    values = value_domain(a) if a.values is not None else None
    return replace(
        a,
        tree=exp.Abs(this=a.tree.copy()),
        low=Fraction(0) if low <= 0 <= high else min(abs(low), abs(high)),
        high=max(abs(low), abs(high)) if is_bounded else None,
        values=None
        if values is None
        else tuple(dict.fromkeys(abs(value) for value in values if isinstance(value, int))),
    )


def sign(typed: TypedExpression) -> TypedExpression:
    """Return -1, 0 or 1."""
    typed = require_number(typed, "SIGN")
    if typed.is_null:
        return NULL
    a = to_integer(typed) if typed.kind is Kind.INTEGER else to_real(typed)
    low, high = number_range(a)
    first, last = -1 if low < 0 else int(low > 0), 1 if high > 0 else -int(high < 0)
    found = integer_literal(1)
    return replace(
        found,
        tree=exp.cast(exp.Sign(this=a.tree.copy()), "BIGINT"),
        low=Fraction(first),
        high=Fraction(last),
        values=tuple(range(first, last + 1)),
        nullable=a.nullable,
    )


def square_root(typed: TypedExpression) -> TypedExpression:
    """Return the square root, NULL of a negative number."""
    typed = require_number(typed, "SQRT")
    if typed.is_null:
        return NULL
    a = flush_small_numbers(to_real(typed))
    low, high = number_range(a)
    tree = a.tree
    if low < 0:
        positive = exp.GTE(this=parenthesize(tree), expression=real_literal(0.0))
        tree = exp.Case(ifs=[exp.If(this=positive, true=tree.copy())])
    top = Fraction(math.sqrt(max(high, Fraction(0))))
    return make_computed_number(
        exp.Sqrt(this=tree.copy()),
        low=Fraction(0) if low <= 0 else Fraction(math.sqrt(low)),
        high=None if a.high is None else top,
        reach=(Fraction(0), top),
        least=Fraction(math.sqrt(a.least or Fraction(1))) / 2,
        nullable=a.nullable or low < 0,
    )


def floor(typed: TypedExpression) -> TypedExpression:
    """Return the whole number at or below."""
    return _to_whole(
        require_number(typed, "FLOOR"), exp.Floor, lambda value: Fraction(math.floor(value))
    )


def ceil(typed: TypedExpression) -> TypedExpression:
    """Return the whole number at or above."""
    return _to_whole(
        require_number(typed, "CEIL"), exp.Ceil, lambda value: Fraction(math.ceil(value))
    )


def round_number(typed: TypedExpression, digits: int = 0) -> TypedExpression:
    """Return the number rounded to `digits` after the point, halves away from zero."""
    typed = require_number(typed, "ROUND")
    if abs(digits) > _DIGITS:
        raise make_refusal(f"ROUND to {digits} digits is refused.", f"Use at most {_DIGITS}.")
    if typed.is_null or (typed.kind is Kind.INTEGER and digits >= 0):
        return NULL if typed.is_null else to_integer(typed)
    if digits == 0:
        return _to_whole(typed, exp.Round, _half_away)
    scale = integer_literal(10 ** abs(digits))
    if digits > 0:
        found = divide_numbers(
            to_real(_to_whole(times(to_real(typed), scale), exp.Round, _half_away)), scale
        )
        return replace(found, step=Fraction(1, 10**digits))
    return times(_to_whole(divide_numbers(typed, scale), exp.Round, _half_away), scale)


def _to_whole(
    typed: TypedExpression,
    node: type[exp.Floor | exp.Ceil | exp.Round],
    apply: Callable[[Fraction], Fraction],
) -> TypedExpression:
    if typed.is_null:
        return NULL
    if typed.kind is Kind.INTEGER:
        return to_integer(typed)
    a = to_real(typed)
    low, high = number_range(a)
    reach = nearest_double(apply(low)), nearest_double(apply(high))
    cut = node(this=a.tree.copy())
    if max(abs(low), abs(high)) > EXACT:
        cut.meta[WIDE] = True
    tree = exp.cast(cut, "DOUBLE")
    return make_computed_number(
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
