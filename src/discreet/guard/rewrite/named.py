"""The relations that a statement names, whatever it does with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.guard.rewrite.joins import find
from discreet.guard.rewrite.scope import folded

if TYPE_CHECKING:
    from discreet.guard.access.authority import Relation
    from discreet.guard.rewrite.reading import Reading


def relations_named(reading: Reading, tree: exp.Expr) -> list[Relation]:
    """Return the relations that a tree names, common table expressions aside."""
    found: dict[tuple[str, str], Relation] = {}
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier) or _is_common(table):
            continue
        relation = find(reading, folded(table.args.get("db")) or None, folded(table.this))
        found[relation.key] = relation
    return list(found.values())


def _is_common(table: exp.Table) -> bool:
    """Whether a name is that of a common table expression that is in sight."""
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
            if folded(common.args["alias"].this) == folded(table.this):
                return True
        node = node.parent
    return False
