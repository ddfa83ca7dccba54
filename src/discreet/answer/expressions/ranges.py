"""Bounds of numbers that follow from a WHERE alone."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from fractions import Fraction

from sqlglot import exp

from discreet.answer.expressions import compare, dates
from discreet.answer.expressions.rules import flatten_chain
from discreet.answer.expressions.translate import Resolver
from discreet.answer.expressions.typed import TypedExpression
from discreet.engines.engine import Kind
from discreet.errors import QuestionRefused

Place = tuple[str | None, str]
Range = tuple[Fraction | None, Fraction | None]

_EVERYTHING: Range = (None, None)
_MIRRORED: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}


def predicate_ranges(predicate: exp.Expr, resolve: Resolver) -> dict[Place, Range]:
    """Return the bounds that columns of rows passing `predicate` have, by table alias and name.

    Only comparisons of a column with constants count, joined by AND and OR. Bounds of dates are
    ordinals. Reals are meant as `translate` cleans them: NaN passes nothing.
    """
    while isinstance(predicate, exp.Paren):
        predicate = predicate.this
    if isinstance(predicate, (exp.And, exp.Or)):
        join = _intersect_ranges if isinstance(predicate, exp.And) else _union_ranges
        parts = flatten_chain(predicate, type(predicate))
        return functools.reduce(join, (predicate_ranges(part, resolve) for part in parts))
    if isinstance(predicate, exp.Between) and not predicate.args.get("symmetric"):
        above = _comparison_ranges(exp.GTE, predicate.this, predicate.args["low"], resolve)
        below = _comparison_ranges(exp.LTE, predicate.this, predicate.args["high"], resolve)
        return _intersect_ranges(above, below)
    if isinstance(predicate, exp.In):
        return _list_ranges(predicate, resolve)
    if type(predicate) in _MIRRORED:
        return _comparison_ranges(
            type(predicate), predicate.this, predicate.args["expression"], resolve
        )
    return {}


def _comparison_ranges(
    test: type[exp.Expr], left: exp.Expr, right: exp.Expr, resolve: Resolver
) -> dict[Place, Range]:
    if not isinstance(left, exp.Column):
        left, right, test = right, left, _MIRRORED[test]
    if not isinstance(left, exp.Column):
        return {}
    typed = resolve(left)
    value = _constant_value(right, typed, resolve)
    if value is None:
        return {}
    is_whole = typed.kind in (Kind.INTEGER, Kind.DATE)
    return {_column_place(left): _passing_range(test, value, is_whole=is_whole)}


def _passing_range(test: type[exp.Expr], value: Fraction, *, is_whole: bool) -> Range:
    """Return what passes; whole numbers below 50 are at most 49."""
    low = value if test in (exp.EQ, exp.GT, exp.GTE) else None
    high = value if test in (exp.EQ, exp.LT, exp.LTE) else None
    if is_whole and low is not None:
        low = Fraction(math.floor(low) + 1 if test is exp.GT else math.ceil(low))
    if is_whole and high is not None:
        high = Fraction(math.ceil(high) - 1 if test is exp.LT else math.floor(high))
    return low, high


def _list_ranges(node: exp.In, resolve: Resolver) -> dict[Place, Range]:
    column, items = node.this, node.expressions
    if not isinstance(column, exp.Column) or not items:
        return {}
    typed = resolve(column)
    values = [_constant_value(item, typed, resolve) for item in items]
    known = [value for value in values if value is not None]
    return {_column_place(column): (min(known), max(known))} if len(known) == len(values) else {}


def _constant_value(node: exp.Expr, column: TypedExpression, resolve: Resolver) -> Fraction | None:
    """Return a constant of the question as a number, or None."""
    from discreet.answer.expressions.translate import translate_expression

    if node.find(exp.Column):
        return None
    try:
        found = translate_expression(node, resolve)
        if column.kind is Kind.DATE and isinstance(found.constant, str):
            found = dates.parse_date_literal(found.constant, "a date")
    except QuestionRefused:  # translating the whole condition will report it
        return None
    fits = column.is_number and found.is_number
    fits = fits or (column.kind is Kind.DATE and found.kind is Kind.DATE)
    return found.low if fits and compare.is_constant(found) else None


def _column_place(column: exp.Column) -> Place:
    return column.table or None, column.name


def _intersect_ranges(
    first: Mapping[Place, Range], second: Mapping[Place, Range]
) -> dict[Place, Range]:
    found = dict(first)
    for place, (low, high) in second.items():
        known = found.get(place, _EVERYTHING)
        lows = [end for end in (known[0], low) if end is not None]
        highs = [end for end in (known[1], high) if end is not None]
        found[place] = max(lows, default=None), min(highs, default=None)
    return found


def _union_ranges(
    first: Mapping[Place, Range], second: Mapping[Place, Range]
) -> dict[Place, Range]:
    found: dict[Place, Range] = {}
    for place in first.keys() & second.keys():
        (low, high), (other_low, other_high) = first[place], second[place]
        found[place] = (
            None if low is None or other_low is None else min(low, other_low),
            None if high is None or other_high is None else max(high, other_high),
        )
    return {place: ends for place, ends in found.items() if ends != _EVERYTHING}
