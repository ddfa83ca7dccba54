"""Values of parameters, with their types: as literals, or as parameters of the engine.

Both ways the engine gets the same text and casts it to the same type, so that they give the same result.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, cast
from uuid import UUID

from sqlglot import exp

from discreet.engines.databases.database import EngineTraits
from discreet.errors import StatementFailed
from discreet.guard.rewrite.kinds import CATEGORIES, array_type, category, data_type, element_kind
from discreet.sql import build
from discreet.sql.decode import array_items
from discreet.sql.text_form import nested_text

if TYPE_CHECKING:
    from discreet.guard.rewrite.permitted import PermittedWrite

_DIGITS = 38
_NUMERICS = frozenset({"numeric", "numeric[]"})  # their size is part of their type


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
    text = engine_text(value, kind, traits=traits)
    source = exp.Null() if text is None else build.text(text)
    if kind == "bytea" and text is not None and not traits.is_postgresql:
        return exp.Unhex(this=source)
    wanted = _literal_type(kind, _numeric_form(text, kind))
    if element_kind(kind) is not None and not traits.is_postgresql:
        source = listed_texts(source)
    return exp.Cast(this=source, to=wanted)


def listed_texts(value: exp.Expr) -> exp.Expr:
    """Return the texts of an array that is written in JSON."""
    return exp.Anonymous(this="from_json", expressions=[value, build.text('["VARCHAR"]')])


def engine_text(value: object, kind: str, *, traits: EngineTraits) -> str | None:
    """Return a value as the text that the engine casts to its kind; None is NULL.

    Raises:
        StatementFailed: 22P02 and others for a value that PostgreSQL refuses.
    """
    element = element_kind(kind)
    if (element or kind) not in CATEGORIES:
        raise StatementFailed("0A000", "a parameter of this type is not supported here")
    if value is None:
        return None
    if element is not None:
        return _array_text(value, element, traits)
    if kind == "bytea":
        return _bytes_text(value, traits)
    text = value_text(value)
    if "\0" in text:
        raise StatementFailed("22021", "a text cannot hold a zero byte")
    return text if traits.read_literal is None else traits.read_literal(text, kind)


def _array_text(value: object, element: str, traits: EngineTraits) -> str:
    """Return a list as PostgreSQL writes an array, or as JSON."""
    if not traits.has_arrays or not isinstance(value, (list, tuple)):
        raise StatementFailed("0A000", "a parameter of this type is not supported here")
    cells = [engine_text(cell, element, traits=traits) for cell in cast("list[object]", value)]
    if not traits.is_postgresql:
        return json.dumps(cells, ensure_ascii=False)
    return nested_text(cells, "text")


@dataclass(frozen=True)
class EngineValues:
    """Values as an engine gets them: texts, and the types of those that have no fixed one.

    `forms` has one item for each `numeric`, in their order: the same tree serves all values of one form.
    """

    texts: tuple[str | None, ...]
    forms: tuple[str, ...] = ()


_NO_VALUES = EngineValues(())


def engine_values(
    parameters: Sequence[str], values: Sequence[object], *, traits: EngineTraits
) -> EngineValues:
    """Return values for the parameters of `with_engine_parameters`, each checked as for `literal`.

    >>> engine_values(["int4", "numeric"], [5, "1.25"], traits=EngineTraits())
    EngineValues(texts=('5', '1.25'), forms=('DECIMAL(38, 2)',))
    """
    if not parameters:
        return _NO_VALUES
    if len(values) < len(parameters):
        raise StatementFailed("08P01", f"bind message supplies {len(values)} parameters")
    texts = tuple(
        engine_text(value, kind, traits=traits)
        for value, kind in zip(values, parameters, strict=False)
    )
    if not _NUMERICS.intersection(parameters):
        return EngineValues(texts)
    forms = (
        _numeric_form(text, kind)
        for text, kind in zip(texts, parameters, strict=True)
        if kind in _NUMERICS
    )
    return EngineValues(texts, tuple(forms))


def with_engine_parameters(
    tree: exp.Expr, parameters: Sequence[str], forms: Sequence[str], *, traits: EngineTraits
) -> tuple[exp.Expr, tuple[int, ...]]:
    """Return a copy of a tree in which each parameter is a text that the engine casts to its type.

    The copy numbers those that are left in it from 1; the second item are the places of their values.

    Args:
        tree: A permitted tree.
        parameters: PostgreSQL's names of the parameters' types.
        forms: The types of its numerics, as in `EngineValues`.
        traits: The engine's.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT $2", dialect="postgres")
    >>> found, places = with_engine_parameters(tree, ["text", "int4"], [], traits=EngineTraits())
    >>> found.sql(dialect="postgres"), places
    ('SELECT CAST($1 AS INT)', (1,))
    """
    left = iter(forms)
    types = [_literal_type(kind, next(left) if kind in _NUMERICS else "") for kind in parameters]
    holder = exp.Paren(this=tree.copy())
    nodes = list(holder.find_all(exp.Parameter))
    places = tuple(sorted({int(node.name) - 1 for node in nodes}))
    if places and places[-1] >= len(parameters):
        raise StatementFailed("08P01", f"bind message supplies {len(parameters)} parameters")
    for node in nodes:
        place = int(node.name) - 1
        value = exp.Parameter(this=build.number(places.index(place) + 1))
        if parameters[place] == "bytea" and not traits.is_postgresql:
            node.replace(exp.Unhex(this=exp.Cast(this=value, to=data_type("text"))))
        elif element_kind(parameters[place]) is not None and not traits.is_postgresql:
            texts = listed_texts(exp.Cast(this=value, to=data_type("text")))
            node.replace(exp.Cast(this=texts, to=types[place].copy()))
        else:
            node.replace(exp.Cast(this=value, to=types[place].copy()))
    return holder.this.pop(), places


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


def _bytes_text(value: object, traits: EngineTraits) -> str:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise StatementFailed("22P02", "invalid input syntax for type bytea")
    digits = bytes(value).hex()
    return f"\\x{digits}" if traits.is_postgresql else digits


def _numeric_form(text: str | None, kind: str) -> str:
    """Return the type of a number; numerics without precision get one that every engine keeps."""
    if kind == "numeric[]":
        return _widest_form(text)
    if kind != "numeric":
        return ""
    after = len(text.partition(".")[2]) if text else 10
    if after > _DIGITS:
        return f"DECIMAL({_DIGITS}, 20)"
    if text and not text.replace(".", "").lstrip("+-").isdecimal():
        return "float8"
    return f"DECIMAL({_DIGITS}, {after})"


def _widest_form(text: str | None) -> str:
    """Return the type that keeps each number of an array."""
    if not text:
        return _numeric_form(None, "numeric")
    cells = json.loads(text) if text.startswith("[") else array_items(text)
    forms = {_numeric_form(cell, "numeric") for cell in cells if cell is not None}
    return "float8" if "float8" in forms else max(forms, key=_form_order, default="DECIMAL(38, 10)")


def _form_order(form: str) -> int:
    return int(form.partition(",")[2].rstrip(")"))


def _literal_type(kind: str, form: str) -> exp.DataType:
    element = element_kind(kind)
    if element is not None:
        return array_type(_literal_type(element, form))
    if not form:
        return data_type("text" if category(kind) == "S" else kind)
    return data_type(form) if form == "float8" else exp.DataType.build(form)


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
    sources = None if permitted.sources is None else bound(permitted.sources)
    if sources is not None and not isinstance(sources, exp.Select):
        raise StatementFailed("XX000", "internal error: a query was expected")
    return replace(
        permitted,
        rows=rows,
        sources=sources,
        on_conflict=conflict,
        assignments=bound_all(permitted.assignments),
        condition=None if permitted.condition is None else bound(permitted.condition),
        view_check=None if permitted.view_check is None else bound(permitted.view_check),
        with_check=None if permitted.with_check is None else bound(permitted.with_check),
        returning=None
        if permitted.returning is None
        else tuple(bound(tree) for tree in permitted.returning),
    )
