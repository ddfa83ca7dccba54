"""Labels of groups: one form for each value, so that equal values of different people look alike.

An engine that takes two values for equal shows the one whose row it reads first: that
would reveal something about the person of that row. And values that become one only
after the engine has grouped by them would count a person in one group several times.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from discreet.answer.expressions import dates
from discreet.answer.expressions.numbers import to_integer, to_real
from discreet.answer.expressions.typed import TypedExpression, real_literal
from discreet.engines.engine import Kind


def normalize_group_value(typed: TypedExpression) -> TypedExpression:
    """Return a value in the one form that labels its group."""
    if typed.kind is Kind.INTEGER:
        return to_integer(typed)
    if typed.kind in (Kind.DECIMAL, Kind.REAL):
        return _with_one_zero(typed)
    if typed.kind is Kind.DATE:
        return dates.to_date(typed)
    if typed.kind is Kind.TIMESTAMP:
        return dates.to_timestamp(typed)
    if typed.kind is Kind.TIME:
        return _before_midnight(typed)
    return typed


def _with_one_zero(typed: TypedExpression) -> TypedExpression:
    """Return a double without NaN and without a negative zero, which equals the positive one."""
    held = to_real(typed)
    is_zero = exp.EQ(this=held.tree.copy(), expression=real_literal(0.0))
    tree = exp.Case(ifs=[exp.If(this=is_zero, true=real_literal(0.0))], default=held.tree.copy())
    return replace(held, tree=tree)


def _before_midnight(typed: TypedExpression) -> TypedExpression:
    """Return a time of the day; 24:00, which some engines have, is no time elsewhere."""
    ends = [exp.cast(exp.Literal.string(end), "TIME") for end in ("00:00:00", "23:59:59.999999")]
    return replace(typed, tree=dates.null_outside(typed.tree, *ends))
