"""Queries of views that can be written: rows of one relation, each as it is."""

from __future__ import annotations

from sqlglot import exp

from discreet.sql.walk import given_clauses

_PLAIN = frozenset({"expressions", "from_", "where", "order"})
_SETS = (exp.AggFunc, exp.Window, exp.Explode, exp.ExplodingGenerateSeries)


def shows_rows(tree: exp.Expr) -> bool:
    """Whether a query shows rows of one relation, each as it is.

    >>> from sqlglot import parse_one
    >>> [shows_rows(parse_one(f"SELECT {text}")) for text in ("a, b + 1 FROM t WHERE a > 1", "max(a) FROM t", "a FROM t, u")]
    [True, False, False]
    """
    if not isinstance(tree, exp.Select) or set(given_clauses(tree)) - _PLAIN:
        return False
    start = tree.args.get("from_")
    table = start.this if start is not None else None
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return False
    listed = (
        node
        for item in tree.expressions
        for node in item.walk(prune=lambda node: isinstance(node, exp.Query))
    )
    return not table.args.get("joins") and not any(isinstance(node, _SETS) for node in listed)
