"""How RETURNING is read: as the columns of a SELECT from the rows that were written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.rewrite.allowed import check, refused
from discreet.guard.rewrite.kinds import UNKNOWN
from discreet.guard.rewrite.naming import name_of
from discreet.guard.rewrite.normal import normalized
from discreet.guard.rewrite.reading import resolved, settle, typed
from discreet.guard.rewrite.scope import folded

if TYPE_CHECKING:
    from discreet.guard.rewrite.scope import Origin
    from discreet.guard.rewrite.targets import Target


@dataclass(frozen=True)
class Returned:
    """The columns of RETURNING, aliased, with their names and kinds."""

    columns: tuple[exp.Expr, ...]
    names: tuple[str, ...]
    kinds: tuple[str | None, ...]
    origins: tuple[Origin | None, ...]


def read_returning(target: Target, clause: exp.Expr | None) -> Returned | None:
    """Read RETURNING."""
    if clause is None:
        return None
    if clause.args.get("into"):
        raise refused("RETURNING INTO")
    columns = [pair for node in clause.expressions for pair in _expanded(target, node)]
    kinds: list[str | None] = []
    out: list[exp.Expr] = []
    for name, node in columns:
        item = exp.Alias(this=node, alias=exp.to_identifier(name, quoted=True))
        kind = typed(target.reading, item.this, target.place("RETURNING")).kind
        if kind == UNKNOWN:
            settle(target.reading, item.this, "text")
        kinds.append("text" if kind == UNKNOWN else kind)
        out.append(item)
    names = tuple(name for name, _ in columns)
    origins = tuple(_origin(target, item.this) for item in out)
    return Returned(tuple(out), names, tuple(kinds), origins)


def _origin(target: Target, node: exp.Expr) -> Origin | None:
    if not isinstance(node, exp.Column):
        return None
    return next((item.origin for item in target.entry.fields if item.key == node.name), None)


def _expanded(target: Target, node: exp.Expr) -> list[tuple[str, exp.Expr]]:
    is_qualified = isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
    if is_qualified and folded(node.args.get("table")) != target.entry.name:
        raise StatementFailed("42P01", "missing FROM-clause entry for the table of RETURNING")
    if isinstance(node, exp.Star) or is_qualified:
        check(node)
        return [
            (item.name, resolved(target.entry.reference(item), item))
            for item in target.entry.fields
            if item.in_star
        ]
    check(node)
    name = name_of(node)
    inner = normalized(node)
    return [(name, inner.this.pop() if isinstance(inner, exp.Alias) else inner)]
