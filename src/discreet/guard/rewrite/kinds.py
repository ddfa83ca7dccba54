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
ARRAY = "[]"  # suffix of the kind of an array, of one dimension
# Kinds that an array may have as elements; texts of any length are one kind there.
_ELEMENTS = frozenset({*_RANKS, "bool", "uuid", "time"} - {"varchar", "bpchar"})
# Types that are read as another one, and names that other engines give to types.
_READ_AS = {"name": "text", "jsonb": "json"}
_NAMES = {
    **ALIASES,
    **SERIALS,
    **_READ_AS,
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
    if bare.endswith(ARRAY):
        return array_of_kind(kind_named(bare.removesuffix(ARRAY)))
    kind = _NAMES.get(bare, bare)
    return kind if kind in CATEGORIES else None


def array_of_kind(element: str | None) -> str | None:
    """Return the kind of an array of a kind; None when there is none.

    >>> array_of_kind("int4"), array_of_kind("varchar"), array_of_kind("json")
    ('int4[]', 'text[]', None)
    """
    element = "text" if category(element) == "S" else element
    return f"{element}{ARRAY}" if element in _ELEMENTS else None


def element_kind(kind: str | None) -> str | None:
    """Return the kind of an array's elements; None for what is no array."""
    return kind.removesuffix(ARRAY) if kind is not None and kind.endswith(ARRAY) else None


def kind_of_cast(data_type: exp.Expr) -> str:
    """Return the target kind of a cast.

    Raises:
        StatementFailed: The type is not supported in casts here.
    """
    kind = _DATA_TYPES.get(data_type.this) if isinstance(data_type, exp.DataType) else None
    if isinstance(data_type, exp.DataType) and data_type.this == exp.DType.ARRAY:
        kind = _kind_of_array(data_type)
    elif kind is None or data_type.args.get("nested") or data_type.args.get("values"):
        kind = None
    if kind is None:
        raise StatementFailed("0A000", "a cast to this type is not supported here")
    return kind


def _kind_of_array(data_type: exp.DataType) -> str | None:
    elements = data_type.expressions
    is_plain = len(elements) == 1 and not elements[0].args.get("nested")
    return array_of_kind(kind_of_cast(elements[0])) if is_plain else None


def data_type(kind: str) -> exp.DataType:
    """Return the type of a kind, for casts."""
    element = element_kind(kind)
    if element is not None:
        return array_type(data_type(element))
    return exp.DataType(this=TYPES[kind].elsewhere.trees[0], nested=False)


def array_type(element: exp.DataType) -> exp.DataType:
    """Return the type of arrays of a type."""
    return exp.DataType(this=exp.DType.ARRAY, expressions=[element], nested=True)


def long_name(kind: str | None) -> str:
    """Return PostgreSQL's name of a kind in messages."""
    element = element_kind(kind)
    if element is not None:
        return f"{long_name(element)}{ARRAY}"
    known = TYPES.get(kind or UNKNOWN)
    return known.long_name if known else str(kind)


def category(kind: str | None) -> str | None:
    """Return the category of a kind, of an array its kind; None for unknown ones."""
    if kind is not None and kind.endswith(ARRAY):
        return kind
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
    if here is None or here == there:
        return True
    elements = element_kind(source), element_kind(target)
    if elements != (None, None):
        # Elements that are texts, and arrays as texts, are written differently by engines.
        is_text = "S" in (category(elements[0]), category(elements[1]))
        return None not in elements and not is_text and can_cast(*map(str, elements))
    return "S" in (here, there) or (here, there) in _CASTS


def can_assign(source: str | None, target: str) -> bool:
    """Whether a value of one kind may be put into a column of another."""
    here, there = category(source), category(target)
    elements = element_kind(source), element_kind(target)
    if elements != (None, None):
        is_numbers = category(elements[0]) == category(elements[1]) == "N"
        return here is None or here == there or is_numbers
    return here is None or there in (here, "S")


def is_lossless(source: str | None, target: str) -> bool:
    """Whether a cast cannot fail, whatever the value."""
    if source == target or (category(target) == "S" and source is not None):
        return True
    elements = element_kind(source), element_kind(target)
    if None not in elements:
        return is_lossless(elements[0], str(elements[1]))
    if source not in _RANKS or category(source) != category(target):
        return False
    return _RANKS.index(source) < _RANKS.index(target) and target != "numeric"
