"""Cells as expressions that never fail and mean the same on every engine: compared, never parsed.

Types of columns are schema, which is public; nothing here looks at a row.
"""

from __future__ import annotations

import datetime as dt

from sqlglot import exp

from discreet.engines.engine import Kind
from discreet.engines.render import TOTAL, byte_order
from discreet.sql import build

_STAMP = exp.DataType.Type.TIMESTAMPNTZ
# Beyond these, a number of any column counts as one of them: no cast to a double can fail between.
LARGEST, SMALLEST = 1e30, 1e-30
# DuckDB cannot compare its widest numbers without a sign with any others.
_UNSIGNED = "UHUGEINT"
_WIDEST = 2**62


def comparable_cell(cell: exp.Expr, kind: Kind, type_name: str = "") -> exp.Expr:
    """Return a cell in the form that its values are compared in.

    Text is compared by its bytes, decimals as doubles, moments without zone (in UTC).
    """
    if kind in (Kind.TEXT, Kind.OTHER):
        return byte_order(exp.cast(cell.copy(), exp.DataType.Type.TEXT))
    if kind is Kind.REAL:
        return exp.cast(cell.copy(), exp.DataType.Type.DOUBLE)
    if kind is Kind.DECIMAL:
        return _decimal_as_double(cell)
    if kind is Kind.TIMESTAMP:
        return _try_cast(cell, exp.DataType(this=_STAMP))
    if kind is Kind.INTEGER and type_name.upper() == _UNSIGNED:
        return _unsigned_as_integer(cell)
    return cell.copy()


def missing_condition(value: exp.Expr, kind: Kind) -> exp.Expr:
    """Return whether a comparable cell has no value; NaN is none."""
    is_null = build.is_null(value.copy())
    if kind is not Kind.REAL:
        return is_null
    nan = exp.cast(build.text("NaN"), exp.DataType.Type.DOUBLE)
    return exp.or_(is_null, exp.EQ(this=value.copy(), expression=nan))


def value_literal(value: object, kind: Kind) -> exp.Expr:
    """Return a constant that comparable cells of `kind` are compared with."""
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if kind is Kind.INTEGER and isinstance(value, int):
        return _with_sign(exp.Literal.number(abs(value)), is_negative=value < 0)
    if isinstance(value, (int, float)):
        text = build.text(repr(abs(float(value))))
        return _with_sign(exp.cast(text, exp.DataType.Type.DOUBLE), is_negative=value < 0)
    if isinstance(value, dt.datetime):
        return exp.cast(build.text(value.isoformat(" ")), _STAMP)
    if isinstance(value, dt.date):
        return exp.cast(build.text(value.isoformat()), exp.DataType.Type.DATE)
    if isinstance(value, dt.time):
        return exp.cast(build.text(value.isoformat()), exp.DataType.Type.TIME)
    return build.text(str(value))


def _with_sign(tree: exp.Expr, *, is_negative: bool) -> exp.Expr:
    return exp.Paren(this=exp.Neg(this=tree)) if is_negative else tree


def _try_cast(cell: exp.Expr, kind: exp.DataType) -> exp.Expr:
    """Return a cast that can fail on DuckDB only, where it gives NULL."""
    cast = exp.TryCast(this=cell.copy(), to=kind, safe=True)
    cast.meta[TOTAL] = True
    return cast


def _unsigned_as_integer(cell: exp.Expr) -> exp.Expr:
    size = exp.cast(cell.copy(), exp.DataType.Type.DOUBLE)
    is_wide = exp.GTE(this=size, expression=value_literal(float(_WIDEST), Kind.REAL))
    narrow = _try_cast(cell, exp.DataType.build("BIGINT"))
    return exp.Case(ifs=[exp.If(this=is_wide, true=build.number(_WIDEST))], default=narrow)


def _decimal_as_double(cell: exp.Expr) -> exp.Expr:
    """Return a decimal of any size as a double, NaN as NULL.

    Numbers with an exponent compare with decimals of any size on every engine.
    """
    size = exp.Abs(this=cell.copy())
    words = [build.text(word) for word in ("NaN", "nan")]
    is_nan = exp.In(this=exp.cast(cell.copy(), exp.DataType.Type.TEXT), expressions=words)
    zero = exp.Literal.number("0e0")
    usual = exp.and_(
        exp.GTE(this=size, expression=exp.Literal.number(repr(SMALLEST))),
        exp.LT(this=size.copy(), expression=exp.Literal.number("1e30")),
    )
    tiny = exp.LT(this=size.copy(), expression=exp.Literal.number(repr(SMALLEST)))
    ends = {end: value_literal(end, Kind.REAL) for end in (0.0, -LARGEST, LARGEST)}
    ifs = [
        exp.If(this=usual, true=exp.cast(cell.copy(), exp.DataType.Type.DOUBLE)),
        exp.If(this=tiny, true=ends[0.0]),
        exp.If(this=exp.LT(this=cell.copy(), expression=zero), true=ends[-LARGEST]),
        exp.If(this=is_nan, true=exp.Null()),
        exp.If(this=exp.GT(this=cell.copy(), expression=zero.copy()), true=ends[LARGEST]),
    ]
    return exp.Case(ifs=ifs)
