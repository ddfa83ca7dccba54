"""How numbers are held: whole ones in 64 bits where that is proven to be enough, others as doubles."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import gcd, log2

from sqlglot import exp

from discreet.answer.expressions.typed import (
    EXACT,
    FARTHEST,
    LARGEST,
    NEAREST,
    SMALLEST,
    TypedExpression,
    bare_literal,
    make_refusal,
    real_literal,
)
from discreet.engines.engine import Kind
from discreet.engines.render import TOTAL

_WIDE = Fraction(2**63)
_DOUBLES = 10**305
_HUGE = Fraction(2**128)  # DuckDB's widest whole numbers


def to_integer(typed: TypedExpression) -> TypedExpression:
    """Return an integer in 64 bits; wider ones, which DuckDB has, become NULL."""
    if typed.most is not None:
        return typed
    tree = typed.tree.copy()
    bounds = _largest_magnitude(typed)
    step = typed.step or Fraction(1)
    if bounds is not None and bounds <= EXACT:
        held = exp.cast(tree, "BIGINT")
        return replace(typed, tree=held, most=bounds, least=Fraction(1), step=step)
    cast = exp.TryCast(this=tree, to=exp.DataType.build("BIGINT"), safe=True)
    cast.meta[TOTAL] = True  # on engines whose integers have 64 bits anyway
    return replace(typed, tree=cast, most=_WIDE, least=Fraction(1), step=step)


def to_real(typed: TypedExpression) -> TypedExpression:
    """Return a number as a finite double, NULL for what is none; tiny ones may be left."""
    if typed.kind is Kind.INTEGER:
        return _integer_as_real(typed)
    if typed.most is not None:
        return typed
    bounds = _largest_magnitude(typed)
    if typed.kind is Kind.REAL and bounds is not None and bounds <= LARGEST:
        tree = exp.cast(typed.tree.copy(), "DOUBLE")
        return replace(typed, tree=tree, most=bounds, least=typed.step)
    return _clean_double(typed)


def _integer_as_real(typed: TypedExpression) -> TypedExpression:
    step = typed.step or Fraction(1)
    most = _largest_magnitude(typed) if typed.most is None else typed.most
    value = typed.constant
    is_known = isinstance(value, int)
    tree = real_literal(float(value)) if is_known else exp.cast(typed.tree.copy(), "DOUBLE")
    if most is None or most > EXACT:
        step = _power_of_two(step)
    least = typed.least or Fraction(1)
    return replace(
        typed,
        tree=tree,
        kind=Kind.REAL,
        low=None if typed.low is None else nearest_double(typed.low),
        high=None if typed.high is None else nearest_double(typed.high),
        step=step,
        values=None,
        most=_HUGE if most is None else most,
        least=least,
    )


def _clean_double(typed: TypedExpression) -> TypedExpression:
    """Return a double without NaN (NULL), infinities (clamped) and tiny numbers (zero).

    Numbers with an exponent compare with decimals of any size on every engine; a cast of such a
    decimal could fail. All engines order NaN above infinity.
    """
    column, size = typed.tree, exp.Abs(this=typed.tree.copy())
    words = [exp.Literal.string(word) for word in ("NaN", "nan")]
    is_nan = exp.In(this=exp.cast(column.copy(), "TEXT"), expressions=words)
    is_usual = exp.and_(
        exp.GTE(this=size, expression=bare_literal(1e-30)),
        exp.LT(this=size.copy(), expression=bare_literal(1e30)),
    )
    is_tiny = exp.LT(this=size.copy(), expression=bare_literal(1e-30))
    zero = bare_literal(0.0)
    ifs = [
        exp.If(this=is_usual, true=exp.cast(column.copy(), "DOUBLE")),  # first, as it is quick
        exp.If(this=is_tiny, true=real_literal(0.0)),
        exp.If(this=exp.LT(this=column.copy(), expression=zero), true=real_literal(-1e30)),
        exp.If(this=is_nan, true=exp.Null()),
        exp.If(this=exp.GT(this=column.copy(), expression=zero.copy()), true=real_literal(1e30)),
    ]
    return replace(
        typed,
        tree=exp.Case(ifs=ifs),
        kind=Kind.REAL,
        low=None if typed.low is None else nearest_double(max(-LARGEST, min(LARGEST, typed.low))),
        high=None
        if typed.high is None
        else nearest_double(max(-LARGEST, min(LARGEST, typed.high))),
        nullable=True,
        most=LARGEST,
        least=SMALLEST if typed.step is None else max(SMALLEST, typed.step / 2),
    )


def without_nan(typed: TypedExpression) -> TypedExpression:
    """Return a number of which NaN is NULL; what was computed here has none."""
    if typed.kind is not Kind.REAL or typed.most is not None:
        return typed
    value = exp.Nullif(this=exp.cast(typed.tree.copy(), "DOUBLE"), expression=nan())
    return replace(typed, tree=value, nullable=True)


def nan() -> exp.Expr:
    """Return NaN, which every engine holds for equal to itself and larger than all numbers."""
    return exp.cast(exp.Literal.string("NaN"), "DOUBLE")


def flush_small_numbers(typed: TypedExpression) -> TypedExpression:
    """Return a double whose values are zero or no nearer to zero than `least`."""
    if typed.least is not None:
        return typed
    size = exp.Abs(this=typed.tree.copy())
    is_tiny = exp.LT(this=size, expression=bare_literal(1e-30))
    tree = exp.Case(ifs=[exp.If(this=is_tiny, true=real_literal(0.0))], default=typed.tree.copy())
    return replace(typed, tree=tree, least=SMALLEST)


def number_range(typed: TypedExpression) -> tuple[Fraction, Fraction]:
    """Return bounds that hold in any case, declared or not."""
    most = typed.most if typed.most is not None else _HUGE
    low = -most if typed.low is None else max(typed.low, -most)
    return low, most if typed.high is None else min(typed.high, most)


def make_computed_number(
    tree: exp.Expr,
    *,
    low: Fraction | None,
    high: Fraction | None,
    reach: tuple[Fraction, Fraction],
    least: Fraction | None,
    step: Fraction | None = None,
    nullable: bool = True,
) -> TypedExpression:
    """Return a double; one that is provably whole and of proven size becomes an integer."""
    most = max(abs(reach[0]), abs(reach[1]))
    if most > FARTHEST or (least is not None and least < NEAREST):
        raise make_refusal(
            "This product or quotient could become too large or too small for the engines.",
            "Bound its parts first, as in LEAST(GREATEST(x, 0), 1000).",
        )
    found = TypedExpression(
        tree=tree,
        kind=Kind.REAL,
        low=low,
        high=high,
        step=step,
        nullable=nullable,
        most=most,
        least=least,
    )
    return narrow_to_integer(found)


def narrow_to_integer(typed: TypedExpression) -> TypedExpression:
    """Return a double as an integer if each of its values is whole and exact."""
    if typed.kind is not Kind.REAL or typed.most is None or typed.most > EXACT:
        return typed
    if typed.step is None or typed.step.denominator != 1:
        return typed
    return replace(typed, kind=Kind.INTEGER, tree=exp.cast(typed.tree.copy(), "BIGINT"))


def nearest_double(value: Fraction) -> Fraction:
    """Return the double nearest to `value`; rounding keeps order, so bounds stay bounds."""
    return Fraction(float(value)) if abs(value) < _DOUBLES else value  # to be refused


def common_step(*steps: Fraction | None) -> Fraction | None:
    """Return a number of which all `steps` are multiples, or None."""
    found: Fraction | None = None
    for step in steps:
        if step is None:
            return None
        if found is None:
            found = step
            continue
        shared = gcd(found.numerator * step.denominator, step.numerator * found.denominator)
        found = Fraction(shared, found.denominator * step.denominator)
    return found


def exact_step(step: Fraction | None, reach: tuple[Fraction, Fraction]) -> Fraction | None:
    """Return the step that sums and products of doubles keep: they are exact up to 2**53 steps."""
    if step is None or step.denominator & (step.denominator - 1):
        return None  # tenths are no doubles: their sums are not the doubles nearest to tenths
    most = max(abs(reach[0]), abs(reach[1]))
    return step if most <= EXACT * step else _power_of_two(step)


def least_sum(a: TypedExpression, b: TypedExpression) -> Fraction | None:
    """Return how near to zero a sum can be, or None: all its terms are multiples of a last bit."""
    if a.least is None or b.least is None:
        return None
    found = Fraction(2) ** (int(log2(min(a.least, b.least))) - 54)
    return found if found >= SMALLEST**3 else None


def _power_of_two(step: Fraction) -> Fraction:
    odd = step.numerator
    while odd % 2 == 0:
        odd //= 2
    return step / odd


def _largest_magnitude(typed: TypedExpression) -> Fraction | None:
    if typed.low is None or typed.high is None:
        return None
    return max(abs(typed.low), abs(typed.high))
