"""Walks over trees: against an allow-list, which each caller brings, and rewriting from the leaves up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar

from sqlglot import exp

Tree = TypeVar("Tree", bound=exp.Expr)  # a query stays one, and so does an expression


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


@dataclass(frozen=True)
class AllowList:
    """The nodes that a tree may have, each with its clauses; None allows every clause of a node.

    Anything else is refused with the caller's own error. `refuse_node` returns None for a node that
    another list decides about; `check_node` is what the caller requires of a node besides.
    """

    nodes: Mapping[type[exp.Expr], Collection[str] | None]
    refuse_node: Callable[[exp.Expr], Exception | None]
    refuse_clauses: Callable[[exp.Expr, list[str]], Exception]
    check_node: Callable[[exp.Expr], None] | None = None

    def check(self, tree: exp.Expr) -> None:
        """Refuse a tree with a part that is not on the list.

        >>> from sqlglot import parse_one
        >>> only = AllowList({exp.Column: None, exp.Identifier: None}, TypeError, TypeError)
        >>> only.check(parse_one("a"))
        >>> only.check(parse_one("a + b"))
        Traceback (most recent call last):
        TypeError: a + b
        """
        for node in tree.walk():
            self.check_one(node)

    def check_one(self, node: exp.Expr) -> None:
        """Refuse a node that is not on the list; those below it are not checked."""
        if type(node) not in self.nodes:
            refusal = self.refuse_node(node)
            if refusal is not None:
                raise refusal
        allowed = self.nodes.get(type(node))
        extra = extra_clauses(node, allowed) if allowed is not None else []
        if extra:
            raise self.refuse_clauses(node, extra)
        if self.check_node is not None:
            self.check_node(node)


def rewrite_tree(tree: Tree, *rewrites: Callable[[exp.Expr], exp.Expr]) -> Tree:
    """Return a copy with every node rewritten, from the leaves up: its children are rewritten before.

    Of several rewrites, each starts on the tree that the one before it made. A rewrite that puts the
    node itself into another one copies it.

    >>> from sqlglot import parse_one
    >>> negate = lambda node: exp.Neg(this=node.copy()) if node.is_int else node
    >>> rewrite_tree(parse_one("a + 1"), negate).sql()
    'a + -1'
    """
    holder = exp.Paren(this=tree.copy())
    for rewrite in rewrites:
        for node in reversed(list(holder.this.walk())):
            changed = rewrite(node)
            if changed is not node:
                node.replace(changed)
    return holder.this.pop()
