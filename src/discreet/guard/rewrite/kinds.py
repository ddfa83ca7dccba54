"""Kinds of values: PostgreSQL's types as far as rewriting distinguishes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from discreet.errors import StatementFailed

UNKNOWN = "unknown"  # a quoted literal or NULL, which takes the type of its context

# The category of each kind: values of one category can be compared.
CATEGORIES: Mapping[str, str] = {
    **dict.fromkeys(("int2", "int4", "int8", "numeric", "float4", "float8"), "N"),
    **dict.fromkeys(("text", "varchar", "bpchar"), "S"),
    **dict.fromkeys(("date", "timestamp", "timestamptz"), "D"),
    "bool": "B",
    "time": "T",
    "interval": "I",
    "uuid": "U",
    "bytea": "Y",
    "json": "J",
}
WHOLE = ("int2", "int4", "int8")
# The common kind of two values of one category: the later of the two.
_RANKS = (
    *("int2", "int4", "int8", "numeric", "float4", "float8"),
    *("bpchar", "varchar", "text", "date", "timestamp", "timestamptz"),
)
_LONG_NAMES = {
    "int2": "smallint",
    "int4": "integer",
    "int8": "bigint",
    "float4": "real",
    "float8": "double precision",
    "bool": "boolean",
    "varchar": "character varying",
    "bpchar": "character",
    "time": "time without time zone",
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
}
_ALIASES = {
    **{long: short for short, long in _LONG_NAMES.items()},
    **dict.fromkeys(("int", "serial", "serial4"), "int4"),
    **dict.fromkeys(("bigserial", "serial8"), "int8"),
    **dict.fromkeys(("smallserial", "serial2"), "int2"),
    **dict.fromkeys(("decimal", "dec"), "numeric"),
    **dict.fromkeys(("float", "double"), "float8"),
    "string": "text",
    "char": "bpchar",
    "blob": "bytea",
    "jsonb": "json",
}
_T = exp.DataType.Type
_DATA_TYPES: Mapping[object, str] = {
    _T.BOOLEAN: "bool",
    _T.SMALLINT: "int2",
    _T.INT: "int4",
    _T.BIGINT: "int8",
    _T.FLOAT: "float4",
    _T.DOUBLE: "float8",
    _T.DECIMAL: "numeric",
    _T.TEXT: "text",
    _T.VARCHAR: "varchar",
    _T.NAME: "text",
    _T.CHAR: "bpchar",
    _T.BPCHAR: "bpchar",
    _T.DATE: "date",
    _T.TIME: "time",
    _T.TIMESTAMP: "timestamp",
    _T.TIMESTAMPTZ: "timestamptz",
    _T.INTERVAL: "interval",
    _T.UUID: "uuid",
    _T.VARBINARY: "bytea",
    _T.JSON: "json",
    _T.JSONB: "json",
}
_WRITTEN = {kind: data_type for data_type, kind in reversed(_DATA_TYPES.items())} | {
    "text": _T.TEXT
}
# Explicit casts between categories, beside those from and to text.
_CASTS = frozenset({("N", "B"), ("B", "N"), ("D", "T"), ("T", "I"), ("I", "T"), ("S", "S")})


@dataclass(frozen=True)
class InferredType:
    """Properties of an expression's values: their kind, and how much longer than a cell they get.

    `kind` is None where it is unknown. `weight` bounds the length of a text in cells or hundreds of
    letters, so that repeated doubling is detected before it runs.
    """

    kind: str | None
    weight: float = 1.0


def kind_named(name: str) -> str | None:
    """Return the kind that a type's name stands for, None for an unknown one.

    >>> kind_named("numeric(10,2)"), kind_named("character varying(20)"), kind_named("point")
    ('numeric', 'varchar', None)
    """
    bare = re.sub(r"\s*\([^)]*\)", "", name.strip().lower())
    bare = re.sub(r"\s+", " ", bare)
    kind = _ALIASES.get(bare, bare)
    return kind if kind in CATEGORIES else None


def kind_of_cast(data_type: exp.Expr) -> str:
    """Return the target kind of a cast.

    Raises:
        StatementFailed: The type is not supported in casts here.
    """
    kind = _DATA_TYPES.get(data_type.this) if isinstance(data_type, exp.DataType) else None
    if kind is None or data_type.args.get("nested") or data_type.args.get("values"):
        raise StatementFailed("0A000", "a cast to this type is not supported here")
    return kind


def data_type(kind: str) -> exp.DataType:
    """Return the type of a kind, for casts."""
    return exp.DataType(this=_WRITTEN[kind], nested=False)


def long_name(kind: str | None) -> str:
    """Return PostgreSQL's name of a kind in messages."""
    return _LONG_NAMES.get(kind or UNKNOWN, kind or UNKNOWN)


def category(kind: str | None) -> str | None:
    """Return the category of a kind; None for unknown ones."""
    return CATEGORIES.get(kind) if kind else None


def common(left: str | None, right: str | None) -> str | None:
    """Return the common kind of two kinds, UNKNOWN for two literals, None when there is none.

    >>> common("int4", "float8"), common("text", UNKNOWN), common("text", "int4")
    ('float8', 'text', None)
    """
    if right in (left, UNKNOWN):
        return left
    if left == UNKNOWN:
        return right
    if category(left) is None or category(left) != category(right):
        return None
    return max((str(left), str(right)), key=_RANKS.index)


def can_cast(source: str | None, target: str) -> bool:
    """Whether an explicit cast between two kinds exists."""
    here, there = category(source), category(target)
    if here is None or here == there or "S" in (here, there):
        return True
    return (here, there) in _CASTS


def can_assign(source: str | None, target: str) -> bool:
    """Whether a value of one kind may be put into a column of another."""
    here, there = category(source), category(target)
    return here is None or there in (here, "S")


def is_lossless(source: str | None, target: str) -> bool:
    """Whether a cast cannot fail, whatever the value."""
    if source == target or (category(target) == "S" and source is not None):
        return True
    if source not in _RANKS or category(source) != category(target):
        return False
    return _RANKS.index(source) < _RANKS.index(target) and target != "numeric"
