"""The operators + - * / // % and minus, without overflow and without division by zero."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.answer.expressions.numbers import (
    common_step,
    computed,
    exact_step,
    flushed,
    interval,
    least_sum,
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
    real_literal,
    refused,
    whole_literal,
)
from discreet.engines.engine import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

Range = tuple[Fraction, Fraction]

_PAIRS = 1000  # finite domains are combined up to this many pairs


def number(typed: Typed, name: str) -> Typed:
    """Return `typed` if it is a number, and refuse it otherwise."""
    if typed.is_number or typed.is_null:
        return typed
    raise refused(
        f"{name} is for numbers, not for {typed.kind.value} values.",
        "Write CAST(… AS DOUBLE) around a text that holds numbers.",
    )


def plus(left: Typed, right: Typed) -> Typed:
    """Return the sum."""
    return _sum(exp.Add, left, right)


def minus(left: Typed, right: Typed) -> Typed:
    """Return the difference."""
    return _sum(exp.Sub, left, right)


def _sum(node: type[exp.Add | exp.Sub], left: Typed, right: Typed) -> Typed:
    left, right = number(left, "+ or -"), number(right, "+ or -")
    if left.is_null or right.is_null:
        return NULL
    sign = 1 if node is exp.Add else -1
    a, b = _exactly(left, right, lambda a, b: _added(a, b, sign)) or (real(left), real(right))
    reach = _added(interval(a), interval(b), sign)
    low, high = _added_ends(a, b, sign)
    step = common_step(a.step, b.step)
    if a.kind is Kind.INTEGER:
        found = _integer(node, a, b, (low, high), reach, step)
        return _with_pairs(found, a, b, lambda x, y: x + sign * y)
    reach = nearest(reach[0]), nearest(reach[1])
    return computed(
        node(this=inner(a.tree), expression=inner(b.tree)),
        low=None if low is None else nearest(low),
        high=None if high is None else nearest(high),
        reach=reach,
        least=least_sum(a, b),
        step=exact_step(step, reach),
        nullable=a.nullable or b.nullable,
    )


def _added(a: Range, b: Range, sign: int) -> Range:
    return (a[0] + b[0], a[1] + b[1]) if sign > 0 else (a[0] - b[1], a[1] - b[0])


def _added_ends(a: Typed, b: Typed, sign: int) -> tuple[Fraction | None, Fraction | None]:
    below, above = (b.low, b.high) if sign > 0 else (b.high, b.low)
    low = None if a.low is None or below is None else a.low + sign * below
    high = None if a.high is None or above is None else a.high + sign * above
    return low, high


def times(left: Typed, right: Typed) -> Typed:
    """Return the product."""
    left, right = number(left, "*"), number(right, "*")
    if left.is_null or right.is_null:
        return NULL
    a, b = _exactly(left, right, _multiplied) or (flushed(real(left)), flushed(real(right)))
    reach = _multiplied(interval(a), interval(b))
    is_bounded = None not in (a.low, a.high, b.low, b.high)
    step = None if a.step is None or b.step is None else a.step * b.step
    if a.kind is Kind.INTEGER:
        ends = reach if is_bounded else (None, None)
        found = _integer(exp.Mul, a, b, ends, reach, step)
        return _with_pairs(found, a, b, lambda x, y: x * y)
    reach = nearest(reach[0]), nearest(reach[1])
    return computed(
        exp.Mul(this=inner(a.tree), expression=inner(b.tree)),
        low=reach[0] if is_bounded else None,
        high=reach[1] if is_bounded else None,
        reach=reach,
        least=_least(a) * _least(b) / 2,
        step=exact_step(step, reach),
        nullable=a.nullable or b.nullable,
    )


def _multiplied(a: Range, b: Range) -> Range:
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


def over(left: Typed, right: Typed) -> Typed:
    """Return the quotient as a real, NULL where the divisor is zero."""
    left, right = number(left, "/"), number(right, "/")
    if left.is_null or right.is_null:
        return NULL
    a, b = flushed(real(left)), flushed(real(right))
    low, high = interval(b)
    never_zero = low > 0 or high < 0
    largest = max(map(abs, interval(a))) / (min(abs(low), abs(high)) if never_zero else _least(b))
    reach = (-nearest(largest), nearest(largest))
    ends: tuple[Fraction | None, Fraction | None] = (None, None)
    if never_zero and a.low is not None and a.high is not None:
        quotients = [x / y for x in (a.low, a.high) for y in (low, high)]
        ends = nearest(min(quotients)), nearest(max(quotients))
    divisor = inner(b.tree) if never_zero else _not_zero(b, real_literal(0.0))
    most = max(abs(low), abs(high))
    return computed(
        exp.Div(this=inner(a.tree), expression=divisor, typed=True),
        low=ends[0],
        high=ends[1],
        reach=reach,
        least=_least(a) / most / 2 if most else Fraction(1),
        nullable=a.nullable or b.nullable or not never_zero,
    )


def whole_over(left: Typed, right: Typed) -> Typed:
    """Return the quotient of whole numbers without its rest, as 7 // 2 = 3 and -7 // 2 = -3."""
    if left.is_null or right.is_null:
        return NULL
    a, b = _whole_pair(left, right, "//")
    reach = max(map(abs, interval(a))) // _smallest_divisor(b)
    low = Fraction(0) if _same_sign(a, b) else -reach
    is_bounded = a.low is not None and a.high is not None
    found = replace(
        a,
        tree=exp.IntDiv(this=inner(a.tree), expression=_divisor(b)),
        low=low if is_bounded else None,
        high=reach if is_bounded else None,
        step=Fraction(1),
        values=None,
        nullable=a.nullable or b.nullable or _may_be_zero(b),
        most=reach,
        least=Fraction(1),
    )
    return _with_pairs(found, a, b, lambda x, y: int(Fraction(x, y)) if y else None)


def rest(left: Typed, right: Typed) -> Typed:
    """Return what whole division leaves, with the sign of the dividend: -7 % 2 = -1."""
    if left.is_null or right.is_null:
        return NULL
    a, b = _whole_pair(left, right, "%")
    low, high = interval(a)
    most = max(map(abs, interval(b))) - 1
    size = min(max(abs(low), abs(high)), max(most, Fraction(0)))
    is_bounded = b.low is not None and b.high is not None
    found = replace(
        a,
        tree=exp.Mod(this=inner(a.tree), expression=_divisor(b)),
        low=(Fraction(0) if low >= 0 else -size) if is_bounded else None,
        high=(Fraction(0) if high <= 0 else size) if is_bounded else None,
        step=Fraction(1),
        values=None,
        nullable=a.nullable or b.nullable or _may_be_zero(b),
        most=size,
        least=Fraction(1),
    )
    return _with_pairs(found, a, b, lambda x, y: x - y * int(Fraction(x, y)) if y else None)


def negative(typed: Typed) -> Typed:
    """Return the number with its sign changed."""
    typed = number(typed, "-")
    if typed.is_null:
        return NULL
    # From zero: the smallest whole number of 64 bits has no counterpart.
    a = _small(typed) or real(typed)
    values = None if a.values is None else tuple(-value for value in _integers(a))
    return replace(
        a,
        tree=exp.Neg(this=inner(a.tree)),
        low=None if a.high is None else -a.high,
        high=None if a.low is None else -a.low,
        values=values,
    )


def _small(typed: Typed) -> Typed | None:
    """Return an integer of which every value is exact as a double, or None."""
    if typed.kind is not Kind.INTEGER:
        return None
    found = whole(typed)
    return found if max(map(abs, interval(found))) <= EXACT else None


def _exactly(
    left: Typed, right: Typed, combine: Callable[[Range, Range], Range]
) -> tuple[Typed, Typed] | None:
    """Return both numbers in 64 bits if what is computed from them is proven to be exact."""
    if left.kind is not Kind.INTEGER or right.kind is not Kind.INTEGER:
        return None
    a, b = whole(left), whole(right)
    fits = max(map(abs, combine(interval(a), interval(b)))) <= EXACT
    return (a, b) if fits else None


def _integer(
    node: type[exp.Binary],
    a: Typed,
    b: Typed,
    ends: tuple[Fraction | None, Fraction | None],
    reach: Range,
    step: Fraction | None,
) -> Typed:
    return Typed(
        tree=node(this=inner(a.tree), expression=inner(b.tree)),
        kind=Kind.INTEGER,
        low=ends[0],
        high=ends[1],
        step=step or Fraction(1),
        nullable=a.nullable or b.nullable,
        most=max(map(abs, reach)),
        least=Fraction(1),
    )


def _with_pairs(
    found: Typed, a: Typed, b: Typed, compute: Callable[[int, int], int | None]
) -> Typed:
    """Return `found` with its public values, if both sides have few."""
    if a.values is None and b.values is None:
        return found
    left, right = domain(a), domain(b)
    if left is None or right is None or len(left) * len(right) > _PAIRS:
        return found
    results = {
        compute(x, y) for x in left for y in right if isinstance(x, int) and isinstance(y, int)
    }
    return replace(found, values=tuple(sorted(value for value in results if value is not None)))


def _integers(typed: Typed) -> list[int]:
    return [value for value in typed.values or () if isinstance(value, int)]


def _whole_pair(left: Typed, right: Typed, name: str) -> tuple[Typed, Typed]:
    for side in (left, right):
        if side.kind is not Kind.INTEGER:
            raise refused(
                f"{name} is for whole numbers.", "Write CAST(… AS BIGINT) around both sides."
            )
    a, b = whole(left), whole(right)
    low, high = interval(b)
    if low <= -1 <= high and interval(a)[0] <= -(2**63):
        # The smallest whole number divided by -1 is one more than 64 bits can hold.
        lowest = whole_literal(-(2**63 - 1))
        kept = exp.Greatest(this=a.tree.copy(), expressions=[lowest], ignore_nulls=True)
        known = exp.Not(this=exp.Is(this=inner(a.tree), expression=exp.Null()))
        a = replace(a, tree=exp.Case(ifs=[exp.If(this=known, true=kept)]))
    return a, b


def _divisor(b: Typed) -> exp.Expr:
    return _not_zero(b, whole_literal(0)) if _may_be_zero(b) else inner(b.tree)


def _not_zero(b: Typed, zero: exp.Expr) -> exp.Expr:
    return exp.Nullif(this=b.tree.copy(), expression=zero)


def _may_be_zero(typed: Typed) -> bool:
    low, high = interval(typed)
    return low <= 0 <= high


def _smallest_divisor(b: Typed) -> Fraction:
    low, high = interval(b)
    return Fraction(1) if low <= 0 <= high else min(abs(low), abs(high))


def _same_sign(a: Typed, b: Typed) -> bool:
    first, second = interval(a), interval(b)
    return (first[0] >= 0 and second[0] >= 0) or (first[1] <= 0 and second[1] <= 0)


def _least(typed: Typed) -> Fraction:
    return typed.least if typed.least is not None else Fraction(1, 10**30)
