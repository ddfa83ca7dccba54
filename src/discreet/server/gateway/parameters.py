"""Queries whose parameters are not known yet."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from discreet.engines.databases.database import EngineTraits
from discreet.errors import StatementFailed
from discreet.guard.rewrite.bind import bind_query


def blank_parameters(tree: exp.Query, types: Sequence[str]) -> exp.Query:
    """Return a query with NULL for all parameters, to describe its result."""
    blank = [None] * len(types)
    return require_row_query(bind_query(tree, types, blank, traits=EngineTraits()))


def require_row_query(tree: exp.Expr) -> exp.Query:
    """Return a tree as a query, or refuse it."""
    if not isinstance(tree, exp.Query):
        raise StatementFailed("0A000", "only queries return rows")
    return tree
