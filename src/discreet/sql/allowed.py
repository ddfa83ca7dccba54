"""Clauses of a node against an allow-list; each caller brings its own list and its own refusal."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp


def given_clauses(node: exp.Expr) -> list[str]:
    """Return the clauses and arguments that a node has, in their order."""
    return [name for name, value in node.args.items() if value not in (None, False, [])]


def extra_clauses(node: exp.Expr, allowed: Collection[str]) -> list[str]:
    """Return what a node has besides the clauses that are allowed, in their order.

    >>> from sqlglot import parse_one
    >>> extra_clauses(parse_one("SELECT a FROM t LIMIT 1"), {"expressions", "from_"})
    ['limit']
    """
    return [name for name in given_clauses(node) if name not in allowed]
