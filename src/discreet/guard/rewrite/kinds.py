"""Kinds of values: PostgreSQL's types as far as rewriting distinguishes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.sql.types import ALIASES, SERIALS, TYPES

UNKNOWN = "unknown"  # a quoted literal or NULL, which takes the type of its context

_NUMBERS = ("int2", "int4", "int8", "numeric", "float4", "float8")
# The common kind of two values of one category: the later of the two.
_RANKS = (*_NUMBERS, *("bpchar", "varchar", "text", "date", "timestamp", "timestamptz"))
# The category of each kind: values of one category can be compared, which is less than PostgreSQL's.
CATEGORIES: Mapping[str, str] = {
    **{name: TYPES[name].category for name in (*_RANKS, "bool", "uuid")},
    "time": "T",
    "interval": "I",
    "bytea": "Y",
    "json": "J",
}
WHOLE = ("int2", "int4", "int8")
# Types that are read as another one, and names that other engines give to types.
_READ_AS = {"name": "text", "jsonb": "json"}
_NAMES = {
    **ALIASES,
    **SERIALS,
    "jsonb": "json",
    "double": "float8",
    "string": "text",
    "blob": "bytea",
}
_DATA_TYPES: Mapping[object, str] = {
    tree: _READ_AS.get(name, name)
    for name in (*CATEGORIES, *_READ_AS)
    for tree in TYPES[name].elsewhere.trees
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
    kind = _NAMES.get(bare, bare)
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
    return exp.DataType(this=TYPES[kind].elsewhere.trees[0], nested=False)


def long_name(kind: str | None) -> str:
    """Return PostgreSQL's name of a kind in messages."""
    known = TYPES.get(kind or UNKNOWN)
    return known.long_name if known else str(kind)


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
