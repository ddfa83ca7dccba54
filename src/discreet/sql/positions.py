"""GROUP BY and ORDER BY: positions and names of result columns, and the sets of CUBE and ROLLUP."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, combinations
from math import prod

from sqlglot import exp

SETS = (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple, exp.Paren)


def written_position(node: exp.Expr) -> int | None:
    """Return the position that a whole number stands for; None for anything else.

    >>> from sqlglot import parse_one
    >>> [written_position(parse_one(text)) for text in ("2", "'2'", "2.5", "a")]
    [2, None, None, None]
    """
    is_whole = isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal()
    return int(node.name) if is_whole else None


def named_positions(names: Iterable[str], name: str) -> list[int]:
    """Return the positions, from 1, of the columns of a result that have a name."""
    return [position for position, each in enumerate(names, start=1) if each == name]


def count_sets(term: exp.Expr) -> int:
    """Return how many grouping sets a term of GROUP BY stands for; the terms of one multiply.

    >>> from sqlglot import parse_one
    >>> group = parse_one("SELECT 1 FROM t GROUP BY ROLLUP (a, b), CUBE (c, d)", dialect="postgres")
    >>> [count_sets(term) for term in group.args["group"].expressions]
    [3, 4]
    """
    if isinstance(term, exp.Cube):
        return 2 ** len(term.expressions)
    if isinstance(term, exp.Rollup):
        return len(term.expressions) + 1
    if isinstance(term, exp.GroupingSets):
        return sum(count_sets(inner) for inner in term.expressions)
    return prod(count_sets(inner) for inner in term.iter_expressions() if isinstance(inner, SETS))


def count_expressions(term: exp.Expr) -> int:
    """Return how many expressions a term of GROUP BY names."""
    if not isinstance(term, SETS):
        return 1
    return sum(count_expressions(inner) for inner in term.iter_expressions())


def expand_sets(term: exp.Expr) -> list[tuple[exp.Expr, ...]]:
    """Return the grouping sets that a term stands for, each with its expressions.

    Their number doubles with each expression of CUBE: see `count_sets` first.
    """
    if isinstance(term, exp.Rollup):
        items = _grouped_together(term)
        return [tuple(chain(*items[:count])) for count in range(len(items), -1, -1)]
    if isinstance(term, exp.Cube):
        items = _grouped_together(term)
        counts = range(len(items), -1, -1)
        return [tuple(chain(*some)) for count in counts for some in combinations(items, count)]
    if isinstance(term, exp.GroupingSets):
        return [found for inner in term.expressions for found in expand_sets(inner)]
    return [_in_brackets(term)]


def _grouped_together(term: exp.Expr) -> list[tuple[exp.Expr, ...]]:
    return [_in_brackets(item) for item in term.expressions]


def _in_brackets(item: exp.Expr) -> tuple[exp.Expr, ...]:
    return tuple(item.expressions) if isinstance(item, exp.Tuple) else (item.unnest(),)
