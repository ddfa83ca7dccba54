"""The relations that a statement names, whatever it does with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.guard.access.authority import Relation
from discreet.guard.rewrite.joins import resolve_relation
from discreet.guard.rewrite.scope import fold_identifier

if TYPE_CHECKING:
    from discreet.guard.rewrite.analysis import StatementAnalysis


def relations_named(reading: StatementAnalysis, tree: exp.Expr) -> list[Relation]:
    """Return the relations that a tree names, common table expressions aside."""
    found: dict[tuple[str, str], Relation] = {}
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier) or _is_common(table):
            continue
        relation = resolve_relation(
            reading, fold_identifier(table.args.get("db")) or None, fold_identifier(table.this)
        )
        found[relation.key] = relation
    return list(found.values())


def _is_common(table: exp.Table) -> bool:
    """Whether a name is that of a visible common table expression."""
    if table.args.get("db"):
        return False
    node, inside = table.parent, None
    while node is not None:
        if isinstance(node, exp.CTE):
            inside = node
        clause = node.args.get("with_")
        for common in clause.expressions if clause is not None else []:
            if common is inside:
                break
            if fold_identifier(common.args["alias"].this) == fold_identifier(table.this):
                return True
        node = node.parent
    return False
