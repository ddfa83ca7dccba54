"""CAST and TRY_CAST: NULL where a value is none of the wanted kind, alike on every engine."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.answer.expressions import dates
from discreet.answer.expressions.functions import rounded
from discreet.answer.expressions.numbers import interval, real, whole
from discreet.answer.expressions.texts import lower, trim
from discreet.answer.expressions.typed import (
    NULL,
    Typed,
    boolean,
    domain,
    inner,
    mapped,
    real_literal,
    refused,
    whole_literal,
)
from discreet.engines.engine import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_Type = exp.DataType.Type
_WHOLE = r"^[+-]?[0-9]{1,15}$"
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


def cast(typed: Typed, to: exp.DataType) -> Typed:
    """Return `typed` as another kind."""
    change = _CASTS.get(to.this)
    if change is None:
        raise refused(
            f"CAST to {to.sql('duckdb')} is not answered.",
            "Cast to INTEGER, BIGINT, DOUBLE, DECIMAL, TEXT, DATE, TIMESTAMP or BOOLEAN.",
        )
    return NULL if typed.is_null else change(typed, to)


def _integer(typed: Typed, to: exp.DataType) -> Typed:
    bits = _BITS[to.this]
    if typed.kind is Kind.BOOLEAN:
        return _truth_as_number(typed)
    if typed.kind is Kind.TEXT:
        found = _from_text(typed, _WHOLE, "0-9+-", "BIGINT", Kind.INTEGER)
        found = replace(found, most=Fraction(10**15), least=Fraction(1), step=Fraction(1))
    else:
        _need_number(typed, to)
        found = rounded(typed)
    if bits == 64 and found.kind is Kind.INTEGER:
        return found
    return _within_bits(found, bits)


def _within_bits(found: Typed, bits: int) -> Typed:
    """Return a whole number that fits, NULL where it does not."""
    limit = Fraction(2 ** (bits - 1))
    low, high = interval(found)
    tree, nullable = found.tree, found.nullable
    if low < -limit or high > limit - 1:
        literal = (
            real_literal if found.kind is Kind.REAL else lambda value: whole_literal(int(value))
        )
        fits = exp.and_(
            exp.GTE(this=inner(tree), expression=literal(float(-limit))),
            exp.LT(this=inner(tree), expression=literal(float(limit))),
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


def _double(typed: Typed, to: exp.DataType) -> Typed:
    if typed.kind is Kind.BOOLEAN:
        return real(_truth_as_number(typed))
    if typed.kind is Kind.TEXT:
        # Not marked as clean: real() takes what is too large or too small.
        return real(_from_text(typed, _REAL, "0-9+.eE-", "DOUBLE", Kind.REAL))
    _need_number(typed, to)
    return real(typed)


def _decimal(typed: Typed, to: exp.DataType) -> Typed:
    sizes = [int(item.name) for item in to.expressions] or [18, 3]
    precision, scale = sizes[0], sizes[1] if len(sizes) > 1 else 0
    if not 0 <= scale <= min(15, precision):
        raise refused("This DECIMAL has too many digits.", "Use at most 15 after the point.")
    found = rounded(_double(typed, to), scale)
    low, high = interval(found)
    limit = Fraction(10 ** (precision - scale))
    if -limit < low and high < limit:
        return found
    held = real(found)
    fits = exp.and_(
        exp.GT(this=inner(held.tree), expression=real_literal(float(-limit))),
        exp.LT(this=inner(held.tree), expression=real_literal(float(limit))),
    )
    return replace(
        held,
        tree=exp.Case(ifs=[exp.If(this=fits, true=held.tree.copy())]),
        nullable=True,
        most=min(limit, held.most or limit),
    )


def _text(typed: Typed, to: exp.DataType) -> Typed:
    del to
    if typed.kind is Kind.TEXT:
        return typed
    held: Mapping[Kind, tuple[Callable[[Typed], Typed], int]] = {
        Kind.INTEGER: (whole, 20),
        Kind.BOOLEAN: (lambda item: item, 5),
        Kind.DATE: (dates.day, 10),
        Kind.TIMESTAMP: (dates.moment, 26),
    }
    if typed.kind not in held:
        raise refused(
            f"Engines write {typed.kind.value} values differently, so CAST to TEXT is refused.",
            "Make it a whole number first: CAST(ROUND(x) AS BIGINT).",
        )
    hold, longest = held[typed.kind]
    item = hold(typed)
    return Typed(
        tree=exp.cast(item.tree.copy(), "TEXT"),
        kind=Kind.TEXT,
        values=None if domain(item) is None else mapped(item, _written),
        nullable=typed.nullable,
        longest=longest,
    )


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, dt.date) else str(value)


def _date(typed: Typed, to: exp.DataType) -> Typed:
    del to
    if typed.kind is not Kind.TEXT:
        return dates.day(typed)
    if isinstance(typed.constant, str):
        return dates.day(dates.read(typed.constant, "DATE"))
    found = _from_text(typed, f"^{_DATE}$", "0-9-", "DATE", Kind.DATE)
    return replace(found, most=Fraction(dt.date.max.toordinal()))


def _timestamp(typed: Typed, to: exp.DataType) -> Typed:
    del to
    if typed.kind is not Kind.TEXT:
        return dates.moment(typed)
    if isinstance(typed.constant, str):
        return dates.moment(dates.read(typed.constant, "TIMESTAMP"))
    pattern = f"^{_DATE}([ T]{_TIME})?$"
    found = _from_text(typed, pattern, "0-9T:. -", _Type.TIMESTAMPNTZ, Kind.TIMESTAMP)
    return replace(found, most=Fraction(1))


def _boolean(typed: Typed, to: exp.DataType) -> Typed:
    if typed.kind is Kind.BOOLEAN:
        return typed
    if typed.kind is Kind.TEXT:
        tested = inner(lower(trim(typed, "BOTH")).tree)
        ifs = [
            exp.If(this=exp.In(this=tested.copy(), expressions=_words(words)), true=truth)
            for words, truth in ((_TRUE, exp.true()), (_FALSE, exp.false()))
        ]
        return replace(boolean(exp.Case(ifs=ifs), typed), nullable=True)
    _need_number(typed, to)
    held = real(typed)
    return boolean(exp.NEQ(this=inner(held.tree), expression=real_literal(0.0)), held)


def _words(words: tuple[str, ...]) -> list[exp.Expr]:
    return [exp.Literal.string(word) for word in words]


def _truth_as_number(typed: Typed) -> Typed:
    ifs = [
        exp.If(this=exp.true(), true=whole_literal(1)),
        exp.If(this=exp.false(), true=whole_literal(0)),
    ]
    return Typed(
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


def _from_text(typed: Typed, pattern: str, letters: str, to: str | _Type, kind: Kind) -> Typed:
    """Return what a text says if it has the form of its kind; every engine can read such a text."""
    trimmed = trim(typed, "BOTH").tree
    fits = exp.RegexpLike(this=inner(trimmed), expression=exp.Literal.string(pattern))
    other = exp.RegexpLike(this=inner(trimmed), expression=exp.Literal.string(f"[^{letters}]"))
    valid = exp.and_(exp.Paren(this=fits), exp.Not(this=exp.Paren(this=other)))
    if kind in (Kind.DATE, Kind.TIMESTAMP):
        no_year = exp.Like(this=inner(trimmed), expression=exp.Literal.string("0000%"))
        valid = exp.and_(valid, exp.Not(this=exp.Paren(this=no_year)))
    guarded = exp.Case(ifs=[exp.If(this=valid, true=trimmed.copy())])
    return Typed(exp.cast(guarded, to), kind)


def _need_number(typed: Typed, to: exp.DataType) -> None:
    if not typed.is_number:
        raise refused(
            f"CAST of {typed.kind.value} values to {to.sql('duckdb')} is not answered.",
            "Use EXTRACT for parts of dates.",
        )


_CASTS: Mapping[_Type, Callable[[Typed, exp.DataType], Typed]] = {
    **dict.fromkeys(_BITS, _integer),
    **dict.fromkeys((_Type.DOUBLE, _Type.FLOAT), _double),
    _Type.DECIMAL: _decimal,
    **dict.fromkeys((_Type.TEXT, _Type.VARCHAR, _Type.CHAR, _Type.NCHAR, _Type.NVARCHAR), _text),
    _Type.DATE: _date,
    **dict.fromkeys((_Type.TIMESTAMP, _Type.TIMESTAMPNTZ), _timestamp),
    _Type.BOOLEAN: _boolean,
}
