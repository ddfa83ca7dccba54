"""Parts of a definition that are SQL themselves: conditions, expressions and queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from discreet.errors import StatementFailed

if TYPE_CHECKING:
    from sqlglot import exp

    T = TypeVar("T", bound=exp.Expr)


def _fold_identifiers(tree: T) -> T:
    from sqlglot import exp
    from sqlglot.optimizer.normalize_identifiers import normalize_identifiers

    if tree.find(exp.Command):
        raise StatementFailed("42601", "syntax error in a part of the statement")
    normalize_identifiers(tree, dialect="postgres")
    return tree


def query_tree(text: str) -> exp.Query:
    """Return the tree of a query, names folded.

    Raises:
        StatementFailed: 42601 when it cannot be parsed, 0A000 when it writes.
    """
    from discreet.guard.statements.trees import parse_query

    return _fold_identifiers(parse_query(text))


def expression_tree(text: str) -> exp.Expr:
    """Return the tree of one expression."""
    from sqlglot import exp

    from discreet.guard.statements.trees import parse_tree

    if not text.strip():
        raise StatementFailed("42601", "syntax error: an expression was expected")
    tree = _fold_identifiers(parse_tree(f"SELECT (\n{text}\n)"))
    inner = tree.expressions[0] if isinstance(tree, exp.Select) and tree.expressions else None
    if (
        inner is None
        or len(tree.expressions) != 1
        or set(_given_arguments(tree)) != {"expressions"}
    ):
        raise StatementFailed("42601", "syntax error: one expression was expected")
    if isinstance(inner, exp.Paren):
        return inner.this
    if isinstance(inner, exp.Subquery):
        return inner
    raise StatementFailed("42601", "syntax error: one expression was expected")


def _given_arguments(tree: exp.Expr) -> list[str]:
    return [name for name, value in tree.args.items() if value not in (None, [], False)]


def expression(text: str) -> str:
    """Return one expression, as SQL of PostgreSQL.

    >>> expression("Age >= 18 and name <> 'x' -- old enough")
    "age >= 18 AND name <> 'x'"
    """
    return expression_tree(text).sql(dialect="postgres", comments=False)
