"""The aggregates of a question: kind, argument within bounds, and the quantile if it is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from sqlglot import exp

from discreet.answer.expressions.labels import normalize_group_value
from discreet.answer.expressions.numbers import to_real
from discreet.answer.expressions.translate import translate_condition, translate_expression
from discreet.answer.expressions.typed import TypedExpression
from discreet.answer.rows import DECLARE_BOUNDS, Rows
from discreet.engines.engine import Kind
from discreet.errors import NoBounds, QuestionRefused


class AggregateKind(StrEnum):
    """The aggregates that have a private answer."""

    COUNT = "count"
    COUNT_OF = "count of values"
    COUNT_UNITS = "count of people"
    COUNT_DISTINCT = "count of distinct values"
    SUM = "sum"
    AVG = "mean"
    VARIANCE = "variance"
    VARIANCE_POP = "variance of the population"
    STDDEV = "standard deviation"
    STDDEV_POP = "standard deviation of the population"
    QUANTILE = "quantile"
    MIN = "minimum"
    MAX = "maximum"


MOMENTS: Mapping[AggregateKind, int] = {
    AggregateKind.SUM: 1,
    AggregateKind.AVG: 1,
    AggregateKind.VARIANCE: 2,
    AggregateKind.VARIANCE_POP: 2,
    AggregateKind.STDDEV: 2,
    AggregateKind.STDDEV_POP: 2,
}

_SPREADS: Mapping[type[exp.Expr], AggregateKind] = {
    exp.Sum: AggregateKind.SUM,
    exp.Avg: AggregateKind.AVG,
    exp.Variance: AggregateKind.VARIANCE,
    exp.VariancePop: AggregateKind.VARIANCE_POP,
    exp.Stddev: AggregateKind.STDDEV,
    exp.StddevSamp: AggregateKind.STDDEV,
    exp.StddevPop: AggregateKind.STDDEV_POP,
    exp.Min: AggregateKind.MIN,
    exp.Max: AggregateKind.MAX,
}
_QUANTILES = (exp.PercentileCont, exp.PercentileDisc, exp.Quantile, exp.ApproxQuantile)
_ALIASES = {"mean": exp.Avg, "var_samp": exp.Variance}
_INSTEAD = {
    exp.Mode: "Count by group and take the largest: GROUP BY … ORDER BY count(*) DESC LIMIT 1.",
    exp.AnyValue: "Any value would be one person's.",
    exp.ArrayAgg: "A list of values would be people's own.",
    exp.GroupConcat: "A list of values would be people's own.",
    exp.Corr: "Ask for avg(x), avg(y), avg(x * y), variance(x) and variance(y).",
}


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a question; equal ones are asked once.

    The bounds of the argument are limits that numbers are clamped to when they are counted.
    """

    ask: AggregateKind
    argument: TypedExpression | None = None
    quantile: Fraction | None = None


def begins_private_aggregate(node: exp.Expr) -> bool:
    """Whether `node` is where an aggregate begins, with its FILTER and WITHIN GROUP."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower() in _ALIASES
    return isinstance(node, (exp.AggFunc, exp.Filter, exp.WithinGroup, exp.IgnoreNulls))


def read_aggregate(node: exp.Expr, rows: Rows) -> Aggregate:
    """Return the aggregate that `node` requests.

    Raises:
        QuestionRefused: There is no private answer to it.
        NoBounds: A number is summed that has no bounds.
    """
    when: exp.Expr | None = None
    if isinstance(node, exp.Filter):
        when, node = node.expression.this, node.this
    if isinstance(node, exp.WithinGroup):
        node = _ordered_set_quantile(node)
    if isinstance(node, exp.Anonymous):
        node = _ALIASES[str(node.this).lower()](this=node.expressions[0])
    if isinstance(node, exp.Count):
        return _count(node, when, rows)
    if isinstance(node, exp.CountIf):
        both = node.this if when is None else exp.and_(when, node.this)
        return Aggregate(AggregateKind.COUNT_OF, _keep_where(_literal_one(), both, rows))
    if isinstance(node, exp.Median):
        return _numeric_aggregate(
            AggregateKind.QUANTILE, node.this, when, rows, quantile=Fraction(1, 2)
        )
    if isinstance(node, _QUANTILES):
        share = node.args.get("expression") or node.args.get("quantile")
        return _numeric_aggregate(
            AggregateKind.QUANTILE, node.this, when, rows, quantile=_read_quantile_share(share)
        )
    ask = _SPREADS.get(type(node))
    if ask is None or node.args.get("expressions"):
        instead = next((text for kind, text in _INSTEAD.items() if isinstance(node, kind)), "")
        raise QuestionRefused(
            f"{node.sql(dialect='duckdb')} has no private answer here. {instead}".strip()
        )
    return _numeric_aggregate(ask, node.this, when, rows)


def _ordered_set_quantile(node: exp.WithinGroup) -> exp.Expr:
    """Return `percentile_cont(q) WITHIN GROUP (ORDER BY x)` as a quantile of x."""
    found = node.this
    orders = node.expression.expressions if isinstance(node.expression, exp.Order) else []
    if not isinstance(found, (exp.PercentileCont, exp.PercentileDisc)) or len(orders) != 1:
        raise QuestionRefused("WITHIN GROUP needs percentile_cont and one column to order by.")
    share: exp.Expr = found.this
    if orders[0].args.get("desc"):
        share = exp.Sub(this=exp.Literal.number(1), expression=share)
    return exp.PercentileCont(this=orders[0].this, expression=share)


def _read_quantile_share(node: exp.Expr | None) -> Fraction:
    if isinstance(node, exp.Sub):
        return 1 - _read_quantile_share(node.expression)
    if isinstance(node, exp.Literal) and not node.is_string:
        share = Fraction(str(node.this))
        if 0 <= share <= 1:
            return share
    raise QuestionRefused("A quantile needs a constant between 0 and 1, such as 0.5.")


def _count(node: exp.Count, when: exp.Expr | None, rows: Rows) -> Aggregate:
    if node.expressions:
        raise QuestionRefused("count() takes one argument. Count one column at a time.")
    argument = node.this
    if isinstance(argument, exp.Distinct):
        if len(argument.expressions) != 1:
            raise QuestionRefused("count(DISTINCT …) takes one expression. Concatenate them.")
        if rows.names_unit(argument.expressions[0]) and when is None:
            return Aggregate(AggregateKind.COUNT_UNITS)
        typed = normalize_group_value(translate_expression(argument.expressions[0], rows.resolve))
        return Aggregate(AggregateKind.COUNT_DISTINCT, _apply_filter(typed, when, rows))
    if argument is None or isinstance(argument, exp.Star):
        return (
            Aggregate(AggregateKind.COUNT)
            if when is None
            else Aggregate(AggregateKind.COUNT_OF, _keep_where(_literal_one(), when, rows))
        )
    # A column is counted as it is summed, so that both share one noise.
    is_column = isinstance(argument, exp.Column)
    value = (
        _resolve_column(argument, rows)
        if is_column
        else translate_expression(argument, rows.resolve)
    )
    typed = _apply_filter(value, when, rows)
    return (
        Aggregate(AggregateKind.COUNT_OF, typed)
        if typed.nullable
        else Aggregate(AggregateKind.COUNT)
    )


def _literal_one() -> exp.Expr:
    return exp.Literal.number(1)


def _keep_where(value: exp.Expr, when: exp.Expr, rows: Rows) -> TypedExpression:
    """Return `value` where `when` holds and NULL elsewhere."""
    return _apply_filter(translate_expression(value, rows.resolve), when, rows)


def _apply_filter(typed: TypedExpression, when: exp.Expr | None, rows: Rows) -> TypedExpression:
    if when is None:
        return typed
    chosen = exp.If(this=translate_condition(when, rows.resolve), true=typed.tree.copy())
    return replace(typed, tree=exp.Case(ifs=[chosen]), nullable=True)


def _numeric_aggregate(
    ask: AggregateKind,
    argument: exp.Expr,
    when: exp.Expr | None,
    rows: Rows,
    *,
    quantile: Fraction | None = None,
) -> Aggregate:
    if isinstance(argument, exp.Distinct):
        raise QuestionRefused(f"The {ask} of distinct values is not supported. Leave DISTINCT out.")
    typed = _translate_argument(argument, rows)
    if not typed.kind.is_number:
        raise QuestionRefused(
            f"The {ask} of {argument.sql(dialect='duckdb')} is not defined: it is {typed.kind}, "
            "not a number. Cast it, or count it."
        )
    if typed.low is None or typed.high is None:
        raise NoBounds(_explain_missing_bounds(ask, argument, rows))
    if typed.low == typed.high:
        typed = replace(typed, high=typed.high + (typed.step or 1))
    return Aggregate(ask, _apply_filter(typed, when, rows), quantile)


def _translate_argument(argument: exp.Expr, rows: Rows) -> TypedExpression:
    """Return a number with its bounds; a plain column is clamped where it is counted in steps."""
    if not isinstance(argument, exp.Column):
        return translate_expression(argument, rows.resolve_clamped)
    typed = _resolve_column(argument, rows)
    low, high = rows.bounds.get(rows.place(argument), (None, None))
    return replace(typed, low=low, high=high, step=typed.step if typed.kind.is_number else None)


def _resolve_column(column: exp.Column, rows: Rows) -> TypedExpression:
    """Return a column as it is counted and summed."""
    typed = rows.resolve(column)
    return to_real(typed) if typed.kind is Kind.DECIMAL else typed


def _explain_missing_bounds(ask: AggregateKind, argument: exp.Expr, rows: Rows) -> str:
    names = sorted({rows.describe_column(column) for column in argument.find_all(exp.Column)})
    text = argument.sql(dialect="duckdb")
    return (
        f"The {ask} of {text} is refused: the policy has no bounds for {', '.join(names)}, and one "
        f"person could change the answer without limit. {DECLARE_BOUNDS} Or clamp it in the "
        f"question: least(greatest({text}, low), high)."
    )
