"""CASE, IF, COALESCE, NULLIF, LEAST and GREATEST: one kind for several values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from discreet.answer.expressions.dates import to_date, to_timestamp
from discreet.answer.expressions.numbers import (
    common_step,
    narrow_to_integer,
    number_range,
    to_integer,
    to_real,
)
from discreet.answer.expressions.typed import (
    MANY,
    NULL,
    TypedExpression,
    make_refusal,
    value_domain,
)
from discreet.engines.engine import Kind

_COMPARABLE = (Kind.BOOLEAN, Kind.TEXT)


def unify_kinds(items: Sequence[TypedExpression], name: str) -> list[TypedExpression]:
    """Return the values as one kind, held in one way, or refuse what does not go together."""
    kinds = {item.kind for item in items if not item.is_null}
    known = [item for item in items if not item.is_null]
    if all(item.is_number for item in known):
        hold = to_integer if kinds == {Kind.INTEGER} else to_real
    elif kinds == {Kind.DATE}:
        hold = to_date
    elif kinds <= {Kind.DATE, Kind.TIMESTAMP}:
        hold = to_timestamp
    elif len(kinds) == 1 and kinds <= set(_COMPARABLE):
        return list(items)
    else:
        words = " and ".join(sorted(kind.value for kind in kinds))
        raise make_refusal(
            f"{name} cannot put {words} together.",
            "Give all its values one kind, with CAST or literals such as DATE '2024-01-31'.",
        )
    return [item if item.is_null else hold(item) for item in items]


def combine_choices(
    tree: exp.Expr, items: Sequence[TypedExpression], *, nullable: bool
) -> TypedExpression:
    """Return an expression that is always one of `items`."""
    known = [item for item in items if not item.is_null]
    if not known:
        return NULL
    lows = [item.low for item in known]
    highs = [item.high for item in known]
    found = TypedExpression(
        tree=tree,
        kind=known[0].kind,
        low=None if None in lows else min(low for low in lows if low is not None),
        high=None if None in highs else max(high for high in highs if high is not None),
        step=common_step(*(item.step for item in known)),
        values=_union_values(known),
        nullable=nullable,
        most=_largest_size([item.most for item in known]),
        least=_smallest_size([item.least for item in known]),
        longest=_longest_text(known),
    )
    return narrow_to_integer(found)


def choose_case(
    conditions: Sequence[exp.Expr], results: Sequence[TypedExpression], default: TypedExpression
) -> TypedExpression:
    """Return CASE with conditions already made total."""
    items = unify_kinds([*results, default], "CASE")
    ifs = [
        exp.If(this=test, true=item.tree.copy())
        for test, item in zip(conditions, items[:-1], strict=True)
    ]
    tree = exp.Case(ifs=ifs, default=items[-1].tree.copy())
    return combine_choices(tree, items, nullable=any(item.nullable for item in items))


def coalesce_values(items: Sequence[TypedExpression]) -> TypedExpression:
    """Return COALESCE."""
    held = [item for item in unify_kinds(items, "COALESCE") if not item.is_null]
    if len(held) < 2:
        return held[0] if held else NULL
    tree = exp.Coalesce(this=held[0].tree.copy(), expressions=[i.tree.copy() for i in held[1:]])
    return combine_choices(tree, held, nullable=all(item.nullable for item in held))


def null_if_equal(typed: TypedExpression, other: TypedExpression) -> TypedExpression:
    """Return NULLIF."""
    if typed.is_null or other.is_null:
        return typed
    left, right = unify_kinds([typed, other], "NULLIF")
    gone = right.constant
    values = None if left.values is None else tuple(v for v in left.values if v != gone)
    tree = exp.Nullif(this=left.tree.copy(), expression=right.tree.copy())
    return replace(left, tree=tree, values=values, nullable=True)


def least(items: Sequence[TypedExpression]) -> TypedExpression:
    """Return the smallest value that is not NULL."""
    return _least_or_greatest(exp.Least, items)


def greatest(items: Sequence[TypedExpression]) -> TypedExpression:
    """Return the largest value that is not NULL."""
    return _least_or_greatest(exp.Greatest, items)


def _least_or_greatest(
    node: type[exp.Least | exp.Greatest], items: Sequence[TypedExpression]
) -> TypedExpression:
    name = "LEAST" if node is exp.Least else "GREATEST"
    held = [item for item in unify_kinds(items, name) if not item.is_null]
    if len(held) < 2:
        return held[0] if held else NULL
    tree = node(
        this=held[0].tree.copy(),
        expressions=[item.tree.copy() for item in held[1:]],
        ignore_nulls=True,
    )
    found = combine_choices(tree, held, nullable=all(item.nullable for item in held))
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
    return narrow_to_integer(_tighten_bounds(found))


def _tighten_bounds(found: TypedExpression) -> TypedExpression:
    """Return `found` with the sizes and public values that follow from its bounds."""
    low, high = number_range(found)
    values = found.values
    if values is not None:
        values = tuple(v for v in values if isinstance(v, int) and low <= v <= high)
    return replace(found, most=max(abs(low), abs(high)), values=values)


def _union_values(items: Sequence[TypedExpression]) -> tuple[object, ...] | None:
    found: dict[object, None] = {}
    for item in items:
        values = value_domain(item)
        if values is None:
            return None
        found |= dict.fromkeys(values)
    return tuple(found) if len(found) <= MANY else None


def _longest_text(items: Sequence[TypedExpression]) -> int | None:
    sizes = [item.longest for item in items]
    return None if None in sizes else max(size for size in sizes if size is not None)


def _largest_size(sizes: Sequence[Fraction | None]) -> Fraction | None:
    return None if None in sizes else max(size for size in sizes if size is not None)


def _smallest_size(sizes: Sequence[Fraction | None]) -> Fraction | None:
    return None if None in sizes else min(size for size in sizes if size is not None)
