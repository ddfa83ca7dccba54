"""Checks of arrays: their elements have one type, and operators are those between equal types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.rewrite.allowed import unsupported_feature
from discreet.guard.rewrite.analysis import (
    ExpressionContext,
    StatementAnalysis,
    infer_type,
    require_arrays,
    rule,
    settle_literal,
)
from discreet.guard.rewrite.expressions import match_kinds
from discreet.guard.rewrite.kinds import (
    UNKNOWN,
    InferredType,
    array_of_kind,
    element_kind,
    kind_of_cast,
    long_name,
)

_OPERATORS: Mapping[type[exp.Expr], str] = {
    exp.ArrayContainsAll: "@>",
    exp.ArrayContainedBy: "<@",
    exp.ArrayOverlaps: "&&",
}


@rule(exp.Array)
def _read_array(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    require_arrays(reading)
    cells = list(node.expressions)
    if any(isinstance(cell, (exp.Query, exp.Array)) for cell in cells):
        raise unsupported_feature(
            "An array of a query or of arrays", "Use array_agg, or an array of one dimension."
        )
    wanted = _cast_around(node)
    if not cells and wanted is None:
        raise StatementFailed(
            "42P18",
            "cannot determine type of empty array",
            hint="Explicitly cast to the desired type, for example ARRAY[]::integer[].",
        )
    found = [infer_type(reading, cell, place) for cell in cells]
    if wanted is not None:
        for cell, one in zip(list(node.expressions), found, strict=True):
            if one.kind == UNKNOWN:
                settle_literal(reading, cell, element_kind(wanted))
        found = [
            InferredType(element_kind(wanted)) if one.kind == UNKNOWN else one for one in found
        ]
    if not cells:
        return InferredType(wanted)
    element = match_kinds(reading, list(node.expressions), found, "ARRAY")
    kind = array_of_kind(element.kind)
    if kind is None:
        raise unsupported_feature(f"An array of {long_name(element.kind)}")
    return InferredType(kind, sum(one.weight for one in found))


def _cast_around(node: exp.Expr) -> str | None:
    """Return the kind of array that an array is cast to at once, None if it is not cast."""
    outer = node.parent
    while isinstance(outer, exp.Paren):
        outer = outer.parent
    if not isinstance(outer, exp.Cast):
        return None
    kind = kind_of_cast(outer.args["to"])
    return kind if element_kind(kind) is not None else None


@rule(exp.Bracket)
def _read_element(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    found = infer_type(reading, node.this, place)
    element = element_kind(found.kind)
    if element is None and found.kind is not None:
        raise StatementFailed(
            "42804", f"cannot subscript type {long_name(found.kind)} because it is not an array"
        )
    # The parser counts from 0, and the writer from 1 again: of literals only.
    places = node.expressions
    if len(places) != 1 or not isinstance(places[0], exp.Literal) or not places[0].name.isdecimal():
        raise unsupported_feature("A place in an array that is no number from 1 on")
    return InferredType(element, found.weight)


@rule(*_OPERATORS)
def _read_containment(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    sides = [node.this, node.expression]
    match_arrays(
        reading, sides, [infer_type(reading, side, place) for side in sides], _OPERATORS[type(node)]
    )
    return InferredType("bool")


def match_arrays(
    reading: StatementAnalysis,
    nodes: Sequence[exp.Expr],
    found: Sequence[InferredType],
    symbol: str,
) -> str | None:
    """Return the kind of two arrays beside an operator; a text beside an array is one, too."""
    require_arrays(reading)
    kinds = {one.kind for one in found} - {UNKNOWN}
    if len(kinds) != 1 or any(element_kind(kind) is None for kind in kinds - {None}):
        if None in kinds or any(kind == "json" for kind in kinds):
            raise unsupported_feature(f"{symbol} of anything but arrays")
        left, right = (long_name(one.kind) for one in found)
        raise StatementFailed("42883", f"operator does not exist: {left} {symbol} {right}")
    kind = next(iter(kinds))
    for node, one in zip(nodes, found, strict=True):
        if one.kind == UNKNOWN:
            settle_literal(reading, node, kind)
    return kind


def read_quantified(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext, left: InferredType
) -> tuple[exp.Expr, InferredType]:
    """Check the array of ANY or ALL beside a value, and return it with the type of its elements."""
    require_arrays(reading)
    found = infer_type(reading, node.this, place)
    if found.kind == UNKNOWN:
        kind = array_of_kind("text" if left.kind in (UNKNOWN, None) else left.kind)
        if kind is None:
            raise unsupported_feature(f"An array of {long_name(left.kind)}")
        settle_literal(reading, node.this, kind)
        found = InferredType(kind)
    element = element_kind(found.kind)
    if element is None:
        raise StatementFailed("42809", "op ANY/ALL (array) requires array on right side")
    return node.this, InferredType(element)
