"""CASE, IF, COALESCE, NULLIF, LEAST and GREATEST: one kind for several values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.answer.expressions.dates import day, moment
from discreet.answer.expressions.numbers import common_step, interval, real, settled, whole
from discreet.answer.expressions.typed import MANY, NULL, Typed, domain, refused
from discreet.engines.engine import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

_COMPARABLE = (Kind.BOOLEAN, Kind.TEXT)


def alike(items: Sequence[Typed], name: str) -> list[Typed]:
    """Return the values as one kind, held in one way, or refuse what does not go together."""
    kinds = {item.kind for item in items if not item.is_null}
    known = [item for item in items if not item.is_null]
    if all(item.is_number for item in known):
        hold = whole if kinds == {Kind.INTEGER} else real
    elif kinds == {Kind.DATE}:
        hold = day
    elif kinds <= {Kind.DATE, Kind.TIMESTAMP}:
        hold = moment
    elif len(kinds) == 1 and kinds <= set(_COMPARABLE):
        return list(items)
    else:
        words = " and ".join(sorted(kind.value for kind in kinds))
        raise refused(
            f"{name} cannot put {words} together.",
            "Give all its values one kind, with CAST or literals such as DATE '2024-01-31'.",
        )
    return [item if item.is_null else hold(item) for item in items]


def one_of(tree: exp.Expr, items: Sequence[Typed], *, nullable: bool) -> Typed:
    """Return an expression that is always one of `items`."""
    known = [item for item in items if not item.is_null]
    if not known:
        return NULL
    lows = [item.low for item in known]
    highs = [item.high for item in known]
    found = Typed(
        tree=tree,
        kind=known[0].kind,
        low=None if None in lows else min(low for low in lows if low is not None),
        high=None if None in highs else max(high for high in highs if high is not None),
        step=common_step(*(item.step for item in known)),
        values=_union(known),
        nullable=nullable,
        most=_largest([item.most for item in known]),
        least=_smallest([item.least for item in known]),
        longest=_longest(known),
    )
    return settled(found)


def choose(conditions: Sequence[exp.Expr], results: Sequence[Typed], default: Typed) -> Typed:
    """Return CASE with conditions already made total."""
    items = alike([*results, default], "CASE")
    ifs = [
        exp.If(this=test, true=item.tree.copy())
        for test, item in zip(conditions, items[:-1], strict=True)
    ]
    tree = exp.Case(ifs=ifs, default=items[-1].tree.copy())
    return one_of(tree, items, nullable=any(item.nullable for item in items))


def first_known(items: Sequence[Typed]) -> Typed:
    """Return COALESCE."""
    held = [item for item in alike(items, "COALESCE") if not item.is_null]
    if len(held) < 2:
        return held[0] if held else NULL
    tree = exp.Coalesce(this=held[0].tree.copy(), expressions=[i.tree.copy() for i in held[1:]])
    return one_of(tree, held, nullable=all(item.nullable for item in held))


def unless_equal(typed: Typed, other: Typed) -> Typed:
    """Return NULLIF."""
    if typed.is_null or other.is_null:
        return typed
    left, right = alike([typed, other], "NULLIF")
    gone = right.constant
    values = None if left.values is None else tuple(v for v in left.values if v != gone)
    tree = exp.Nullif(this=left.tree.copy(), expression=right.tree.copy())
    return replace(left, tree=tree, values=values, nullable=True)


def least(items: Sequence[Typed]) -> Typed:
    """Return the smallest value that is not NULL."""
    return _extreme(exp.Least, items)


def greatest(items: Sequence[Typed]) -> Typed:
    """Return the largest value that is not NULL."""
    return _extreme(exp.Greatest, items)


def _extreme(node: type[exp.Least | exp.Greatest], items: Sequence[Typed]) -> Typed:
    name = "LEAST" if node is exp.Least else "GREATEST"
    held = [item for item in alike(items, name) if not item.is_null]
    if len(held) < 2:
        return held[0] if held else NULL
    tree = node(
        this=held[0].tree.copy(),
        expressions=[item.tree.copy() for item in held[1:]],
        ignore_nulls=True,
    )
    found = one_of(tree, held, nullable=all(item.nullable for item in held))
    if not found.is_number:
        return found
    always = [item for item in held if not item.nullable]
    if node is exp.Least:
        caps = [item.high for item in always if item.high is not None]
        high = min([*caps, *([] if found.high is None else [found.high])], default=None)
        found = replace(found, high=high)
    else:
        floors = [item.low for item in always if item.low is not None]
        low = max([*floors, *([] if found.low is None else [found.low])], default=None)
        found = replace(found, low=low)
    return settled(_tightened(found))


def _tightened(found: Typed) -> Typed:
    """Return `found` with what its bounds tell about sizes and public values."""
    low, high = interval(found)
    values = found.values
    if values is not None:
        values = tuple(v for v in values if isinstance(v, int) and low <= v <= high)
    return replace(found, most=max(abs(low), abs(high)), values=values)


def _union(items: Sequence[Typed]) -> tuple[object, ...] | None:
    found: dict[object, None] = {}
    for item in items:
        values = domain(item)
        if values is None:
            return None
        found |= dict.fromkeys(values)
    return tuple(found) if len(found) <= MANY else None


def _longest(items: Sequence[Typed]) -> int | None:
    sizes = [item.longest for item in items]
    return None if None in sizes else max(size for size in sizes if size is not None)


def _largest(sizes: Sequence[Fraction | None]) -> Fraction | None:
    return None if None in sizes else max(size for size in sizes if size is not None)


def _smallest(sizes: Sequence[Fraction | None]) -> Fraction | None:
    return None if None in sizes else min(size for size in sizes if size is not None)
