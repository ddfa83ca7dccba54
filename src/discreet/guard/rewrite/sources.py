"""What a write reads beside its target: WITH, FROM of UPDATE, and USING of DELETE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.rewrite.allowed import check_allowed, unsupported_feature
from discreet.guard.rewrite.joins import read_from_clause
from discreet.guard.rewrite.normalize import normalize_select
from discreet.guard.rewrite.queries import read_commons
from discreet.guard.rewrite.scope import Scope

if TYPE_CHECKING:
    from discreet.guard.rewrite.targets import WriteTarget


@dataclass(frozen=True)
class WriteSources:
    """The names that a write may use beside its target's, and where they come from, as a SELECT."""

    scope: Scope
    finished: exp.Select


def read_sources(target: WriteTarget, tree: exp.Expr) -> WriteSources | None:
    """Check WITH, FROM and USING of a write; None if it has none of them."""
    query = _as_select(tree)
    if query is None:
        return None
    if target.relation.multilevel:
        raise unsupported_feature("WITH, FROM or USING in a write of a table with labels")
    check_allowed(query)
    query = normalize_select(query)
    scope = Scope()
    read_commons(target.reading, query, scope)
    read_from_clause(target.reading, query, scope)
    if any(join.args.get("side") in ("RIGHT", "FULL") for join in query.args.get("joins") or []):
        raise unsupported_feature("A RIGHT or FULL JOIN beside the table that is written")
    if any(entry.name == target.entry.name for entry in scope.entries):
        raise StatementFailed("42712", f'table name "{target.entry.name}" specified more than once')
    return WriteSources(scope, query)


def _as_select(tree: exp.Expr) -> exp.Select | None:
    """Return a SELECT of nothing with the same WITH and FROM; None without either."""
    clause = tree.args.get("from_")
    items = [clause.this] if clause is not None else list(tree.args.get("using") or [])
    if not items and tree.args.get("with_") is None:
        return None
    query = exp.Select(expressions=[exp.Literal.number(1)])
    joins: list[exp.Expr] = []
    for place, item in enumerate(items):
        first = item.copy()
        inner = first.args.get("joins") or []
        first.set("joins", None)
        if place:
            joins.append(exp.Join(this=first))
        else:
            query.set("from_", exp.From(this=first))
        joins += inner
    if joins:
        query.set("joins", joins)
    if tree.args.get("with_") is not None:
        query.set("with_", tree.args["with_"].copy())
    return query
