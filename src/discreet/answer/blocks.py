"""Statistics that share one noise: integers that one row changes by a known amount.

A number x between public bounds is counted in whole steps a = 0 … w from the lower bound. A row then
adds Bernstein weights of degree d to d + 1 sums: (w - a, a) for d = 1, ((w - a)², 2a(w - a), a²) for
d = 2. They are never negative and always add up to w^d, so that all of the sums together change by
exactly w^d in L1 norm, for every row. Count, sum, mean and variance all follow from these
sums, and the whole share of epsilon buys them together, where peers split it between the count and
the sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt

from sqlglot import exp

from discreet.answer.aggregates import Aggregate
from discreet.answer.expressions.numbers import nan, without_nan
from discreet.answer.expressions.typed import TypedExpression
from discreet.answer.rows import number_constant
from discreet.engines.engine import Kind
from discreet.errors import QuestionRefused
from discreet.sql import build

ROWS = "n"  # the moment that counts rows
UNITS = "units"  # the moment that counts people
# Steps between the bounds of a real number. They are added up as doubles, which is quick, and exact
# in any order as long as the sum stays below 2^53: for 2^33 rows.
FINEST = 2**20
FINEST_SQUARED = 2**15  # where squares are added up: 64 bits hold those of 2^33 rows
FINEST_SCALED = 2**16  # where each row is weighted with a factor besides
MOST_STEPS = 2**31  # whole numbers: 64 bits hold the sum over 2^32 rows
FARTHEST, NEAREST = 10**300, Fraction(1, 10**290)  # that bounds may be, and their squares


@dataclass(frozen=True)
class Moment:
    """A sum over rows that the engine computes: of whole numbers, or of 1 where there is one."""

    name: str
    tree: exp.Expr
    is_count: bool = False


Vertex = Mapping[str, int]  # a sum that gets noise: how often it counts each moment


@dataclass(frozen=True)
class SumBlock:
    """Vertices that one row changes by `weight` together, and how they are read.

    `low` and `step` turn steps back into numbers; `degree` is 0 for counts. With `has_rest` the
    last vertex counts rows whose number is missing.
    """

    name: str
    vertices: tuple[Vertex, ...]
    weight: int
    moments: tuple[Moment, ...] = ()
    degree: int = 0
    low: Fraction = Fraction(0)
    step: Fraction = Fraction(1)
    steps: int = 1
    has_rest: bool = False


def row_count_block() -> SumBlock:
    """Return the number of rows."""
    return SumBlock(ROWS, ({ROWS: 1},), 1)


def unit_count_block() -> SumBlock:
    """Return the number of people."""
    return SumBlock(UNITS, ({UNITS: 1},), 1)


def value_count_block(name: str, typed: TypedExpression) -> SumBlock:
    """Return the number of rows that have a value."""
    moment = Moment(f"{name}m", without_nan(typed).tree, is_count=True)
    return SumBlock(name, ({moment.name: 1},), 1, (moment,))


def plain_sum_block(name: str, aggregate: Aggregate, *, finest: int = FINEST) -> SumBlock:
    """Return a sum alone: one row changes it by the larger bound."""
    typed = _require_bounded_argument(aggregate)
    step, _ = _choose_steps(typed, finest, most=_largest_step_count(finest))
    # Bounds far from zero and close to each other need no finer steps than their size.
    far = max(abs(typed.low or 0), abs(typed.high or 0))
    step = max(step, Fraction(far) / _largest_step_count(finest))
    low, high = _steps_to_bound(typed.low, step), _steps_to_bound(typed.high, step)
    first = Moment(f"{name}s", _steps_above(typed, low * step, step, high - low))
    count = Moment(f"{name}m", without_nan(typed).tree, is_count=True)
    moments = (first, count) if low else (first,)
    vertex = {first.name: 1, count.name: low} if low else {first.name: 1}
    weight = max(abs(low), abs(high), 1)
    return SumBlock(name, (vertex,), weight, moments, 1, Fraction(0), step)


def bernstein_block(
    name: str, aggregate: Aggregate, *, degree: int, has_rest: bool, finest: int = FINEST
) -> SumBlock:
    """Return the Bernstein sums of `degree`; with `has_rest` also the rows that have no number."""
    typed = _require_bounded_argument(aggregate, degree=degree)
    # The square of the steps is what is added up then, in whole numbers.
    squared = FINEST_SQUARED if finest == FINEST else isqrt(finest)
    steps = finest if degree == 1 else squared
    step, w = _choose_steps(
        typed, steps, most=_largest_step_count(finest) if degree == 1 else steps
    )
    low = typed.low or Fraction(0)
    tree = _steps_above(typed, low, step, w)
    count = Moment(f"{name}m", without_nan(typed).tree, is_count=True)
    first = Moment(f"{name}s", tree)
    n, s = count.name, first.name
    moments: tuple[Moment, ...] = (count, first)
    if degree == 1:
        parts = [{n: w, s: -1}, {s: 1}]
    else:
        whole = exp.cast(tree.copy(), exp.DataType.Type.BIGINT)
        second = Moment(f"{name}t", exp.Mul(this=whole, expression=whole.copy()))
        t = second.name
        moments = (*moments, second)
        parts = [{n: w * w, s: -2 * w, t: 1}, {s: 2 * w, t: -2}, {t: 1}]
    weight = w**degree
    if has_rest:
        parts.append({ROWS: weight, n: -weight})
    return SumBlock(name, tuple(parts), weight, moments, degree, low, step, w, has_rest)


def _require_bounded_argument(aggregate: Aggregate, *, degree: int = 1) -> TypedExpression:
    typed = aggregate.argument
    if typed is None or typed.low is None or typed.high is None:
        raise ValueError("an aggregate without bounds is refused before it gets here")
    far = max(abs(typed.low), abs(typed.high))
    if far**degree > FARTHEST or 0 < typed.high - typed.low < NEAREST:
        # Doubles would overflow when the question is paid for already.
        raise QuestionRefused(
            "The bounds of a number are too far from zero, or too near to each other, to be computed "
            "with. Give it others in the policy, or clamp it in the question with least and greatest."
        )
    return typed


def _largest_step_count(finest: int) -> int:
    """Return how many steps a whole number may have: more than a real one, where nothing scales them."""
    return MOST_STEPS if finest == FINEST else finest


def _choose_steps(typed: TypedExpression, finest: int, *, most: int) -> tuple[Fraction, int]:
    """Return the size of a step between the bounds, and how many there are."""
    low = typed.low or Fraction(0)
    width = (typed.high or Fraction(0)) - low
    if typed.step is not None and low % typed.step == 0:
        count = ceil(width / typed.step)
        if count <= most:
            return typed.step, max(count, 1)
    return width / finest, finest


def _steps_to_bound(value: Fraction | None, step: Fraction) -> int:
    """Return a bound in steps, rounded away from zero."""
    exact = (value or Fraction(0)) / step
    return ceil(exact) if exact >= 0 else -ceil(-exact)


def _steps_above(typed: TypedExpression, low: Fraction, step: Fraction, most: int) -> exp.Expr:
    """Return how many steps a number is above `low`: a whole number from 0 to `most`, 0 for NULL.

    NULL, which comparisons, GREATEST and LEAST pass over, becomes the lower bound and adds nothing,
    and so does NaN: neither is counted as a number.
    """
    high = low + most * step
    fits = max(abs(low), abs(high)) < 2**62
    if typed.kind is Kind.INTEGER and step == 1 and low.denominator == 1 and fits:
        within = _clamp_expression(typed.tree, low, high, Kind.INTEGER)
        whole = exp.cast(within, exp.DataType.Type.BIGINT)
        return exp.Sub(this=whole, expression=number_constant(low, Kind.INTEGER)) if low else whole
    number = _clamp_expression(_as_double(typed), low, high, Kind.REAL)
    offset = Fraction(1, 2) - low / step
    is_far = abs(offset) > MOST_STEPS
    if is_far:
        # Too far from zero for one addition to be exact enough.
        number = exp.Paren(this=exp.Sub(this=number, expression=number_constant(low)))
        offset = Fraction(1, 2)
    scaled = exp.Mul(this=number, expression=number_constant(1 / step))
    floor: exp.Expr = exp.Floor(this=exp.Add(this=scaled, expression=number_constant(offset)))
    if is_far:
        # The doubles nearest to the bounds may be farther from each other than the bounds.
        floor = _clamp_expression(floor, Fraction(0), Fraction(most), Kind.REAL)
    # Doubles are added up as they are only where that is exact.
    return floor if most <= FINEST else exp.cast(floor, exp.DataType.Type.BIGINT)


def _as_double(typed: TypedExpression) -> exp.Expr:
    if typed.kind is Kind.REAL:
        # NaN in a column is handled where the column is clamped, at less cost.
        is_column = isinstance(typed.tree, exp.Column)
        return typed.tree.copy() if is_column else without_nan(typed).tree.copy()
    return exp.cast(typed.tree.copy(), exp.DataType.Type.DOUBLE)


def _clamp_expression(tree: exp.Expr, low: Fraction, high: Fraction, kind: Kind) -> exp.Expr:
    """Return a number moved to the nearer bound if it is beyond; NULL becomes the lower one.

    So does NaN of a column; no other tree may have any.
    """
    least, most = number_constant(low, kind), number_constant(high, kind)
    if isinstance(tree, exp.Column):
        # DuckDB is quicker with this than with GREATEST and LEAST; a computed number would be
        # computed three times.
        is_nan = exp.If(this=exp.EQ(this=tree.copy(), expression=nan()), true=least.copy())
        end = most if kind is Kind.INTEGER else exp.Case(ifs=[is_nan], default=most)
        beyond = exp.If(this=exp.GTE(this=tree.copy(), expression=most.copy()), true=end.copy())
        inside = exp.If(this=exp.GT(this=tree.copy(), expression=least), true=tree.copy())
        return exp.Case(ifs=[beyond, inside], default=least.copy())
    above = exp.Greatest(this=tree.copy(), expressions=[least], ignore_nulls=True)
    return exp.Least(this=above, expressions=[most], ignore_nulls=True)


def step_index(block: SumBlock) -> exp.Expr:
    """Return which step a row's number is at, NULL where there is none."""
    count, first = block.moments[0], block.moments[1]
    whole = exp.cast(first.tree.copy(), exp.DataType.Type.BIGINT)
    missing = exp.If(this=build.is_null(count.tree.copy()), true=exp.Null())
    return exp.Case(ifs=[missing], default=whole)
