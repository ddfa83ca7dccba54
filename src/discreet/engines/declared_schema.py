"""Declared columns of a file without types of its own, and cells converted to fit them.

A policy's statements about a file are public; the content of its rows is not. A table read by its
declared schema has the same columns and kinds whatever its rows are: a cell that does not fit is NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from discreet.engines.engine import DeclaredColumn, DeclaredSchema, Kind
from discreet.policy import model
from discreet.sql import build

_CLOCK = r"([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?"
_YEAR = r"([1-9]\d{3}|\d[1-9]\d{2}|\d{2}[1-9]\d|\d{3}[1-9])"  # there is no year 0000
_DAY = rf"{_YEAR}-\d{{1,2}}-\d{{1,2}}"
_OFFSET = r" ?(Z|UTC|[+-]\d{2}(:?\d{2})?)"
# Spreadsheets write a day as its first midnight, and a time as one of their first day.
_MIDNIGHT = r"([ T]00:00(:00(\.0+)?)?)?"
_FIRST_DAY = r"(1899-12-3[01][ T])?"
_TRUE, _FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")

# The kinds by their names in a policy.
KINDS: Mapping[str, Kind] = {
    "boolean": Kind.BOOLEAN,
    "integer": Kind.INTEGER,
    "number": Kind.REAL,
    "text": Kind.TEXT,
    "date": Kind.DATE,
    "time": Kind.TIME,
    "timestamp": Kind.TIMESTAMP,
}
KIND_NAMES: Mapping[Kind, str] = {kind: word for word, kind in KINDS.items()}
# The type in DuckDB of each kind that a schema may declare.
TYPES: Mapping[Kind, str] = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INTEGER: "BIGINT",
    Kind.REAL: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.DATE: "DATE",
    Kind.TIME: "TIME",
    Kind.TIMESTAMP: "TIMESTAMP",
}


def declared_columns(policy: model.TablePolicy) -> dict[str, DeclaredColumn]:
    """Return the columns of a policy's table that it gives a kind."""
    return {
        column.name: DeclaredColumn(KINDS[column.kind], column.format)
        for column in policy.columns
        if column.kind is not None
    }


def correct_schema(schema: DeclaredSchema, policy: model.TablePolicy) -> DeclaredSchema:
    """Return the inferred schema of a file, overridden by what its policy declares."""
    declared = declared_columns(policy)
    columns = {name: declared.get(name, one) for name, one in schema.columns.items()}
    return replace(schema, columns=columns)


def types_of(columns: Mapping[str, DeclaredColumn]) -> dict[str, str]:
    """Return the type in DuckDB of each column."""
    return {name: TYPES[one.kind] for name, one in columns.items()}


def declared_kind(kind: Kind) -> Kind:
    """Return the kind that a policy can declare for a column of `kind`."""
    if kind is Kind.DECIMAL:
        return Kind.REAL
    return Kind.TEXT if kind is Kind.OTHER else kind


def is_kind_compatible(declared: Kind, actual: Kind) -> bool:
    """Whether a typed column of `actual` already is of the `declared` kind."""
    if declared is Kind.REAL:
        return actual in (Kind.INTEGER, Kind.DECIMAL, Kind.REAL)
    return declared is actual or (declared is Kind.TEXT and actual is Kind.OTHER)


def cast_declared(text: exp.Expr, declared: DeclaredColumn) -> exp.Expr:
    """Return a text as a value of the declared kind, NULL where it is not one; it never fails."""
    if declared.kind is Kind.TEXT:
        return text.copy()
    value = exp.Nullif(this=exp.Trim(this=text.copy()), expression=build.text(""))
    if declared.kind is Kind.BOOLEAN:
        return _parse_boolean(value)
    if declared.format is not None:
        return _by_format(value, declared.format)
    is_clock = declared.kind is Kind.TIMESTAMP
    pattern, cut = {
        Kind.INTEGER: (r"[+-]?\d{1,19}(\.0*)?", r"\.0*$"),
        Kind.REAL: (r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?|[+-]?(?i:nan|inf|infinity)", None),
        Kind.DATE: (_DAY + _MIDNIGHT, "[ T].*$"),
        Kind.TIMESTAMP: (rf"{_DAY}([ T]{_CLOCK})?", None),
        Kind.TIME: (_FIRST_DAY + _CLOCK, "^1899-12-3[01][ T]"),
    }[declared.kind]
    found = _cast_where(
        _remove_pattern(value, cut), declared.kind, where=_matches_pattern(value, pattern)
    )
    return exp.Coalesce(this=found, expressions=[_convert_to_utc(value)]) if is_clock else found


def _convert_to_utc(value: exp.Expr) -> exp.Expr:
    """Return a time with its offset as the time in UTC."""
    to = exp.DataType.build("TIMESTAMPTZ", dialect="duckdb")
    since = exp.Anonymous(this="epoch_us", expressions=[exp.TryCast(this=value.copy(), to=to)])
    moment = exp.Anonymous(this="make_timestamp", expressions=[since])
    where = _matches_pattern(value, rf"{_DAY}[ T]{_CLOCK}{_OFFSET}")
    return exp.Case(ifs=[exp.If(this=where, true=moment)])


def _by_format(value: exp.Expr, form: str) -> exp.Expr:
    pattern = form.replace(".", "[.]").replace("%Y", _YEAR)
    pattern = pattern.replace("%m", r"\d{1,2}").replace("%d", r"\d{1,2}")
    parsed = exp.Anonymous(this="try_strptime", expressions=[value.copy(), build.text(form)])
    return _cast_where(parsed, Kind.DATE, where=_matches_pattern(value, pattern))


def _parse_boolean(value: exp.Expr) -> exp.Expr:
    lower = exp.Lower(this=value)
    return exp.Case(
        ifs=[
            exp.If(
                this=exp.In(this=lower.copy(), expressions=[build.text(word) for word in words]),
                true=truth,
            )
            for words, truth in ((_TRUE, exp.true()), (_FALSE, exp.false()))
        ]
    )


def _cast_where(value: exp.Expr, kind: Kind, *, where: exp.Expr) -> exp.Expr:
    to = exp.DataType.build(TYPES[kind], dialect="duckdb")
    return exp.Case(ifs=[exp.If(this=where, true=exp.TryCast(this=value.copy(), to=to))])


def _remove_pattern(value: exp.Expr, pattern: str | None) -> exp.Expr:
    if pattern is None:
        return value
    parts = [value.copy(), build.text(pattern), build.text("")]
    return exp.Anonymous(this="regexp_replace", expressions=parts)


def _matches_pattern(value: exp.Expr, pattern: str) -> exp.Expr:
    return exp.Anonymous(this="regexp_full_match", expressions=[value.copy(), build.text(pattern)])
