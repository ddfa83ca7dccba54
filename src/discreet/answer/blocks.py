"""Statistics that share one noise: integers that one row changes by a known amount, and what they tell.

A number x between public bounds is counted in whole steps a = 0 … w from the lower bound. A row then
adds Bernstein weights of degree d to d + 1 sums: (w - a, a) for d = 1, ((w - a)², 2a(w - a), a²) for
d = 2. They are never negative and always add up to w^d, so that all of the sums together change by
exactly w^d in L1 norm, whatever the row holds. Count, sum, mean and variance all follow from these
sums, and the whole share of epsilon buys them together, where peers split it between the count and
the sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.answer.rows import constant
from discreet.engines.engine import Kind
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.answer.aggregates import Aggregate
    from discreet.answer.expressions.typed import Typed

ROWS = "n"  # the moment that counts rows
UNITS = "units"  # the moment that counts people
FINEST = 2**24  # steps between the bounds of a real number
FINEST_SQUARED = 2**15  # fewer, since their squares are added up
MOST_STEPS = 2**31  # so that 64 bits hold the sum over 2^32 rows


@dataclass(frozen=True)
class Moment:
    """A sum over rows that the engine computes: of whole numbers, or of 1 where there is one."""

    name: str
    tree: exp.Expr
    is_count: bool = False


@dataclass(frozen=True)
class Part:
    """A linear combination of moments that is never negative for any set of rows."""

    coefficients: Mapping[str, int]


@dataclass(frozen=True)
class Vertex:
    """A sum that gets noise: its positive parts less its negative ones."""

    plus: tuple[Part, ...]
    minus: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Block:
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


def count_rows() -> Block:
    """Return the number of rows."""
    return Block(ROWS, (Vertex((Part({ROWS: 1}),)),), 1)


def count_units() -> Block:
    """Return the number of people."""
    return Block(UNITS, (Vertex((Part({UNITS: 1}),)),), 1)


def count_values(name: str, typed: Typed) -> Block:
    """Return the number of rows that have a value."""
    moment = Moment(f"{name}m", typed.tree, is_count=True)
    return Block(name, (Vertex((Part({moment.name: 1}),)),), 1, (moment,))


def plain_sum(name: str, aggregate: Aggregate) -> Block:
    """Return a sum alone: one row changes it by the larger bound."""
    typed = _bounded(aggregate)
    step, _ = _steps(typed, FINEST)
    # Bounds far from zero and close to each other need no finer steps than doubles have.
    step = max(step, max(abs(typed.low or 0), abs(typed.high or 0)) / Fraction(MOST_STEPS))
    low, high = _whole(typed.low, step), _whole(typed.high, step)
    tree = _in_steps(aggregate, typed, Fraction(0), step, (low, high))
    weight = max(abs(low), abs(high))
    if low >= 0 or high <= 0:
        moment = Moment(f"{name}s", tree if low >= 0 else _negated(tree))
        part = (Part({moment.name: 1}),)
        vertex = Vertex(part) if low >= 0 else Vertex((), part)
        moments = (moment,)
    else:
        # Two sums of one sign each, so that they can be scaled down without growing.
        zero = build.number(0)
        above = Moment(f"{name}p", _when(exp.GT(this=tree.copy(), expression=zero), tree))
        below = Moment(f"{name}q", _when(exp.LT(this=tree.copy(), expression=zero), _negated(tree)))
        vertex = Vertex((Part({above.name: 1}),), (Part({below.name: 1}),))
        moments = (above, below)
    return Block(name, (vertex,), max(weight, 1), moments, 1, Fraction(0), step)


def spread(
    name: str, aggregate: Aggregate, *, degree: int, has_rest: bool, finest: int | None = None
) -> Block:
    """Return the Bernstein sums of `degree`; with `has_rest` also the rows that have no number."""
    typed = _bounded(aggregate)
    step, w = _steps(typed, finest or (FINEST if degree == 1 else FINEST_SQUARED))
    low = typed.low or Fraction(0)
    tree = _in_steps(aggregate, typed, low, step, (0, w))
    count = Moment(f"{name}m", tree, is_count=True)
    first = Moment(f"{name}s", tree)
    n, s = count.name, first.name
    moments: tuple[Moment, ...] = (count, first)
    if degree == 1:
        parts = [{n: w, s: -1}, {s: 1}]
    else:
        second = Moment(f"{name}t", exp.Mul(this=tree.copy(), expression=tree.copy()))
        t = second.name
        moments = (*moments, second)
        parts = [{n: w * w, s: -2 * w, t: 1}, {s: 2 * w, t: -2}, {t: 1}]
    weight = w**degree
    if has_rest:
        parts.append({ROWS: weight, n: -weight})
    vertices = tuple(Vertex((Part(part),)) for part in parts)
    return Block(name, vertices, weight, moments, degree, low, step, w, has_rest)


def _bounded(aggregate: Aggregate) -> Typed:
    typed = aggregate.argument
    if typed is None or typed.low is None or typed.high is None:
        raise ValueError("an aggregate without bounds is refused before it gets here")
    return typed


def _steps(typed: Typed, finest: int) -> tuple[Fraction, int]:
    """Return the size of a step between the bounds, and how many there are."""
    width = (typed.high or Fraction(0)) - (typed.low or Fraction(0))
    is_whole = typed.step is not None and (typed.low or Fraction(0)) % typed.step == 0
    if is_whole and typed.step is not None:
        count = ceil(width / typed.step)
        if count <= (MOST_STEPS if finest == FINEST else finest):
            return typed.step, max(count, 1)
    return width / finest, finest


def _whole(value: Fraction | None, step: Fraction) -> int:
    """Return a bound in steps, rounded away from zero."""
    exact = (value or Fraction(0)) / step
    return ceil(exact) if exact >= 0 else -ceil(-exact)


def _in_steps(
    aggregate: Aggregate, typed: Typed, low: Fraction, step: Fraction, within: tuple[int, int]
) -> exp.Expr:
    """Return how many steps the number is above `low`, as a 64-bit integer within limits."""
    big = exp.DataType.Type.BIGINT
    if typed.kind is Kind.INTEGER and step == 1 and low.denominator == 1:
        tree = exp.cast(typed.tree.copy(), big)
        if low:
            tree = exp.Sub(this=tree, expression=constant(low, Kind.INTEGER))
        return tree if aggregate.is_plain else _limited(tree, within)
    number: exp.Expr = exp.cast(typed.tree.copy(), exp.DataType.Type.DOUBLE)
    if low:
        number = exp.Paren(this=exp.Sub(this=number, expression=constant(low)))
    scaled = exp.Mul(this=number, expression=constant(1 / step))
    half = exp.Add(this=exp.Paren(this=scaled), expression=constant(Fraction(1, 2)))
    tree = exp.cast(exp.Floor(this=half), big)
    return tree if aggregate.is_plain else _limited(tree, within)


def _limited(tree: exp.Expr, within: tuple[int, int]) -> exp.Expr:
    """Return an integer within limits: arithmetic on doubles may have carried it a step beyond."""
    low, high = (constant(Fraction(limit), Kind.INTEGER) for limit in within)
    below = exp.If(this=exp.LT(this=tree.copy(), expression=low.copy()), true=low)
    above = exp.If(this=exp.GT(this=tree.copy(), expression=high.copy()), true=high)
    return exp.Case(ifs=[below, above], default=tree.copy())


def _negated(tree: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Neg(this=exp.Paren(this=tree.copy())))


def _when(test: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=test, true=value.copy())], default=build.number(0))
