"""Limits on the size of a text, by a cheap lexer before any parser runs, and of a tree."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

from sqlglot import exp

from discreet.errors import StatementFailed

MOST = 1_000  # statements in one text
COLUMNS = 1_664  # of a result, as in PostgreSQL
RELATIONS = 256  # in FROM, over the whole statement
SUBQUERIES = (
    10  # in expressions, one in the other: DuckDB plans each level twice, and cannot be interrupted
)
EXPANDED = 12  # the same, with those of views and policies
SETS = 512  # of GROUP BY, over the whole statement: DuckDB expands them uninterruptibly
GROUPED = 10_000  # sets times their expressions
DEFINITIONS = 20_000  # nodes of the views and policies that a statement reads


TreeLimit: TypeAlias = Literal["nodes", "depth", "digits"]


@dataclass(frozen=True)
class TreeLimits:
    """Limits on a tree: its nodes, those one below the other, and the digits of a number in it.

    `chains_are_flat`: a chain of AND or of OR counts as one level, since it is read without recursion.
    """

    nodes: int
    depth: int
    digits: int = 1_000  # Python reads no more than 4,300
    chains_are_flat: bool = True


STATEMENT = TreeLimits(nodes=50_000, depth=120)  # of a client of the server


def exceeded_limit(tree: exp.Expr, limits: TreeLimits) -> TreeLimit | None:
    """Return a limit that a tree exceeds, None if it is within all of them.

    Some steps visit every node from each node, and others recurse: a larger tree takes very long.

    >>> from sqlglot import parse_one
    >>> exceeded_limit(parse_one("a AND b AND c"), TreeLimits(nodes=20, depth=2))
    >>> exceeded_limit(parse_one("a + b + c"), TreeLimits(nodes=20, depth=2))
    'depth'
    """
    stack, count = [(tree, 0)], 0
    while stack:
        node, depth = stack.pop()
        count += 1
        if count > limits.nodes:
            return "nodes"
        if depth > limits.depth:
            return "depth"
        if isinstance(node, exp.Literal) and not node.is_string and len(node.name) > limits.digits:
            return "digits"
        is_chain = limits.chains_are_flat and isinstance(node, exp.Connector)
        stack += [
            (child, depth + (not is_chain or type(child) is not type(node)))
            for child in node.iter_expressions()
        ]
    return None


@dataclass(frozen=True)
class StatementBounds:
    """Limits on a text; `tokens` leaves out the plain rows of an INSERT, which `values` bounds."""

    characters: int = 4_000_000
    tokens: int = 20_000
    depth: int = 100
    values: int = 70_000


DEFAULT = StatementBounds()
_WORD = re.compile(r"\w+|\S")
_QUOTED = re.compile(r"'[^']*+(?:''[^']*+)*+'|\"[^\"]*+\"|(?<!\S)--[^\n\r]*+|\w+|\S")


def check_text(text: str, bounds: StatementBounds = DEFAULT) -> None:
    """Refuse a text that would take long to parse, after at most `bounds.tokens` steps.

    Raises:
        StatementFailed: 54000, it has too many words and signs.
    """
    check_length(text, bounds)
    words = islice(_WORD.finditer(text), bounds.tokens + 1)
    if sum(1 for _ in words) > bounds.tokens and not _is_quoted(text, bounds):
        raise too_many(bounds)


def _is_quoted(text: str, bounds: StatementBounds) -> bool:
    """Whether a text has few tokens since most of it is quoted, unambiguously for every lexer."""
    count = 0
    for found in islice(_QUOTED.finditer(text), bounds.tokens + 1):
        lexeme, (start, end) = found[0], found.span()
        before, after = text[max(start - 1, 0) : start], text[end : end + 1]
        is_prefixed = lexeme[0] == "'" and (before.isalnum() or before in ("_", "&"))
        is_comment = lexeme == "{" or (lexeme == "/" and after == "*")
        if is_prefixed or is_comment or (lexeme == "$" and not after.isdigit()):
            return False
        count += 1
    return count <= bounds.tokens


def check_tokens(count: int, bounds: StatementBounds = DEFAULT) -> None:
    """Refuse a text that turned out to have too many tokens: before a parser gets them."""
    if count > 2 * bounds.tokens:  # a word such as 1e may be two
        raise too_many(bounds)


def too_many(bounds: StatementBounds = DEFAULT) -> StatementFailed:
    """Return the failure of a statement that has too many parts to be read."""
    return StatementFailed(
        "54000",
        f"the statement has more than {bounds.tokens:,} words and signs",
        hint="Send it in parts; rows of INSERT … VALUES may be more if they hold plain values.",
    )


def check_length(text: str, bounds: StatementBounds = DEFAULT) -> None:
    """Refuse a text that is too long, or holds a zero byte."""
    if len(text) > bounds.characters:
        raise StatementFailed("54000", "the statement is too long")
    if "\0" in text:
        raise StatementFailed("22021", "a statement cannot hold a zero byte")


def check_size(tree: exp.Expr) -> None:
    """Refuse a tree that would take long to process, or has a number that no engine holds."""
    match exceeded_limit(tree, STATEMENT):
        case "nodes":
            raise StatementFailed("54000", "the statement has too many parts")
        case "depth":
            raise too_deep()
        case "digits":
            raise StatementFailed("22003", f"a number has more than {STATEMENT.digits:,} digits")
        case None:
            pass


def check_subquery_nesting(tree: exp.Expr, most: int = EXPANDED) -> None:
    """Refuse subqueries in expressions that are nested too deeply for engines to plan in time."""
    stack = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        if isinstance(node, exp.Exists) or (
            isinstance(node, exp.Subquery) and not isinstance(node.parent, _PARTS)
        ):
            depth += 1
        if depth > most:
            raise too_deep()
        stack += [(child, depth) for child in node.iter_expressions()]


_PARTS = (exp.From, exp.Join, exp.Lateral, exp.SetOperation, exp.Exists)


def too_deep() -> StatementFailed:
    """Return the failure of a statement whose brackets or operators are nested too deeply."""
    return StatementFailed("54001", "the statement is nested too deeply")
