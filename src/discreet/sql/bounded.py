"""SQL text parsed into trees of bounded size in bounded steps; larger input is refused."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError

from discreet.sql.limits import TreeLimits, exceeded_limit
from discreet.sql.steps import BoundedParser

LONGEST = 100_000  # characters; a query or a condition is written by a person
DEEPEST = 200  # nested brackets, far more than a person writes
LIMITS = TreeLimits(nodes=10_000, depth=200, chains_are_flat=False)
_TOO_LARGE = "It is too long or too deeply nested. Split it."


class TooLarge(ParseError):
    """A text, or a number in it, is larger than the limit."""


def parse_bounded(
    text: str, *, dialect: str, into: type[exp.Expr] | None = None
) -> Sequence[exp.Expr]:
    """Return the trees of a text that a person wrote, in the SQL of `dialect`.

    Raises:
        SqlglotError: The text is not SQL, or `TooLarge`.

    >>> [tree.sql() for tree in parse_bounded("age > 40", dialect="duckdb")]
    ['age > 40']
    """
    if len(text) > LONGEST or _nesting_depth(text) > DEEPEST:
        raise TooLarge(_TOO_LARGE)
    reader = _bounded_dialect(dialect)
    try:
        found = reader.parse_into(into, text) if into is not None else reader.parse(text)
    except RecursionError:
        raise TooLarge("It is nested too deeply.") from None
    trees = [tree for tree in found if tree is not None]
    for tree in trees:
        _check_tree(tree)
    return trees


@cache
def _bounded_dialect(name: str) -> Dialect:
    base = type(Dialect.get_or_raise(name))
    parser = type("Parser", (BoundedParser, base.parser_class), {})
    return type(f"Bounded{base.__name__}", (base,), {"Parser": parser})()


def _nesting_depth(text: str) -> int:
    deepest = depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        deepest = max(deepest, depth)
    return deepest


def _check_tree(tree: exp.Expr) -> None:
    exceeded = exceeded_limit(tree, LIMITS)
    if exceeded == "digits":
        raise TooLarge(f"A number has more than {LIMITS.digits:,} digits. Write a smaller one.")
    if exceeded is not None:
        raise TooLarge(_TOO_LARGE)
