"""The columns of a catalog query, resolved through subqueries and WITH to their relation."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TypeAlias

from sqlglot import exp

from discreet.server.catalog.rows.produce import DENIED, catalog_columns
from discreet.server.catalog.standard import INFORMATION, REGISTERED, SYSTEM
from discreet.server.catalog.syntax import is_array, output_name, type_name
from discreet.sql.names import common_table, from_items

# Columns by name; the type is pg_type's name, or None where only DuckDB knows.
Output: TypeAlias = list[tuple[str, str | None]]

# Functions whose result is not a text, but a name or an OID.
_RETURNED = {
    **dict.fromkeys(
        (
            *("pg_get_userbyid", "pg_encoding_to_char", "current_database", "current_schema"),
            *("current_user", "session_user"),
        ),
        "name",
    ),
    **{f"to_{kind}": kind for kind in REGISTERED},
}
# Nodes that have the type of their operand.
_LIKE_INSIDE = (exp.Alias, exp.Paren, exp.Min, exp.Max, exp.Coalesce, exp.Collate, exp.Nullif)


def relation_key(table: exp.Table) -> tuple[str, str] | None:
    """Return the catalog relation that a table of a query names, or None when it names another."""
    if not isinstance(table.this, exp.Identifier):
        return None
    schema = table.db or SYSTEM
    known = catalog_columns((schema, table.name)) is not None
    if schema in (SYSTEM, INFORMATION) and (table.db or known or table.name in DENIED):
        return schema, table.name
    return None


def _is_circular(table: exp.Table, cte: exp.CTE) -> bool:
    """Whether a WITH query names itself, or one after it."""
    ctes = list(cte.parent.expressions) if cte.parent is not None else []
    node = table.parent
    while node is not None:
        for place, other in enumerate(ctes):
            if node is other:
                return any(cte is each for each in ctes[place:])
        node = node.parent
    return False


def _rename_columns(columns: Output, alias: exp.Expr | None) -> Output:
    names = [each.name for each in alias.columns] if isinstance(alias, exp.TableAlias) else []
    if not names:
        return columns
    return [
        (names[place] if place < len(names) else name, kind)
        for place, (name, kind) in enumerate(columns)
    ]


@cache
def _catalog_output(key: tuple[str, str]) -> Output:
    return [(each.name, each.type) for each in catalog_columns(key) or ()]


def _source_columns(source: exp.Expr) -> Output:
    alias = source.args.get("alias")
    match source:
        case exp.Table():
            cte = common_table(source)
            if cte is not None and _is_circular(source, cte):
                return []
            if cte is not None:
                return _rename_columns(
                    _rename_columns(output(cte.this), cte.args.get("alias")), alias
                )
            key = relation_key(source)
            return _rename_columns(_catalog_output(key) if key else [], alias)
        case exp.Subquery() if isinstance(source.this, exp.Query):
            return _rename_columns(output(source.this), alias)
        case exp.Lateral() if isinstance(source.this, exp.Subquery):
            return _rename_columns(output(source.this.unnest()), alias)
        case _:
            return []


def sources(select: exp.Select) -> Iterator[tuple[str, exp.Expr]]:
    """Return the sources of a SELECT by their names there."""
    found = from_items(select)
    for source in list(found):
        found += [join.this for join in source.args.get("joins") or ()]
    for source in found:
        yield source.alias_or_name, source


@contextmanager
def cache_outputs() -> Generator[dict[int, tuple[exp.Expr, Output]]]:
    """Cache the columns of queries during one lookup.

    Otherwise deeply nested queries with many columns would be resolved again and again, and a
    recursive one without end.
    """
    found: dict[int, tuple[exp.Expr, Output]] = {}
    before = _output_cache.set(found)
    try:
        yield found
    finally:
        _output_cache.reset(before)


_output_cache: ContextVar[dict[int, tuple[exp.Expr, Output]] | None] = ContextVar(
    "remembered", default=None
)


def output(query: exp.Expr) -> Output:
    """Return the columns of a query."""
    known = _output_cache.get()
    if known is None:
        with cache_outputs():
            return output(query)
    if id(query) not in known:
        known[id(query)] = (query, [])  # the columns that a recursive query sees of itself
        known[id(query)] = (query, _query_output(query))
    return known[id(query)][1]


def _query_output(query: exp.Expr) -> Output:
    match query:
        case exp.SetOperation():
            return output(query.left)
        case exp.Subquery():
            return output(query.this)
        case exp.Values():
            first = query.expressions[0].expressions if query.expressions else ()
            return [(f"column{place}", None) for place, _ in enumerate(first, start=1)]
        case exp.Select():
            found: Output = []
            for each in query.expressions:
                found += _projection_output(each, query)
            return found
        case _:
            return []


def _projection_output(node: exp.Expr, select: exp.Select) -> Output:
    if isinstance(node, exp.Star):
        return [column for _, source in sources(select) for column in _source_columns(source)]
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        for name, source in sources(select):
            if name == node.table:
                return _source_columns(source)
    return [(output_name(node), type_of(node, select))]


def _column_type(column: exp.Column, select: exp.Select | None) -> str | None:
    around: exp.Expr = column
    while select is not None:
        for name, source in sources(select):
            # A query inside FROM or WITH is not a source of its own columns.
            meant = common_table(source) if isinstance(source, exp.Table) else None
            if column.table in ("", name) and not _is_inside(around, meant or source):
                kind = dict(_source_columns(source)).get(column.name)
                if kind is not None:
                    return kind
        around, select = select, select.find_ancestor(exp.Select)
    return None


def _is_inside(node: exp.Expr | None, outer: exp.Expr) -> bool:
    while node is not None:
        if node is outer:
            return True
        node = node.parent
    return False


def type_of(node: exp.Expr, select: exp.Select | None = None) -> str | None:
    """Return the type of an expression as pg_type names it, or None where it cannot be determined."""
    select = select or node.find_ancestor(exp.Select)
    if isinstance(node, _LIKE_INSIDE):
        return type_of(node.this, select)
    match node:
        case (
            exp.Anonymous()
            | exp.CurrentSchema()
            | exp.CurrentDatabase()
            | exp.CurrentUser()
            | exp.SessionUser()
        ):
            return _RETURNED.get(output_name(node))
        case exp.Column():
            return _column_type(node, select)
        case exp.Cast():
            return type_name(node.to)
        case exp.Literal() if node.is_int:
            return "int4"
        case exp.Subquery():
            columns = output(node.this)
            return columns[0][1] if columns else None
        case exp.Bracket():
            return _element_type(type_of(node.this, select) or "")
        case _:
            return None


def _element_type(kind: str) -> str | None:
    found = {"int2vector": "int2", "oidvector": "oid"}.get(kind)
    return found or (kind.removeprefix("_") if is_array(kind) else None)


def source_of(column: exp.Column) -> exp.Table | None:
    """Return the catalog table whose system column, such as tableoid, is requested."""
    select = column.find_ancestor(exp.Select)
    while select is not None:
        for name, source in sources(select):
            if column.table in ("", name) and isinstance(source, exp.Table):
                return source
        select = select.find_ancestor(exp.Select)
    return None
