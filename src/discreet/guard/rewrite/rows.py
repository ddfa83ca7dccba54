"""The rows of an INSERT and the values of an assignment, in the types of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from discreet.errors import StatementFailed
from discreet.guard.access.authority import Privilege, RelationColumn
from discreet.guard.rewrite.allowed import check_allowed, unsupported_feature
from discreet.guard.rewrite.analysis import ExpressionContext, infer_type, settle_literal
from discreet.guard.rewrite.kinds import UNKNOWN, can_assign, data_type, kind_named, long_name
from discreet.guard.rewrite.normalize import normalize_tree
from discreet.guard.rewrite.queries import read_query, settle_columns
from discreet.guard.rewrite.scope import Scope
from discreet.guard.statements.dialect import ClientPostgres
from discreet.guard.statements.plain_rows import FEWEST
from discreet.sql import build
from discreet.sql.names import fold_identifier

if TYPE_CHECKING:
    from discreet.guard.rewrite.targets import WriteTarget


_LEAVES = (exp.Literal, exp.Null, exp.Boolean)


def read_insert_rows(
    target: WriteTarget, tree: exp.Insert, listed: Sequence[str] | None
) -> tuple[tuple[str, ...], exp.Query | None]:
    """Check the rows of an INSERT: return the columns and the query, None for DEFAULT VALUES."""
    if tree.args.get("default"):
        return (), None
    source = tree.args.get("expression")
    if source is None:
        raise StatementFailed("42601", "syntax error: INSERT needs rows")
    if isinstance(source, exp.Values):
        return _from_values(target, source, listed)
    return _from_query(target, tree, source, listed)


def _target_columns(
    target: WriteTarget, listed: Sequence[str] | None, count: int
) -> list[RelationColumn]:
    """Return the columns that rows of `count` values are for."""
    if listed is None:
        columns = list(target.relation.columns)
    else:
        columns = [target.column(name) for name in listed]
        for name in listed:
            if listed.count(name) > 1:
                raise StatementFailed("42701", f'column "{name}" specified more than once')
        if count < len(columns):
            raise StatementFailed("42601", "INSERT has more target columns than expressions")
    if count > len(columns):
        raise StatementFailed("42601", "INSERT has more expressions than target columns")
    return columns[:count]


def _from_values(
    target: WriteTarget, source: exp.Values, listed: Sequence[str] | None
) -> tuple[tuple[str, ...], exp.Query]:
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in source.expressions]
    if len({len(row) for row in rows}) != 1:
        raise StatementFailed("42601", "VALUES lists must all be the same length")
    columns = _target_columns(target, listed, len(rows[0]))
    if len(rows) >= FEWEST:  # before the expensive part
        target.check(Privilege.INSERT, (column.name for column in columns))
    place = ExpressionContext(Scope(), "VALUES")
    read = [
        exp.Tuple(
            expressions=[
                read_value(target, column, cell, place)
                for column, cell in zip(columns, row, strict=True)
            ]
        )
        for row in rows
    ]
    handle = target.reading.handles.new("rows")
    keys = [f"c{number}" for number in range(1, len(columns) + 1)]
    alias = exp.TableAlias(
        this=exp.to_identifier(handle, quoted=True),
        columns=[exp.to_identifier(key, quoted=True) for key in keys],
    )
    shown = [
        build.alias_as(build.column(key, of=handle), column.name)
        for key, column in zip(keys, columns, strict=True)
    ]
    query = exp.select(*shown).from_(exp.Values(expressions=read, alias=alias))
    return tuple(column.name for column in columns), query


def _from_query(
    target: WriteTarget, tree: exp.Insert, source: exp.Expr, listed: Sequence[str] | None
) -> tuple[tuple[str, ...], exp.Query]:
    query = source.copy()
    if tree.args.get("with_") is not None:
        if query.args.get("with_") is not None:
            raise unsupported_feature("WITH twice")
        query.set("with_", tree.args["with_"].copy())
    check_allowed(query)
    query = normalize_tree(query)
    fields = read_query(target.reading, query, Scope())
    columns = _target_columns(target, listed, len(fields))
    kinds = [kind_named(column.type) for column in columns]
    settle_columns(target.reading, query, kinds)
    handle = target.reading.handles.new("rows")
    shown: list[exp.Expr] = []
    for column, item in zip(columns, fields, strict=True):
        _check_kind(column, item.kind)
        value: exp.Expr = build.column(item.key, of=handle)
        if item.kind not in (UNKNOWN, kind_named(column.type)):
            value = exp.Cast(this=value, to=assignment_type(column))
        shown.append(build.alias_as(value, column.name))
    if not isinstance(query, exp.Query):
        raise unsupported_feature("This source of rows")
    rows = exp.select(*shown).from_(build.subquery(query, handle))
    return tuple(column.name for column in columns), rows


def read_value(
    target: WriteTarget, column: RelationColumn, node: exp.Expr, place: ExpressionContext
) -> exp.Expr:
    """Check one value for a column and return it with the column's kind."""
    if is_default(node):
        node = assignment_default(column)
    if isinstance(node, _LEAVES):  # a fast path: it has no children, and there may be many
        holder = exp.Paren(this=type(node)(**node.args))
    else:
        check_allowed(node)
        holder = exp.Paren(this=normalize_tree(node))
    found = infer_type(target.reading, holder.this, place)
    kind = kind_named(column.type)
    _check_kind(column, found.kind)
    if found.kind == UNKNOWN and kind is not None:
        settle_literal(target.reading, holder.this, kind)
        inner = holder.this.unnest()
        if isinstance(inner, exp.Cast):
            inner.set("to", assignment_type(column))
    elif found.kind != kind and kind is not None and found.kind is not None:
        return exp.Cast(this=holder, to=assignment_type(column))
    return holder.this.pop()


def _check_kind(column: RelationColumn, kind: str | None) -> None:
    wanted = kind_named(column.type)
    if wanted is not None and not can_assign(kind, wanted):
        raise StatementFailed(
            "42804",
            f'column "{column.name}" is of type {long_name(wanted)} but expression is of type'
            f" {long_name(kind)}",
            hint="You will need to rewrite or cast the expression.",
        )


def assignment_type(column: RelationColumn) -> exp.DataType:
    """Return the cast type of values for a column: texts are not cut, numbers are rounded."""
    kind = kind_named(column.type) or "text"
    if kind != "numeric":
        return data_type("text" if kind in ("varchar", "bpchar") else kind)
    return exp.DataType.build(column.type, dialect="postgres")


def is_default(node: exp.Expr) -> bool:
    """Whether a value is the word DEFAULT."""
    if isinstance(node, exp.Var):
        return node.name.upper() == "DEFAULT"
    return (
        isinstance(node, exp.Column)
        and not node.args.get("table")
        and not node.this.args.get("quoted")
        and fold_identifier(node.this) == "default"
    )


def assignment_default(column: RelationColumn) -> exp.Expr:
    """Return the default of a column."""
    if column.default is None:
        return exp.Null()
    try:
        tree = parse_one(column.default, dialect=ClientPostgres)
    except (SqlglotError, RecursionError):
        tree = None
    if tree is None:
        raise unsupported_feature("This default")
    return tree
