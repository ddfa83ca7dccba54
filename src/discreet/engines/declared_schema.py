"""Declared columns of a file without types of its own, and cells converted to fit them.

A policy's statements about a file are public; the content of its rows is not. A table read by its
declared schema has the same columns and kinds whatever its rows are: a cell that does not fit is NULL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlglot import exp

from discreet.engines.engine import DeclaredColumn, DeclaredSchema, Kind
from discreet.policy import model
from discreet.policy.text_format import APOSTROPHES, BLANKS, CellFormat, TextFormat
from discreet.sql import build

_CLOCK = r"([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?"
_YEAR = r"([1-9]\d{3}|\d[1-9]\d{2}|\d{2}[1-9]\d|\d{3}[1-9])"  # there is no year 0000
_DAY = rf"{_YEAR}-\d{{1,2}}-\d{{1,2}}"
_OFFSET = r" ?(Z|UTC|[+-]\d{2}(:?\d{2})?)"
# Spreadsheets write a day as its first midnight, and a time as one of their first day.
_MIDNIGHT = r"([ T]00:00(:00(\.0+)?)?)?"
_FIRST_DAY = r"(1899-12-3[01][ T])?"
_TRUE = (
    *("true", "t", "yes", "y", "1", "ja", "j", "oui", "o", "sí", "si", "s", "sì", "sim", "tak"),
    *("ano", "áno", "igen", "da", "kyllä", "wahr", "vrai", "verdadero", "vero", "prawda"),
)
_FALSE = (
    *("false", "f", "no", "n", "0", "nein", "non", "não", "nie", "nee", "nej", "nei", "ne", "nem"),
    *("nu", "ei", "falsch", "faux", "falso", "fałsz"),
)

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
        column.name: DeclaredColumn(KINDS[column.kind], _resolve_cells(column, policy.reading))
        for column in policy.columns
        if column.kind is not None
    }


def _resolve_cells(column: model.ColumnPolicy, table: TextFormat) -> CellFormat:
    """Return how the cells of a column are written: as it says itself, or as its file does."""
    own = column.written
    missing = table.missing if own.missing is None else own.missing
    if column.kind not in ("integer", "number"):
        return replace(own, missing=missing or None)
    thousands = own.thousands or table.thousands
    decimal = own.decimal or table.decimal or ("," if thousands == "." else ".")
    return replace(
        own,
        missing=missing or None,
        decimal=None if decimal == "." else decimal,
        thousands=None if thousands == decimal else thousands,
    )


def declared_file(policy: model.TablePolicy) -> DeclaredSchema:
    """Return what a policy says of a file: its columns with a kind, and how it is written."""
    reading = policy.reading
    return DeclaredSchema(
        declared_columns(policy),
        reading.delimiter,
        reading.encoding,
        is_multiline=reading.multiline is not False,
        skip=reading.skip,
        missing=reading.missing,
    )


def correct_schema(schema: DeclaredSchema, policy: model.TablePolicy) -> DeclaredSchema:
    """Return the inferred schema of a file, overridden by what its policy declares."""
    declared = declared_columns(policy)
    columns = {name: declared.get(name, one) for name, one in schema.columns.items()}
    return replace(schema, columns=columns, is_multiline=policy.reading.multiline is not False)


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
        return actual.is_number
    return declared is actual or (declared is Kind.TEXT and actual is Kind.OTHER)


def cast_declared(text: exp.Expr, declared: DeclaredColumn) -> exp.Expr:
    """Return a text as a value of the declared kind, NULL where it is not one; it never fails."""
    kind, written = declared.kind, declared.written
    value = present_cell(text, written)
    if kind is Kind.TEXT:
        return _apply_labels(text, value, written)
    if kind is Kind.BOOLEAN:
        return _parse_boolean(value)
    if kind in (Kind.INTEGER, Kind.REAL):
        return _parse_number(value, kind, written)
    if written.dates:
        forms = [parse_date(value, form, kind, since=written.since) for form in written.dates]
        return forms[0] if len(forms) == 1 else exp.Coalesce(this=forms[0], expressions=forms[1:])
    pattern, cut = {
        Kind.DATE: (_DAY + _MIDNIGHT, "[ T].*$"),
        Kind.TIMESTAMP: (rf"{_DAY}([ T]{_CLOCK})?", None),
        Kind.TIME: (_FIRST_DAY + _CLOCK, "^1899-12-3[01][ T]"),
    }[kind]
    found = _cast_where(_remove_pattern(value, cut), kind, where=matches_pattern(value, pattern))
    if kind is not Kind.TIMESTAMP:
        return found
    return exp.Coalesce(this=found, expressions=[_convert_to_utc(value)])


def present_cell(text: exp.Expr, written: CellFormat) -> exp.Expr:
    """Return a text without blanks around it, NULL where it says that there is no value."""
    value = exp.Nullif(this=exp.Trim(this=text.copy()), expression=build.text(""))
    if not written.missing:
        return value
    return exp.Case(
        ifs=[exp.If(this=_is_one_of(value, written.missing), true=exp.Null())], default=value.copy()
    )


def without_sign(value: exp.Expr, written: CellFormat) -> exp.Expr:
    """Return a text without the sign that stands before or after its number."""
    if written.sign is None:
        return value
    sign, blanks = re.escape(written.sign), f"[{BLANKS}]*"
    return _replace_pattern(value, rf"^([+-]?){blanks}{sign}{blanks}|{blanks}{sign}$", r"\1")


def plain_number(value: exp.Expr, written: CellFormat) -> exp.Expr:
    """Return the text of a number with a decimal point, and without sign and marks between thousands."""
    plain = without_sign(value, written)
    if written.thousands is not None:
        plain = _replace_pattern(plain, thousands_pattern(written.thousands), "")
    if written.decimal is not None:
        plain = exp.Replace(
            this=plain.copy(), expression=build.text(","), replacement=build.text(".")
        )
    return plain


def thousands_pattern(mark: str) -> str:
    """Return the pattern of a mark between thousands: blanks and apostrophes have several forms."""
    return {" ": f"[{BLANKS}]", "'": f"[{APOSTROPHES}]"}.get(mark, f"[{mark}]")


def parse_date(value: exp.Expr, form: str, kind: Kind, *, since: int | None = None) -> exp.Expr:
    """Return a text of the given form as a date or timestamp, NULL where it is none."""
    parsed = [_parse_moment(value, clock) for clock in _clock_forms(form)]
    moment = parsed[0] if len(parsed) == 1 else exp.Coalesce(this=parsed[0], expressions=parsed[1:])
    if "%y" in form and since is not None:
        moment = _shift_century(moment, since)
    return _cast_where(moment, kind, where=matches_pattern(value, date_pattern(form)))


def date_pattern(form: str) -> str:
    """Return the pattern of the texts that have the form of a date."""
    day, _, clock = form.partition(" %H") if " %H" in form else form.partition(" %I")
    digits = r"\d{2}" if "%Y%m" in day or "%d%m" in day or "%m%d" in day else r"\d{1,2}"
    pattern = day.replace(".", "[.]").replace("%Y", _YEAR).replace("%y", r"\d{2}")
    pattern = pattern.replace("%m", digits).replace("%d", digits).replace("%b", "[A-Za-z]{3}")
    if not clock:
        return pattern
    if "%p" in clock:
        return pattern + r" \d{1,2}:[0-5]\d(:[0-5]\d)? [AaPp][Mm]"
    return pattern + r" ([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d)?"


def matches_pattern(value: exp.Expr, pattern: str) -> exp.Expr:
    """Return whether a text as a whole has the pattern."""
    return exp.Anonymous(this="regexp_full_match", expressions=[value.copy(), build.text(pattern)])


def _apply_labels(text: exp.Expr, value: exp.Expr, written: CellFormat) -> exp.Expr:
    """Return a text, or what its code means; NULL where it says that there is no value."""
    plain = text.copy()
    if written.missing:
        plain = exp.Case(
            ifs=[exp.If(this=_is_one_of(exp.Trim(this=plain), written.missing), true=exp.Null())],
            default=text.copy(),
        )
    if not written.labels:
        return plain
    labels = [exp.If(this=build.text(code), true=build.text(to)) for code, to in written.labels]
    return exp.Case(this=value.copy(), ifs=labels, default=plain)


def _parse_number(value: exp.Expr, kind: Kind, written: CellFormat) -> exp.Expr:
    whole, mark = _whole_pattern(written), f"[{written.decimal or '.'}]"
    if kind is Kind.INTEGER:
        pattern, cut = rf"[+-]?(\d{{1,19}}{whole})({mark}0*)?", r"\.0*$"
    else:
        real = rf"((\d+{whole}){mark}?\d*|{mark}\d+)([eE][+-]?\d{{1,3}})?"
        pattern, cut = rf"[+-]?({real}|(?i:nan|inf|infinity))", None
    where = matches_pattern(without_sign(value, written), pattern)
    plain = _remove_pattern(plain_number(value, written), cut)
    found = _cast_where(plain, kind, where=where)
    codes = [code for code in map(_read_code, written.missing or ()) if code is not None]
    if not codes:
        return found
    is_code = exp.In(this=found.copy(), expressions=codes)
    return exp.Case(ifs=[exp.If(this=is_code, true=exp.Null())], default=found)


def _whole_pattern(written: CellFormat) -> str:
    """Return the alternative for whole numbers that groups of three digits are."""
    if written.thousands is None:
        return ""
    return rf"|\d{{1,3}}({thousands_pattern(written.thousands)}\d{{3}}){{1,5}}"


def _read_code(word: str) -> exp.Expr | None:
    """Return a word for missing values as a number, so that it means 999, 999.0 and 999,00 alike."""
    return build.number(int(word)) if re.fullmatch(r"-?\d{1,9}", word) else None


def _is_one_of(value: exp.Expr, words: Iterable[str]) -> exp.Expr:
    return exp.In(this=value.copy(), expressions=[build.text(word) for word in words])


def _clock_forms(form: str) -> list[str]:
    """Return the forms that one form stands for: seconds may be there or not."""
    short = form.replace("%M:%S", "%M")
    return [short.replace("%M", "%M:%S"), short] if "%M" in form else [form]


def _parse_moment(value: exp.Expr, form: str) -> exp.Expr:
    return exp.Anonymous(this="try_strptime", expressions=[value.copy(), build.text(form)])


def _shift_century(moment: exp.Expr, since: int) -> exp.Expr:
    """Return a moment of 1969 to 2068 in the hundred years from `since` on."""
    year = exp.Anonymous(this="year", expressions=[moment.copy()])
    span = exp.Anonymous(this="to_years", expressions=[build.number(100)])
    return exp.Case(
        ifs=[
            exp.If(
                this=exp.LT(this=year.copy(), expression=build.number(since)),
                true=exp.Add(this=moment.copy(), expression=span.copy()),
            ),
            exp.If(
                this=exp.GTE(this=year.copy(), expression=build.number(since + 100)),
                true=exp.Sub(this=moment.copy(), expression=span.copy()),
            ),
        ],
        default=moment.copy(),
    )


def _convert_to_utc(value: exp.Expr) -> exp.Expr:
    """Return a time with its offset as the time in UTC."""
    to = exp.DataType.build("TIMESTAMPTZ", dialect="duckdb")
    since = exp.Anonymous(this="epoch_us", expressions=[exp.TryCast(this=value.copy(), to=to)])
    moment = exp.Anonymous(this="make_timestamp", expressions=[since])
    where = matches_pattern(value, rf"{_DAY}[ T]{_CLOCK}{_OFFSET}")
    return exp.Case(ifs=[exp.If(this=where, true=moment)])


def _parse_boolean(value: exp.Expr) -> exp.Expr:
    lower = exp.Lower(this=value)
    return exp.Case(
        ifs=[
            exp.If(this=_is_one_of(lower, words), true=truth)
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


def _replace_pattern(value: exp.Expr, pattern: str, by: str) -> exp.Expr:
    parts = [value.copy(), build.text(pattern), build.text(by), build.text("g")]
    return exp.Anonymous(this="regexp_replace", expressions=parts)
