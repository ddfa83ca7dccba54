"""Parameters become typed literals: the same for every engine, and no value is part of a text."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING
from uuid import UUID

from sqlglot import exp

from discreet.engines.databases.database import EngineTraits
from discreet.errors import StatementFailed
from discreet.guard.rewrite.kinds import CATEGORIES, category, data_type
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.guard.rewrite.permitted import PermittedWrite

_DIGITS = 38


def bind_query(
    tree: exp.Expr,
    parameters: Sequence[str],
    values: Sequence[object],
    *,
    traits: EngineTraits,
) -> exp.Expr:
    """Return a copy of a tree with a typed literal in place of every parameter.

    Args:
        tree: A permitted tree.
        parameters: PostgreSQL's names of the parameters' types, as `PermittedQuery.parameters`.
        values: Python values, in the same order.
        traits: The engine's.

    Raises:
        StatementFailed: 08P01 for too few values, 22P02 for one that is not of its type.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT $1", dialect="postgres")
    >>> bind_query(tree, ["int4"], [5], traits=EngineTraits()).sql(dialect="postgres")
    "SELECT CAST('5' AS INT)"
    """
    holder = exp.Paren(this=tree.copy())
    for node in list(holder.find_all(exp.Parameter)):
        number = int(node.name)
        if number > len(values) or number > len(parameters):
            raise StatementFailed("08P01", f"bind message supplies {len(values)} parameters")
        node.replace(literal(values[number - 1], parameters[number - 1], traits=traits))
    return holder.this.pop()


def literal(value: object, kind: str, *, traits: EngineTraits) -> exp.Expr:
    """Return a value as a literal of a kind."""
    if kind not in CATEGORIES:
        raise StatementFailed("0A000", "a parameter of this type is not supported here")
    if value is None:
        return exp.Cast(this=exp.Null(), to=_literal_type(kind, None))
    if kind == "bytea":
        return _bytes_literal(value, traits)
    text = value_text(value)
    if "\0" in text:
        raise StatementFailed("22021", "a text cannot hold a zero byte")
    if traits.read_literal is not None:
        text = traits.read_literal(text, kind)
    return exp.Cast(this=build.text(text), to=_literal_type(kind, text))


def value_text(value: object) -> str:
    """Return a Python value as the text of a literal."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return "NaN" if math.isnan(value) else repr(value).replace("inf", "Infinity")
        case Decimal():
            return format(value, "f")
        case dt.timedelta():
            seconds = value.seconds + value.microseconds / 1e6
            return f"{value.days} days {seconds:.6f} seconds"
        case dt.datetime():
            return value.isoformat(sep=" ")
        case dt.date() | dt.time():
            return value.isoformat()
        case int() | str() | UUID():
            return str(value)
        case _:
            raise StatementFailed("0A000", "a parameter of this type is not supported here")


def _literal_type(kind: str, text: str | None) -> exp.DataType:
    """Return the type of a literal; numerics without precision get one that every engine keeps."""
    if kind != "numeric":
        return data_type("text" if category(kind) == "S" else kind)
    after = len(text.partition(".")[2]) if text else 10
    if text and (not text.replace(".", "").lstrip("+-").isdecimal() or after > _DIGITS):
        return data_type("float8") if not after > _DIGITS else exp.DataType.build("DECIMAL(38, 20)")
    return exp.DataType.build(f"DECIMAL({_DIGITS}, {after})")


def _bytes_literal(value: object, traits: EngineTraits) -> exp.Expr:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise StatementFailed("22P02", "invalid input syntax for type bytea")
    digits = bytes(value).hex()
    if traits.is_postgresql:
        return exp.Cast(this=build.text(f"\\x{digits}"), to=data_type("bytea"))
    return exp.Unhex(this=build.text(digits))


def bind_write(
    permitted: PermittedWrite, values: Sequence[object], *, traits: EngineTraits
) -> PermittedWrite:
    """Return a write with typed literals in place of all parameters."""

    def bound(tree: exp.Expr) -> exp.Expr:
        return bind_query(tree, permitted.parameters, values, traits=traits)

    def bound_all(trees: Mapping[str, exp.Expr]) -> dict[str, exp.Expr]:
        return {name: bound(tree) for name, tree in trees.items()}

    conflict = permitted.on_conflict
    if conflict is not None:
        conflict = replace(
            conflict,
            assignments=None if conflict.assignments is None else bound_all(conflict.assignments),
            condition=None if conflict.condition is None else bound(conflict.condition),
        )
    rows = None if permitted.rows is None else bound(permitted.rows)
    if rows is not None and not isinstance(rows, exp.Query):
        raise StatementFailed("XX000", "internal error: a query was expected")
    return replace(
        permitted,
        rows=rows,
        on_conflict=conflict,
        assignments=bound_all(permitted.assignments),
        condition=None if permitted.condition is None else bound(permitted.condition),
        with_check=None if permitted.with_check is None else bound(permitted.with_check),
        returning=None
        if permitted.returning is None
        else tuple(bound(tree) for tree in permitted.returning),
    )
