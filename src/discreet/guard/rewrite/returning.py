"""Checks of RETURNING: like the columns of a SELECT from the written rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.rewrite.allowed import check_allowed, unsupported_feature
from discreet.guard.rewrite.analysis import infer_type, mark_resolved, settle_literal
from discreet.guard.rewrite.kinds import UNKNOWN
from discreet.guard.rewrite.naming import select_column_name
from discreet.guard.rewrite.normalize import normalize_tree
from discreet.sql.names import fold_identifier

if TYPE_CHECKING:
    from discreet.guard.rewrite.scope import Origin
    from discreet.guard.rewrite.targets import WriteTarget


@dataclass(frozen=True)
class ReturningColumns:
    """The columns of RETURNING, aliased, with their names and kinds."""

    columns: tuple[exp.Expr, ...]
    names: tuple[str, ...]
    kinds: tuple[str | None, ...]
    origins: tuple[Origin | None, ...]


def read_returning(target: WriteTarget, clause: exp.Expr | None) -> ReturningColumns | None:
    """Check RETURNING."""
    if clause is None:
        return None
    if clause.args.get("into"):
        raise unsupported_feature("RETURNING INTO")
    columns = [pair for node in clause.expressions for pair in _expand_column(target, node)]
    kinds: list[str | None] = []
    out: list[exp.Expr] = []
    for name, node in columns:
        item = exp.Alias(this=node, alias=exp.to_identifier(name, quoted=True))
        kind = infer_type(target.reading, item.this, target.place("RETURNING")).kind
        if kind == UNKNOWN:
            settle_literal(target.reading, item.this, "text")
        kinds.append("text" if kind == UNKNOWN else kind)
        out.append(item)
    names = tuple(name for name, _ in columns)
    origins = tuple(_column_origin(target, item.this) for item in out)
    return ReturningColumns(tuple(out), names, tuple(kinds), origins)


def _column_origin(target: WriteTarget, node: exp.Expr) -> Origin | None:
    if not isinstance(node, exp.Column):
        return None
    return next((item.origin for item in target.entry.fields if item.key == node.name), None)


def _expand_column(target: WriteTarget, node: exp.Expr) -> list[tuple[str, exp.Expr]]:
    is_qualified = isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
    if is_qualified and fold_identifier(node.args.get("table")) != target.entry.name:
        raise StatementFailed("42P01", "missing FROM-clause entry for the table of RETURNING")
    if isinstance(node, exp.Star) or is_qualified:
        check_allowed(node)
        return [
            (item.name, mark_resolved(target.entry.reference(item), item))
            for item in target.entry.fields
            if item.in_star
        ]
    check_allowed(node)
    name = select_column_name(node)
    inner = normalize_tree(node)
    return [(name, inner.this.pop() if isinstance(inner, exp.Alias) else inner)]
