"""The operators + - * / // % and minus, without overflow and without division by zero."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from discreet.answer.expressions.numbers import (
    common_step,
    exact_step,
    flush_small_numbers,
    least_sum,
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
    make_refusal,
    parenthesize,
    real_literal,
    value_domain,
    whole_literal,
)
from discreet.engines.engine import Kind

Range = tuple[Fraction, Fraction]

_PAIRS = 1000  # finite domains are combined up to this many pairs


def require_number(typed: TypedExpression, name: str) -> TypedExpression:
    """Return `typed` if it is a number, and refuse it otherwise."""
    if typed.is_number or typed.is_null:
        return typed
    raise make_refusal(
        f"{name} is for numbers, not for {typed.kind.value} values.",
        "Write CAST(… AS DOUBLE) around a text that holds numbers.",
    )


def plus(left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """Return the sum."""
    return _sum(exp.Add, left, right)


def minus(left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """Return the difference."""
    return _sum(exp.Sub, left, right)


def _sum(
    node: type[exp.Add | exp.Sub], left: TypedExpression, right: TypedExpression
) -> TypedExpression:
    left, right = require_number(left, "+ or -"), require_number(right, "+ or -")
    if left.is_null or right.is_null:
        return NULL
    sign = 1 if node is exp.Add else -1
    a, b = _exact_operands(left, right, lambda a, b: _add_ranges(a, b, sign)) or (
        to_real(left),
        to_real(right),
    )
    reach = _add_ranges(number_range(a), number_range(b), sign)
    low, high = _added_ends(a, b, sign)
    step = common_step(a.step, b.step)
    if a.kind is Kind.INTEGER:
        found = _integer_result(node, a, b, (low, high), reach, step)
        return _with_pairs(found, a, b, lambda x, y: x + sign * y)
    reach = nearest_double(reach[0]), nearest_double(reach[1])
    return make_computed_number(
        node(this=parenthesize(a.tree), expression=parenthesize(b.tree)),
        low=None if low is None else nearest_double(low),
        high=None if high is None else nearest_double(high),
        reach=reach,
        least=least_sum(a, b),
        step=exact_step(step, reach),
        nullable=a.nullable or b.nullable,
    )


def _add_ranges(a: Range, b: Range, sign: int) -> Range:
    return (a[0] + b[0], a[1] + b[1]) if sign > 0 else (a[0] - b[1], a[1] - b[0])


def _added_ends(
    a: TypedExpression, b: TypedExpression, sign: int
) -> tuple[Fraction | None, Fraction | None]:
    below, above = (b.low, b.high) if sign > 0 else (b.high, b.low)
    low = None if a.low is None or below is None else a.low + sign * below
    high = None if a.high is None or above is None else a.high + sign * above
    return low, high


def times(left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """Return the product."""
    left, right = require_number(left, "*"), require_number(right, "*")
    if left.is_null or right.is_null:
        return NULL
    a, b = _exact_operands(left, right, _multiply_ranges) or (
        flush_small_numbers(to_real(left)),
        flush_small_numbers(to_real(right)),
    )
    reach = _multiply_ranges(number_range(a), number_range(b))
    is_bounded = None not in (a.low, a.high, b.low, b.high)
    step = None if a.step is None or b.step is None else a.step * b.step
    if a.kind is Kind.INTEGER:
        ends = reach if is_bounded else (None, None)
        found = _integer_result(exp.Mul, a, b, ends, reach, step)
        return _with_pairs(found, a, b, lambda x, y: x * y)
    reach = nearest_double(reach[0]), nearest_double(reach[1])
    return make_computed_number(
        exp.Mul(this=parenthesize(a.tree), expression=parenthesize(b.tree)),
        low=reach[0] if is_bounded else None,
        high=reach[1] if is_bounded else None,
        reach=reach,
        least=_least_magnitude(a) * _least_magnitude(b) / 2,
        step=exact_step(step, reach),
        nullable=a.nullable or b.nullable,
    )


def _multiply_ranges(a: Range, b: Range) -> Range:
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


def divide_numbers(left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """Return the quotient as a real, NULL where the divisor is zero."""
    left, right = require_number(left, "/"), require_number(right, "/")
    if left.is_null or right.is_null:
        return NULL
    a, b = flush_small_numbers(to_real(left)), flush_small_numbers(to_real(right))
    low, high = number_range(b)
    never_zero = low > 0 or high < 0
    largest = max(map(abs, number_range(a))) / (
        min(abs(low), abs(high)) if never_zero else _least_magnitude(b)
    )
    reach = (-nearest_double(largest), nearest_double(largest))
    ends: tuple[Fraction | None, Fraction | None] = (None, None)
    if never_zero and a.low is not None and a.high is not None:
        quotients = [x / y for x in (a.low, a.high) for y in (low, high)]
        ends = nearest_double(min(quotients)), nearest_double(max(quotients))
    divisor = parenthesize(b.tree) if never_zero else _not_zero(b, real_literal(0.0))
    most = max(abs(low), abs(high))
    return make_computed_number(
        exp.Div(this=parenthesize(a.tree), expression=divisor, typed=True),
        low=ends[0],
        high=ends[1],
        reach=reach,
        least=_least_magnitude(a) / most / 2 if most else Fraction(1),
        nullable=a.nullable or b.nullable or not never_zero,
    )


def divide_whole_numbers(left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """Return the quotient of whole numbers without its rest, as 7 // 2 = 3 and -7 // 2 = -3."""
    if left.is_null or right.is_null:
        return NULL
    a, b = _whole_pair(left, right, "//")
    reach = max(map(abs, number_range(a))) // _smallest_divisor(b)
    low = Fraction(0) if _same_sign(a, b) else -reach
    is_bounded = a.low is not None and a.high is not None
    found = replace(
        a,
        tree=exp.IntDiv(this=parenthesize(a.tree), expression=_divisor_expression(b)),
        low=low if is_bounded else None,
        high=reach if is_bounded else None,
        step=Fraction(1),
        values=None,
        nullable=a.nullable or b.nullable or _may_be_zero(b),
        most=reach,
        least=Fraction(1),
    )
    return _with_pairs(found, a, b, lambda x, y: int(Fraction(x, y)) if y else None)


def remainder_of(left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """Return what whole division leaves, with the sign of the dividend: -7 % 2 = -1."""
    if left.is_null or right.is_null:
        return NULL
    a, b = _whole_pair(left, right, "%")
    low, high = number_range(a)
    most = max(map(abs, number_range(b))) - 1
    size = min(max(abs(low), abs(high)), max(most, Fraction(0)))
    is_bounded = b.low is not None and b.high is not None
    found = replace(
        a,
        tree=exp.Mod(this=parenthesize(a.tree), expression=_divisor_expression(b)),
        low=(Fraction(0) if low >= 0 else -size) if is_bounded else None,
        high=(Fraction(0) if high <= 0 else size) if is_bounded else None,
        step=Fraction(1),
        values=None,
        nullable=a.nullable or b.nullable or _may_be_zero(b),
        most=size,
        least=Fraction(1),
    )
    return _with_pairs(found, a, b, lambda x, y: x - y * int(Fraction(x, y)) if y else None)


def negate_number(typed: TypedExpression) -> TypedExpression:
    """Return the number with its sign changed."""
    typed = require_number(typed, "-")
    if typed.is_null:
        return NULL
    # From zero: the smallest whole number of 64 bits has no counterpart.
    a = _exact_double(typed) or to_real(typed)
    values = None if a.values is None else tuple(-value for value in _integer_values(a))
    return replace(
        a,
        tree=exp.Neg(this=parenthesize(a.tree)),
        low=None if a.high is None else -a.high,
        high=None if a.low is None else -a.low,
        values=values,
    )


def _exact_double(typed: TypedExpression) -> TypedExpression | None:
    """Return an integer of which every value is exact as a double, or None."""
    if typed.kind is not Kind.INTEGER:
        return None
    found = to_integer(typed)
    return found if max(map(abs, number_range(found))) <= EXACT else None


def _exact_operands(
    left: TypedExpression, right: TypedExpression, combine: Callable[[Range, Range], Range]
) -> tuple[TypedExpression, TypedExpression] | None:
    """Return both numbers in 64 bits if what is computed from them is proven to be exact."""
    if left.kind is not Kind.INTEGER or right.kind is not Kind.INTEGER:
        return None
    a, b = to_integer(left), to_integer(right)
    fits = max(map(abs, combine(number_range(a), number_range(b)))) <= EXACT
    return (a, b) if fits else None


def _integer_result(
    node: type[exp.Binary],
    a: TypedExpression,
    b: TypedExpression,
    ends: tuple[Fraction | None, Fraction | None],
    reach: Range,
    step: Fraction | None,
) -> TypedExpression:
    return TypedExpression(
        tree=node(this=parenthesize(a.tree), expression=parenthesize(b.tree)),
        kind=Kind.INTEGER,
        low=ends[0],
        high=ends[1],
        step=step or Fraction(1),
        nullable=a.nullable or b.nullable,
        most=max(map(abs, reach)),
        least=Fraction(1),
    )


def _with_pairs(
    found: TypedExpression,
    a: TypedExpression,
    b: TypedExpression,
    compute: Callable[[int, int], int | None],
) -> TypedExpression:
    """Return `found` with its public values, if both sides have few."""
    if a.values is None and b.values is None:
        return found
    left, right = value_domain(a), value_domain(b)
    if left is None or right is None or len(left) * len(right) > _PAIRS:
        return found
    results = {
        compute(x, y) for x in left for y in right if isinstance(x, int) and isinstance(y, int)
    }
    return replace(found, values=tuple(sorted(value for value in results if value is not None)))


def _integer_values(typed: TypedExpression) -> list[int]:
    return [value for value in typed.values or () if isinstance(value, int)]


def _whole_pair(
    left: TypedExpression, right: TypedExpression, name: str
) -> tuple[TypedExpression, TypedExpression]:
    for side in (left, right):
        if side.kind is not Kind.INTEGER:
            raise make_refusal(
                f"{name} is for whole numbers.", "Write CAST(… AS BIGINT) around both sides."
            )
    a, b = to_integer(left), to_integer(right)
    low, high = number_range(b)
    if low <= -1 <= high and number_range(a)[0] <= -(2**63):
        # The smallest whole number divided by -1 is one more than 64 bits can hold.
        lowest = whole_literal(-(2**63 - 1))
        kept = exp.Greatest(this=a.tree.copy(), expressions=[lowest], ignore_nulls=True)
        known = exp.Not(this=exp.Is(this=parenthesize(a.tree), expression=exp.Null()))
        a = replace(a, tree=exp.Case(ifs=[exp.If(this=known, true=kept)]))
    return a, b


def _divisor_expression(b: TypedExpression) -> exp.Expr:
    return _not_zero(b, whole_literal(0)) if _may_be_zero(b) else parenthesize(b.tree)


def _not_zero(b: TypedExpression, zero: exp.Expr) -> exp.Expr:
    return exp.Nullif(this=b.tree.copy(), expression=zero)


def _may_be_zero(typed: TypedExpression) -> bool:
    low, high = number_range(typed)
    return low <= 0 <= high


def _smallest_divisor(b: TypedExpression) -> Fraction:
    low, high = number_range(b)
    return Fraction(1) if low <= 0 <= high else min(abs(low), abs(high))


def _same_sign(a: TypedExpression, b: TypedExpression) -> bool:
    first, second = number_range(a), number_range(b)
    return (first[0] >= 0 and second[0] >= 0) or (first[1] <= 0 and second[1] <= 0)


def _least_magnitude(typed: TypedExpression) -> Fraction:
    return typed.least if typed.least is not None else Fraction(1, 10**30)
