"""CAST and TRY_CAST: NULL where a value is none of the wanted kind, alike on every engine."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from discreet.answer.expressions import dates
from discreet.answer.expressions.functions import round_number
from discreet.answer.expressions.numbers import number_range, to_integer, to_real
from discreet.answer.expressions.texts import lower_case, trim_text
from discreet.answer.expressions.typed import (
    NULL,
    TypedExpression,
    boolean_expression,
    integer_literal,
    make_refusal,
    map_domain,
    parenthesize,
    real_literal,
    value_domain,
    whole_literal,
)
from discreet.engines.engine import Kind

_Type = exp.DataType.Type
_WHOLE_CONSTANT = r"[+-]?[0-9]{1,15}"
_WHOLE = f"^{_WHOLE_CONSTANT}$"
_REAL = r"^[+-]?[0-9]{1,15}(\.[0-9]{1,15})?([eE][+-]?[0-9]{1,2})?$"
# Days that exist: Java's $ also stands before a last line break, so the second pattern forbids it.
_DATE = (
    r"([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    r"|02-(0[1-9]|1[0-9]|2[0-8]))"
    r"|([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)"
)
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
_TRUE = ("true", "t", "yes", "y", "1")
_FALSE = ("false", "f", "no", "n", "0")
_BITS: Mapping[_Type, int] = {
    _Type.TINYINT: 8,
    _Type.SMALLINT: 16,
    _Type.INT: 32,
    _Type.BIGINT: 64,
}


def cast_expression(typed: TypedExpression, to: exp.DataType) -> TypedExpression:
    """Return `typed` as another kind."""
    change = _CASTS.get(to.this)
    if change is None:
        raise make_refusal(
            f"CAST to {to.sql('duckdb')} is not answered.",
            "Cast to INTEGER, BIGINT, DOUBLE, DECIMAL, TEXT, DATE, TIMESTAMP or BOOLEAN.",
        )
    return NULL if typed.is_null else change(typed, to)


def _cast_to_integer(typed: TypedExpression, to: exp.DataType) -> TypedExpression:
    bits = _BITS[to.this]
    if typed.kind is Kind.BOOLEAN:
        return _truth_as_number(typed)
    typed = _read_whole_constant(typed)
    if typed.kind is Kind.TEXT:
        found = _from_text(typed, _WHOLE, "0-9+-", "BIGINT", Kind.INTEGER)
        found = replace(found, most=Fraction(10**15), least=Fraction(1), step=Fraction(1))
    else:
        _need_number(typed, to)
        found = round_number(typed)
    if bits == 64 and found.kind is Kind.INTEGER:
        return found
    return _within_bits(found, bits)


def _within_bits(found: TypedExpression, bits: int) -> TypedExpression:
    """Return a whole number that fits, NULL where it does not."""
    limit = Fraction(2 ** (bits - 1))
    low, high = number_range(found)
    tree, nullable = found.tree, found.nullable
    if low < -limit or high > limit - 1:
        literal = (
            real_literal if found.kind is Kind.REAL else lambda value: whole_literal(int(value))
        )
        fits = exp.and_(
            exp.GTE(this=parenthesize(tree), expression=literal(float(-limit))),
            exp.LT(this=parenthesize(tree), expression=literal(float(limit))),
        )
        tree, nullable = exp.Case(ifs=[exp.If(this=fits, true=tree.copy())]), True
    return replace(
        found,
        tree=exp.cast(tree.copy(), "BIGINT") if found.kind is Kind.REAL else tree,
        kind=Kind.INTEGER,
        low=None if found.low is None else max(found.low, -limit),
        high=None if found.high is None else min(found.high, limit),
        nullable=nullable,
        most=min(limit, max(abs(low), abs(high))),
        step=found.step or Fraction(1),
    )


def _cast_to_double(typed: TypedExpression, to: exp.DataType) -> TypedExpression:
    if typed.kind is Kind.BOOLEAN:
        return to_real(_truth_as_number(typed))
    typed = _read_whole_constant(typed)
    if typed.kind is Kind.TEXT:
        # Not marked as clean: real() takes what is too large or too small.
        return to_real(_from_text(typed, _REAL, "0-9+.eE-", "DOUBLE", Kind.REAL))
    _need_number(typed, to)
    return to_real(typed)


def _cast_to_decimal(typed: TypedExpression, to: exp.DataType) -> TypedExpression:
    sizes = [int(item.name) for item in to.expressions] or [18, 3]
    precision, scale = sizes[0], sizes[1] if len(sizes) > 1 else 0
    if not 0 <= scale <= min(15, precision):
        raise make_refusal("This DECIMAL has too many digits.", "Use at most 15 after the point.")
    found = round_number(_cast_to_double(typed, to), scale)
    low, high = number_range(found)
    limit = Fraction(10 ** (precision - scale))
    if -limit < low and high < limit:
        return found
    held = to_real(found)
    fits = exp.and_(
        exp.GT(this=parenthesize(held.tree), expression=real_literal(float(-limit))),
        exp.LT(this=parenthesize(held.tree), expression=real_literal(float(limit))),
    )
    return replace(
        held,
        tree=exp.Case(ifs=[exp.If(this=fits, true=held.tree.copy())]),
        nullable=True,
        most=min(limit, held.most or limit),
    )


def _cast_to_text(typed: TypedExpression, to: exp.DataType) -> TypedExpression:
    del to
    if typed.kind is Kind.TEXT:
        return typed
    held: Mapping[Kind, tuple[Callable[[TypedExpression], TypedExpression], int]] = {
        Kind.INTEGER: (to_integer, 20),
        Kind.BOOLEAN: (lambda item: item, 5),
        Kind.DATE: (dates.to_date, 10),
        Kind.TIMESTAMP: (dates.to_timestamp, 26),
    }
    if typed.kind not in held:
        raise make_refusal(
            f"Engines write {typed.kind.value} values differently, so CAST to TEXT is refused.",
            "Make it a whole number first: CAST(ROUND(x) AS BIGINT).",
        )
    hold, longest = held[typed.kind]
    item = hold(typed)
    return TypedExpression(
        tree=exp.cast(item.tree.copy(), "TEXT"),
        kind=Kind.TEXT,
        values=None if value_domain(item) is None else map_domain(item, _format_value),
        nullable=typed.nullable,
        longest=longest,
    )


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, dt.date) else str(value)


def _cast_to_date(typed: TypedExpression, to: exp.DataType) -> TypedExpression:
    del to
    if typed.kind is not Kind.TEXT:
        return dates.to_date(typed)
    if isinstance(typed.constant, str):
        return dates.to_date(dates.parse_date_literal(typed.constant, "DATE"))
    found = _from_text(typed, f"^{_DATE}$", "0-9-", "DATE", Kind.DATE)
    return replace(found, most=Fraction(dt.date.max.toordinal()))


def _cast_to_timestamp(typed: TypedExpression, to: exp.DataType) -> TypedExpression:
    del to
    if typed.kind is not Kind.TEXT:
        return dates.to_timestamp(typed)
    if isinstance(typed.constant, str):
        return dates.to_timestamp(dates.parse_date_literal(typed.constant, "TIMESTAMP"))
    pattern = f"^{_DATE}([ T]{_TIME})?$"
    found = _from_text(typed, pattern, "0-9T:. -", _Type.TIMESTAMPNTZ, Kind.TIMESTAMP)
    return replace(found, most=Fraction(1))


def _cast_to_boolean(typed: TypedExpression, to: exp.DataType) -> TypedExpression:
    if typed.kind is Kind.BOOLEAN:
        return typed
    if typed.kind is Kind.TEXT:
        tested = parenthesize(lower_case(trim_text(typed, "BOTH")).tree)
        ifs = [
            exp.If(this=exp.In(this=tested.copy(), expressions=_text_literals(words)), true=truth)
            for words, truth in ((_TRUE, exp.true()), (_FALSE, exp.false()))
        ]
        return replace(boolean_expression(exp.Case(ifs=ifs), typed), nullable=True)
    _need_number(typed, to)
    held = to_real(typed)
    return boolean_expression(
        exp.NEQ(this=parenthesize(held.tree), expression=real_literal(0.0)), held
    )


def _text_literals(words: tuple[str, ...]) -> list[exp.Expr]:
    return [exp.Literal.string(word) for word in words]


def _truth_as_number(typed: TypedExpression) -> TypedExpression:
    ifs = [
        exp.If(this=exp.true(), true=whole_literal(1)),
        exp.If(this=exp.false(), true=whole_literal(0)),
    ]
    return TypedExpression(
        tree=exp.Case(this=typed.tree.copy(), ifs=ifs),
        kind=Kind.INTEGER,
        low=Fraction(0),
        high=Fraction(1),
        step=Fraction(1),
        values=(0, 1),
        nullable=typed.nullable,
        most=Fraction(1),
        least=Fraction(1),
    )


def _from_text(
    typed: TypedExpression, pattern: str, letters: str, to: str | _Type, kind: Kind
) -> TypedExpression:
    """Return the value of a text that has the form of its kind; every engine can read such a text."""
    trimmed = trim_text(typed, "BOTH").tree
    fits = exp.RegexpLike(this=parenthesize(trimmed), expression=exp.Literal.string(pattern))
    other = exp.RegexpLike(
        this=parenthesize(trimmed), expression=exp.Literal.string(f"[^{letters}]")
    )
    valid = exp.and_(exp.Paren(this=fits), exp.Not(this=exp.Paren(this=other)))
    if kind in (Kind.DATE, Kind.TIMESTAMP):
        no_year = exp.Like(this=parenthesize(trimmed), expression=exp.Literal.string("0000%"))
        valid = exp.and_(valid, exp.Not(this=exp.Paren(this=no_year)))
    guarded = exp.Case(ifs=[exp.If(this=valid, true=trimmed.copy())])
    return TypedExpression(exp.cast(guarded, to), kind)


def _read_whole_constant(typed: TypedExpression) -> TypedExpression:
    """Return a text of the question that is a whole number as that number, and anything else as it is.

    So the values of parameters, which are casts of texts, cost as little as numbers.
    """
    text = typed.constant
    if isinstance(text, str) and re.fullmatch(_WHOLE_CONSTANT, text):
        return integer_literal(int(text))
    return typed


def _need_number(typed: TypedExpression, to: exp.DataType) -> None:
    if not typed.is_number:
        raise make_refusal(
            f"CAST of {typed.kind.value} values to {to.sql('duckdb')} is not answered.",
            "Use EXTRACT for parts of dates.",
        )


_CASTS: Mapping[_Type, Callable[[TypedExpression, exp.DataType], TypedExpression]] = {
    **dict.fromkeys(_BITS, _cast_to_integer),
    **dict.fromkeys((_Type.DOUBLE, _Type.FLOAT), _cast_to_double),
    _Type.DECIMAL: _cast_to_decimal,
    **dict.fromkeys(
        (_Type.TEXT, _Type.VARCHAR, _Type.CHAR, _Type.NCHAR, _Type.NVARCHAR), _cast_to_text
    ),
    _Type.DATE: _cast_to_date,
    **dict.fromkeys((_Type.TIMESTAMP, _Type.TIMESTAMPNTZ), _cast_to_timestamp),
    _Type.BOOLEAN: _cast_to_boolean,
}
