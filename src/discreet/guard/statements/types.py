"""Types of columns, by PostgreSQL's names."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.errors import StatementFailed
from discreet.guard.statements.cursor import StatementCursor
from discreet.sql.types import TYPES

# The name of a column's type, by pg_type's: without what would come after a precision.
COLUMN_TYPES: Mapping[str, str] = {
    **{
        name: TYPES[name].long_name
        for name in (
            *("bool", "int2", "int4", "int8", "float4", "float8", "numeric", "text", "varchar"),
            *("bytea", "date", "interval", "uuid", "json", "jsonb"),
        )
    },
    "name": "name",
    **{name: name for name in ("time", "timestamp", "timestamptz")},
}
# Longest first, where one begins like another.
_NAMES = sorted(
    (
        (tuple(written.split()), shown)
        for name, shown in COLUMN_TYPES.items()
        for written in {name, TYPES[name].long_name, *TYPES[name].elsewhere.aliases}
    ),
    key=lambda pair: -len(pair[0]),
)

_INSTEAD = {
    "char": "varchar(n) or text",
    "character": "varchar(n) or text",
    "bpchar": "varchar(n) or text",
    "timetz": "time or timestamptz",
    "money": "numeric(12,2)",
    "bit": "text or bigint",
    "varbit": "text",
    "inet": "text",
    "cidr": "text",
    "xml": "text",
}


def parse_type(cursor: StatementCursor) -> str:
    """Skip a type and return PostgreSQL's name of it, such as `numeric(10,2)`."""
    written = cursor.word
    if cursor.take("float"):
        return _parse_float(cursor)
    for words, name in _NAMES:
        if cursor.take(*words):
            return _finish_type(cursor, name)
    if written.kind == "word" and written.text in _INSTEAD:
        instead = _INSTEAD[written.text]
        raise StatementFailed(
            "0A000", f"type {written.text} is not supported", hint=f"Write {instead}."
        )
    name = cursor.name()
    raise StatementFailed("42704", f'type "{name}" does not exist')


def _parse_float(cursor: StatementCursor) -> str:
    bits = _parse_modifiers(cursor)
    if not bits:
        return _finish_type(cursor, "double precision")
    if len(bits) > 1 or not 1 <= bits[0] <= 53:
        raise StatementFailed("22023", "precision for type float must be between 1 and 53")
    return _finish_type(cursor, "real" if bits[0] < 25 else "double precision")


def _finish_type(cursor: StatementCursor, name: str) -> str:
    modifiers = _parse_modifiers(cursor)
    if cursor.take("with", "time", "zone"):  # timestamp(3) with time zone, time with time zone
        raise StatementFailed(
            "0A000",
            f"this {name} with time zone is not supported",
            hint="Write timestamptz without precision.",
        )
    if cursor.take("without", "time", "zone") and name not in ("time", "timestamp"):
        raise cursor.unexpected()
    if cursor.at("[") or cursor.at("array"):
        return _finish_array(cursor, name, modifiers)
    if not modifiers:
        return name
    return _with_modifiers(name, modifiers)


def _finish_array(cursor: StatementCursor, name: str, modifiers: list[int]) -> str:
    """Return the type of arrays of a type; like PostgreSQL, without a limit of their length."""
    if cursor.take("["):
        if cursor.word.kind == "number":
            cursor.number()
        cursor.need("]")
    else:
        cursor.need("array")
    if cursor.at("[") or modifiers or name in _NO_ARRAYS:
        raise StatementFailed(
            "0A000",
            "this array is not supported",
            hint="Arrays have one dimension, and elements without a precision or length.",
        )
    return f"{name}[]"


_NO_ARRAYS = frozenset({COLUMN_TYPES[name] for name in ("bytea", "interval", "json", "jsonb")})


def _with_modifiers(name: str, modifiers: list[int]) -> str:
    if name == "character varying" and len(modifiers) == 1:
        if modifiers[0] < 1:
            raise StatementFailed("22023", "length for type varchar must be at least 1")
        return f"character varying({modifiers[0]})"
    if name == "numeric" and len(modifiers) <= 2:
        precision, scale = (*modifiers, 0)[:2]
        if not 1 <= precision <= 38 or not 0 <= scale <= precision:
            raise StatementFailed(
                "22023", "numeric has a precision from 1 to 38 and a scale up to that"
            )
        return f"numeric({precision},{scale})"
    raise StatementFailed(
        "0A000", f"type {name} has no such precision here", hint=f"Write {name} alone."
    )


def _parse_modifiers(cursor: StatementCursor) -> list[int]:
    if not cursor.at("("):
        return []
    written = cursor.in_parentheses(cursor.number)
    if not all(text.isdigit() and len(text) < 10 for text in written):
        raise StatementFailed("22023", "invalid type modifier")
    return [int(text) for text in written]
