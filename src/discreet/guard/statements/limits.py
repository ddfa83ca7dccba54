"""How large a statement may be: far more than a person writes, and little enough to read quickly."""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import StatementFailed

LONGEST = 1_000_000  # characters; an INSERT may have many rows
DEEPEST_BRACKETS = 100
DEEPEST = 120  # nodes one below the other; a chain of AND counts as one
LARGEST = 50_000  # nodes of a tree
MOST = 1_000  # statements in one text


def check_length(text: str) -> None:
    """Refuse a text that would take long to read."""
    if len(text) > LONGEST:
        raise StatementFailed("54000", "the statement is too long")
    if "\0" in text:
        raise StatementFailed("22021", "a statement cannot hold a zero byte")


def check_size(tree: exp.Expr) -> None:
    """Refuse a tree that would take long to take apart."""
    stack, count = [(tree, 0)], 0
    while stack:
        node, depth = stack.pop()
        count += 1
        if count > LARGEST:
            raise StatementFailed("54000", "the statement has too many parts")
        if depth > DEEPEST:
            raise too_deep()
        is_chain = isinstance(node, (exp.And, exp.Or))
        stack += [
            (child, depth + (not is_chain or type(child) is not type(node)))
            for child in node.iter_expressions()
        ]


def too_deep() -> StatementFailed:
    """Return the failure of a statement whose brackets or operators are nested too deeply."""
    return StatementFailed("54001", "the statement is nested too deeply")
