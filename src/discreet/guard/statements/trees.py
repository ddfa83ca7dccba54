"""Queries and writes as sqlglot trees; everything else that sqlglot accepts is refused."""

from __future__ import annotations

import logging

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.errors import StatementFailed
from discreet.guard.statements.cursor import DATABASE
from discreet.guard.statements.dialect import ClientPostgres
from discreet.sql.limits import (
    SUBQUERIES,
    check_size,
    check_subquery_nesting,
    too_deep,
)
from discreet.sql.names import fold_identifier
from discreet.sql.walk import extra_clauses

# It logs what it cannot parse, which is refused here with an error of our own.
logging.getLogger("sqlglot").setLevel(logging.ERROR)


def parse_tree(text: str) -> exp.Expr:
    """Return the tree of one statement.

    Raises:
        StatementFailed: 42601 when it cannot be parsed, 54000 and 54001 when it is too large.
    """
    try:
        trees = [tree for tree in sqlglot.parse(text, dialect=ClientPostgres) if tree is not None]
    except SqlglotError as error:
        raise StatementFailed("42601", _syntax_error_message(error)) from None
    except RecursionError:
        raise too_deep() from None
    if len(trees) != 1:
        raise StatementFailed("42601", "syntax error: one statement was expected")
    check_size(trees[0])
    check_subquery_nesting(trees[0], SUBQUERIES)
    if DATABASE in text.lower():
        _remove_own_database(trees[0])
    return trees[0]


def _remove_own_database(tree: exp.Expr) -> None:
    """Take the name of the served database from names of three parts."""
    for table in tree.find_all(exp.Table):
        if fold_identifier(table.args.get("catalog")) == DATABASE:
            table.set("catalog", None)


def _syntax_error_message(error: SqlglotError) -> str:
    found = getattr(error, "errors", None)
    near = str(found[0].get("highlight") or "")[:63] if found else None
    return f'syntax error at or near "{near}"' if near else "syntax error"


def parse_query(text: str) -> exp.Query:
    """Return the tree of a query: SELECT, VALUES, TABLE, WITH."""
    return require_query_tree(parse_tree(text))


def require_query_tree(tree: exp.Expr) -> exp.Query:
    """Return a tree that is a query, or refuse it."""
    if isinstance(tree, exp.Values):
        return _select_values(tree)
    if isinstance(tree, exp.Query) and not isinstance(tree, exp.Table):
        return tree
    if isinstance(tree, (exp.Insert, exp.Update, exp.Delete, exp.Merge)):
        raise StatementFailed("0A000", "a query was expected, not a write")
    raise StatementFailed("42601", "syntax error: a query was expected")


def _select_values(values: exp.Values) -> exp.Select:
    """Return `SELECT * FROM (VALUES …)`, with its order and limit."""
    clauses = {name: values.args.get(name) for name in ("order", "limit", "offset", "with_")}
    if extra_clauses(values, {"expressions", *clauses}):
        raise StatementFailed("0A000", "this VALUES is not supported here")
    rows = exp.Values(
        expressions=values.expressions,
        alias=exp.TableAlias(this=exp.to_identifier("*VALUES*", quoted=True)),
    )
    select = exp.Select(expressions=[exp.Star()], from_=exp.From(this=rows))
    for name, value in clauses.items():
        if value is not None:
            select.set(name, value)
    return select


def parse_write(text: str) -> exp.Insert | exp.Update | exp.Delete:
    """Return the tree of an INSERT, UPDATE or DELETE."""
    tree = parse_tree(text)
    if isinstance(tree, (exp.Insert, exp.Update, exp.Delete)):
        return tree
    raise StatementFailed("42601", "syntax error: INSERT, UPDATE or DELETE was expected")


def parse_expression(text: str) -> exp.Expr:
    """Return the tree of one expression."""
    tree = parse_tree(f"SELECT {text}")
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1:
        raise StatementFailed("42601", "syntax error: one expression was expected")
    return tree.expressions[0]
