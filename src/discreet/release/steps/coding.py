"""Clipping, top and bottom coding, rounding: expressions that the engine computes, at any size."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
from sqlglot import exp

from discreet.engines.engine import Column, Kind, Table
from discreet.errors import InvalidStep
from discreet.policy.model import BottomCode, Clip, RoundNumbers, TopCode
from discreet.sql import build

Coding = Clip | TopCode | BottomCode | RoundNumbers

# From here on doubles have no digits behind the point, and some engines' FLOOR no room.
_WHOLE_FROM = 2**52


def code_value(step: Coding, column: Column) -> exp.Expr:
    """Return the value of `column` after `step`; a missing value and NaN stay what they are.

    Raises:
        InvalidStep: The column holds whole numbers and the step another number.
    """
    if isinstance(step, RoundNumbers):
        return _round_value(column, base=step.base)
    low = step.bounds[0] if isinstance(step, Clip) else None
    high = step.bounds[1] if isinstance(step, Clip) else None
    if isinstance(step, BottomCode):
        low = step.at
    if isinstance(step, TopCode):
        high = step.at
    return _clip_value(column, low=low, high=high)


def decimal_types(table: Table, steps: Sequence[Coding]) -> dict[str, exp.DataType]:
    """Return the type with room for the coded values of each column of decimals, by its name.

    Without it PostgreSQL forgets how many digits the column has.
    """
    numbers: dict[str, list[Decimal]] = {}
    for step in steps:
        found = table.column(step.column)
        if found is not None and found.kind is Kind.DECIMAL:
            numbers.setdefault(step.column, []).extend(_numbers_of(step))
    if not numbers:
        return {}
    wanted = [build.column(name) for name in numbers]
    schema = table.engine.run(build.select(*wanted, source=table.relation.copy()).limit(0)).schema
    return {
        name: _decimal_type(schema.field(name).type, numbers[name])
        for name in numbers
        if pa.types.is_decimal128(schema.field(name).type)
    }


def _numbers_of(step: Coding) -> tuple[Decimal, ...]:
    if isinstance(step, Clip):
        return step.bounds
    return (step.base,) if isinstance(step, RoundNumbers) else (step.at,)


def _decimal_type(arrow: Any, numbers: Sequence[Decimal]) -> exp.DataType:
    written = [number.as_tuple() for number in numbers]
    scale = max(arrow.scale, *(-int(number.exponent) for number in written))
    before = [number.adjusted() + 1 for number in numbers]
    # A digit more than either has: 9.95 is rounded to 10.
    whole = max(arrow.precision - arrow.scale, *before) + 1
    digits = [build.number(min(38, whole + scale)), build.number(scale)]
    return exp.DataType(
        this=exp.DataType.Type.DECIMAL,
        expressions=[exp.DataTypeParam(this=number) for number in digits],
    )


def _clip_value(column: Column, *, low: Decimal | None, high: Decimal | None) -> exp.Expr:
    value = build.column(column.name)
    tree = exp.case()
    if column.kind is Kind.REAL:  # to the engines NaN is the largest number
        tree = tree.when(exp.EQ(this=value.copy(), expression=_double_literal("NaN")), value.copy())
    if low is not None:
        bound = _number_literal(low, column)
        tree = tree.when(exp.LT(this=value.copy(), expression=bound), bound.copy())
    if high is not None:
        bound = _number_literal(high, column)
        tree = tree.when(exp.GT(this=value.copy(), expression=bound), bound.copy())
    return tree.else_(value)


def _round_value(column: Column, *, base: Decimal) -> exp.Expr:
    value = build.column(column.name)
    size = exp.Abs(this=value.copy())
    if column.kind is Kind.REAL:
        nearest, condition = _nearest_real(size, base=base)
    else:
        nearest = _nearest_exact(size, base=_number_literal(base, column))
        condition = exp.not_(build.is_null(value.copy()))
    negative = exp.LT(this=value.copy(), expression=exp.Literal.number(0))
    return (
        exp.case()
        .when(exp.and_(condition, negative), exp.Neg(this=exp.Paren(this=nearest.copy())))
        .when(condition.copy(), nearest)
        .else_(value)
    )


def _nearest_exact(size: exp.Expr, *, base: exp.Expr) -> exp.Expr:
    """Return the multiple of `base` nearest to `size` without a division, which would round."""
    rest = exp.Mod(this=size, expression=base)
    twice = exp.Mul(this=rest.copy(), expression=exp.Literal.number(2))
    below = exp.Sub(this=size.copy(), expression=rest)
    above = exp.Add(this=below.copy(), expression=base.copy())
    return exp.case().when(exp.GTE(this=twice, expression=base.copy()), above).else_(below)


def _nearest_real(size: exp.Expr, *, base: Decimal) -> tuple[exp.Expr, exp.Expr]:
    """Return the multiple of `base` nearest to `size`, and for which sizes this can be computed."""
    # As p / q, so that the last operation gives the double nearest to the multiple: 0.3, not 3 * 0.1.
    p, q = (_double_literal(str(part)) for part in base.as_integer_ratio())
    scaled = exp.Div(this=exp.Mul(this=size, expression=q), expression=p)
    half = exp.Add(this=scaled, expression=_double_literal("0.5"))
    multiple = exp.Mul(this=exp.cast(exp.Floor(this=half), "double"), expression=p.copy())
    largest = _double_literal(repr(float(base) * _WHOLE_FROM))
    condition = exp.LT(this=size.copy(), expression=largest)
    return exp.Div(this=multiple, expression=q.copy()), condition


def _number_literal(number: Decimal, column: Column) -> exp.Expr:
    """Return `number` as a literal of the column's kind."""
    if column.kind is Kind.REAL:
        return _double_literal(repr(float(number)))
    if column.kind is Kind.INTEGER and number != number.to_integral_value():
        raise InvalidStep(
            f"Column '{column.name}' holds whole numbers, but a step gives it {number:f}. "
            "Write a whole number in the step."
        )
    if column.kind is Kind.INTEGER:
        number = number.to_integral_value()
    literal = exp.Literal.number(format(abs(number), "f"))
    return exp.Neg(this=literal) if number < 0 else literal


def _double_literal(text: str) -> exp.Expr:
    # From text every engine takes the nearest double; from a decimal literal some do not.
    return exp.cast(build.text(text), "double")
