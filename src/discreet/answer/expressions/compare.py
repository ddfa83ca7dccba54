"""Comparisons, IN, BETWEEN and IS: both sides of one kind, known before any data is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from discreet.answer.expressions import dates
from discreet.answer.expressions.numbers import to_integer, to_real, without_nan
from discreet.answer.expressions.typed import (
    LARGEST,
    NULL,
    TypedExpression,
    boolean_expression,
    make_refusal,
    parenthesize,
    real_literal,
)
from discreet.engines.engine import Kind

_CALENDAR = (Kind.DATE, Kind.TIMESTAMP)
_MIRRORED: Mapping[type[exp.Binary], type[exp.Binary]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}
_ABOUT_ZERO: Mapping[type[exp.Binary], tuple[type[exp.Binary], float]] = {
    exp.LT: (exp.LTE, -1e-30),
    exp.LTE: (exp.LT, 1e-30),
    exp.GT: (exp.GTE, 1e-30),
    exp.GTE: (exp.GT, -1e-30),
}
_BITS = 2**63
_MANY = 1000


def compare_values(
    node: type[exp.Binary], left: TypedExpression, right: TypedExpression
) -> TypedExpression:
    """Return `left` compared with `right` by `node`, such as `exp.LT`."""
    is_safe = node in (exp.NullSafeEQ, exp.NullSafeNEQ)
    if left.is_null or right.is_null:
        return _with_null(node, left, right) if is_safe else NULL
    if node in _MIRRORED and is_constant(left) and not is_constant(right):
        return compare_values(_MIRRORED[node], right, left)
    if node in _MIRRORED and _is_plain_real(left) and _is_usual(right):
        return _beside_constant(node, left, right)
    sides = align_kinds([left, right])
    tree = node(this=parenthesize(sides[0].tree), expression=parenthesize(sides[1].tree))
    return boolean_expression(tree) if is_safe else boolean_expression(tree, left, right, *sides)


def _is_plain_real(typed: TypedExpression) -> bool:
    return typed.kind is Kind.REAL and typed.most is None and isinstance(typed.tree, exp.Column)


def _is_usual(typed: TypedExpression) -> bool:
    """Whether this is a constant short of where columns are clamped."""
    return is_constant(typed) and typed.is_number and abs(typed.low or 0) < LARGEST


def _beside_constant(
    node: type[exp.Binary], column: TypedExpression, constant: TypedExpression
) -> TypedExpression:
    """Return an order of a column of reals and a constant, which needs no clamping of the column.

    Only NaN must go; numbers nearer to zero than 1e-30 count as zero, so that above zero is at
    least 1e-30.
    """
    number = float(constant.low or 0)
    if number == 0:
        node, number = _ABOUT_ZERO[node]
    value = without_nan(column)
    return boolean_expression(node(this=value.tree, expression=real_literal(number)), value)


def _with_null(
    node: type[exp.Binary], left: TypedExpression, right: TypedExpression
) -> TypedExpression:
    found = null_condition(right if left.is_null else left)
    return (
        boolean_expression(exp.Not(this=exp.Paren(this=found.tree)))
        if node is exp.NullSafeNEQ
        else found
    )


def between_condition(
    value: TypedExpression, low: TypedExpression, high: TypedExpression
) -> TypedExpression:
    """Return whether `low` <= `value` <= `high`."""
    return join_conditions(
        exp.And, [compare_values(exp.GTE, value, low), compare_values(exp.LTE, value, high)]
    )


def membership_condition(
    value: TypedExpression, items: Sequence[TypedExpression]
) -> TypedExpression:
    """Return whether `value` is one of constants."""
    if any(item.is_null or not is_constant(item) for item in items) or not items:
        raise make_refusal(
            "IN takes a list of constants, without NULL.", "Join with AND, OR and IS NULL instead."
        )
    if len(items) > _MANY:
        raise make_refusal(
            f"IN takes at most {_MANY} constants.", "Join with a public table instead."
        )
    if value.is_null:
        return NULL
    found, *rest = align_kinds([value, *items])
    tree = exp.In(this=parenthesize(found.tree), expressions=[item.tree.copy() for item in rest])
    return boolean_expression(tree, value, found)


def is_constant(typed: TypedExpression) -> bool:
    """Whether the question alone decides the value."""
    if typed.constant is not None:
        return True
    if typed.kind is Kind.TIMESTAMP:
        return not typed.nullable and isinstance(typed.tree, exp.Cast)
    return typed.low is not None and typed.low == typed.high and not typed.nullable


def null_condition(typed: TypedExpression) -> TypedExpression:
    """Return whether the value is missing; what is no number is missing, too."""
    if typed.is_null:
        return boolean_expression(exp.true())
    held = to_real(typed) if typed.kind is Kind.REAL else typed
    return boolean_expression(exp.Is(this=parenthesize(held.tree), expression=exp.Null()))


def truth_condition(typed: TypedExpression, *, wanted: bool) -> TypedExpression:
    """Return IS TRUE or IS FALSE."""
    if typed.is_null:
        return boolean_expression(exp.false())
    held = require_condition(typed, "IS TRUE")
    return boolean_expression(
        exp.Is(this=parenthesize(held.tree), expression=exp.Boolean(this=wanted))
    )


def require_condition(typed: TypedExpression, name: str) -> TypedExpression:
    """Return `typed` if it is a condition, and refuse it otherwise."""
    if typed.is_null:  # Spark wants to know that it is a truth value
        return TypedExpression(exp.cast(exp.Null(), "BOOLEAN"), Kind.BOOLEAN, values=())
    if typed.kind is Kind.BOOLEAN:
        return typed
    raise make_refusal(
        f"{name} needs a condition, not a {typed.kind.value} value.", "Compare it: x <> 0."
    )


def join_conditions(
    node: type[exp.And | exp.Or], items: Sequence[TypedExpression]
) -> TypedExpression:
    """Return conditions joined by AND or OR."""
    name = "AND" if node is exp.And else "OR"
    trees = [exp.Paren(this=require_condition(item, name).tree.copy()) for item in items]
    joined = exp.and_ if node is exp.And else exp.or_
    return boolean_expression(joined(*trees, wrap=False), *items)


def negate_condition(typed: TypedExpression) -> TypedExpression:
    """Return NOT."""
    if typed.is_null:
        return NULL
    return boolean_expression(
        exp.Not(this=exp.Paren(this=require_condition(typed, "NOT").tree.copy())), typed
    )


def align_kinds(items: Sequence[TypedExpression]) -> list[TypedExpression]:
    """Return the sides of a comparison as one kind, or refuse them."""
    kinds = {item.kind for item in items}
    if kinds & set(_CALENDAR) and kinds <= {*_CALENDAR, Kind.TEXT}:
        return _align_dates([_read(item) for item in items])
    if all(item.is_number for item in items):
        return _align_numbers(items)
    if len(kinds) == 1 and kinds <= {Kind.BOOLEAN, Kind.TEXT}:
        return list(items)
    raise _mixed_kinds_refusal(kinds)


def _mixed_kinds_refusal(kinds: set[Kind]) -> Exception:
    words = " with ".join(sorted(kind.value for kind in kinds))
    if kinds & {Kind.OTHER, Kind.TIME}:
        return make_refusal(
            f"Values of kind {words} are not compared, as engines hold them differently.",
            "Only IS NULL can be asked of such a column.",
        )
    if Kind.TEXT in kinds:
        return make_refusal(
            f"A comparison of {words} values depends on how each is written.",
            "Put CAST around one side, or write the literal without quotes.",
        )
    return make_refusal(
        f"Values of kind {words} cannot be compared here.", "Put CAST around one side."
    )


def _align_numbers(items: Sequence[TypedExpression]) -> list[TypedExpression]:
    if not all(item.kind is Kind.INTEGER for item in items):
        return [to_real(item) for item in items]
    constants = [item.constant for item in items]
    if any(isinstance(value, int) and abs(value) >= _BITS for value in constants):
        return [to_real(item) for item in items]
    raw = sum(value is None for value in constants)
    return [
        TypedExpression(exp.Literal.number(value), Kind.INTEGER, nullable=False)
        if isinstance(value, int)
        # A column beside literals stays as it is, so that the engine can use its statistics.
        else item
        if raw == 1
        else to_integer(item)
        for item, value in zip(items, constants, strict=True)
    ]


def _read(item: TypedExpression) -> TypedExpression:
    if item.kind is not Kind.TEXT:
        return item
    if not isinstance(item.constant, str):
        raise _mixed_kinds_refusal({Kind.TEXT, Kind.DATE})
    return dates.parse_date_literal(item.constant, "a date")


def _align_dates(items: Sequence[TypedExpression]) -> list[TypedExpression]:
    if all(item.kind is Kind.DATE for item in items):
        return list(items)
    return [_as_timestamp(item) for item in items]


def _as_timestamp(item: TypedExpression) -> TypedExpression:
    if item.kind is Kind.DATE or item.most is not None:
        return dates.to_timestamp(item)
    tree = exp.cast(item.tree.copy(), exp.DataType.Type.TIMESTAMPNTZ)
    return TypedExpression(tree, Kind.TIMESTAMP, nullable=item.nullable)
