"""Queries whose parameters are not known yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.rewrite.bind import bind

if TYPE_CHECKING:
    from collections.abc import Sequence


def blank(tree: exp.Query, types: Sequence[str]) -> exp.Query:
    """Return a query with NULL for all parameters, to see what it returns."""
    return as_query(bind(tree, types, [None] * len(types)))


def as_query(tree: exp.Expr) -> exp.Query:
    """Return a tree that is a query, as one."""
    if not isinstance(tree, exp.Query):
        raise StatementFailed("0A000", "only queries return rows")
    return tree
