"""What an aggregate asks for: its kind, its argument within bounds, and the quantile if it is one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.answer.expressions.labels import label
from discreet.answer.expressions.numbers import real
from discreet.answer.expressions.translate import condition, translate
from discreet.answer.rows import DECLARE_BOUNDS, is_number
from discreet.engines.engine import Kind
from discreet.errors import NoBounds, QuestionRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.answer.expressions.typed import Typed
    from discreet.answer.rows import Rows


class Ask(StrEnum):
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


MOMENTS: Mapping[Ask, int] = {
    Ask.SUM: 1,
    Ask.AVG: 1,
    Ask.VARIANCE: 2,
    Ask.VARIANCE_POP: 2,
    Ask.STDDEV: 2,
    Ask.STDDEV_POP: 2,
}

_SPREADS: Mapping[type[exp.Expr], Ask] = {
    exp.Sum: Ask.SUM,
    exp.Avg: Ask.AVG,
    exp.Variance: Ask.VARIANCE,
    exp.VariancePop: Ask.VARIANCE_POP,
    exp.Stddev: Ask.STDDEV,
    exp.StddevSamp: Ask.STDDEV,
    exp.StddevPop: Ask.STDDEV_POP,
    exp.Min: Ask.MIN,
    exp.Max: Ask.MAX,
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

    ask: Ask
    argument: Typed | None = None
    quantile: Fraction | None = None


def is_aggregate(node: exp.Expr) -> bool:
    """Whether `node` is where an aggregate begins, with its FILTER and WITHIN GROUP."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower() in _ALIASES
    return isinstance(node, (exp.AggFunc, exp.Filter, exp.WithinGroup, exp.IgnoreNulls))


def read_aggregate(node: exp.Expr, rows: Rows) -> Aggregate:
    """Return what `node` asks for.

    Raises:
        QuestionRefused: There is no private answer to it.
        NoBounds: A number is summed that has no bounds.
    """
    when: exp.Expr | None = None
    if isinstance(node, exp.Filter):
        when, node = node.expression.this, node.this
    if isinstance(node, exp.WithinGroup):
        node = _ordered(node)
    if isinstance(node, exp.Anonymous):
        node = _ALIASES[str(node.this).lower()](this=node.expressions[0])
    if isinstance(node, exp.Count):
        return _count(node, when, rows)
    if isinstance(node, exp.CountIf):
        both = node.this if when is None else exp.and_(when, node.this)
        return Aggregate(Ask.COUNT_OF, _only(_one(), both, rows))
    if isinstance(node, exp.Median):
        return _number(Ask.QUANTILE, node.this, when, rows, quantile=Fraction(1, 2))
    if isinstance(node, _QUANTILES):
        share = node.args.get("expression") or node.args.get("quantile")
        return _number(Ask.QUANTILE, node.this, when, rows, quantile=_share(share))
    ask = _SPREADS.get(type(node))
    if ask is None or node.args.get("expressions"):
        instead = next((text for kind, text in _INSTEAD.items() if isinstance(node, kind)), "")
        raise QuestionRefused(
            f"{node.sql(dialect='duckdb')} has no private answer here. {instead}".strip()
        )
    return _number(ask, node.this, when, rows)


def _ordered(node: exp.WithinGroup) -> exp.Expr:
    """Return `percentile_cont(q) WITHIN GROUP (ORDER BY x)` as a quantile of x."""
    found = node.this
    orders = node.expression.expressions if isinstance(node.expression, exp.Order) else []
    if not isinstance(found, (exp.PercentileCont, exp.PercentileDisc)) or len(orders) != 1:
        raise QuestionRefused("WITHIN GROUP needs percentile_cont and one column to order by.")
    share: exp.Expr = found.this
    if orders[0].args.get("desc"):
        share = exp.Sub(this=exp.Literal.number(1), expression=share)
    return exp.PercentileCont(this=orders[0].this, expression=share)


def _share(node: exp.Expr | None) -> Fraction:
    if isinstance(node, exp.Sub):
        return 1 - _share(node.expression)
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
            return Aggregate(Ask.COUNT_UNITS)
        typed = label(translate(argument.expressions[0], rows.resolve))
        return Aggregate(Ask.COUNT_DISTINCT, _when(typed, when, rows))
    if argument is None or isinstance(argument, exp.Star):
        return (
            Aggregate(Ask.COUNT)
            if when is None
            else Aggregate(Ask.COUNT_OF, _only(_one(), when, rows))
        )
    # A column is counted as it is summed, so that both share one noise.
    is_column = isinstance(argument, exp.Column)
    value = _column(argument, rows) if is_column else translate(argument, rows.resolve)
    typed = _when(value, when, rows)
    return Aggregate(Ask.COUNT_OF, typed) if typed.nullable else Aggregate(Ask.COUNT)


def _one() -> exp.Expr:
    return exp.Literal.number(1)


def _only(value: exp.Expr, when: exp.Expr, rows: Rows) -> Typed:
    """Return `value` where `when` holds and NULL elsewhere."""
    return _when(translate(value, rows.resolve), when, rows)


def _when(typed: Typed, when: exp.Expr | None, rows: Rows) -> Typed:
    if when is None:
        return typed
    chosen = exp.If(this=condition(when, rows.resolve), true=typed.tree.copy())
    return replace(typed, tree=exp.Case(ifs=[chosen]), nullable=True)


def _number(
    ask: Ask,
    argument: exp.Expr,
    when: exp.Expr | None,
    rows: Rows,
    *,
    quantile: Fraction | None = None,
) -> Aggregate:
    if isinstance(argument, exp.Distinct):
        raise QuestionRefused(f"The {ask} of distinct values is not supported. Leave DISTINCT out.")
    typed = _argument(argument, rows)
    if not is_number(typed.kind):
        raise QuestionRefused(
            f"The {ask} of {argument.sql(dialect='duckdb')} is not defined: it is {typed.kind}, "
            "not a number. Cast it, or count it."
        )
    if typed.low is None or typed.high is None:
        raise NoBounds(_unbounded(ask, argument, rows))
    if typed.low == typed.high:
        typed = replace(typed, high=typed.high + (typed.step or 1))
    return Aggregate(ask, _when(typed, when, rows), quantile)


def _argument(argument: exp.Expr, rows: Rows) -> Typed:
    """Return a number with its bounds; a plain column is clamped where it is counted in steps."""
    if not isinstance(argument, exp.Column):
        return translate(argument, rows.resolve_clamped)
    typed = _column(argument, rows)
    low, high = rows.bounds.get(rows.place(argument), (None, None))
    return replace(typed, low=low, high=high, step=typed.step if is_number(typed.kind) else None)


def _column(column: exp.Column, rows: Rows) -> Typed:
    """Return a column as it is counted and summed."""
    typed = rows.resolve(column)
    return real(typed) if typed.kind is Kind.DECIMAL else typed


def _unbounded(ask: Ask, argument: exp.Expr, rows: Rows) -> str:
    names = sorted({rows.named(column) for column in argument.find_all(exp.Column)})
    text = argument.sql(dialect="duckdb")
    return (
        f"The {ask} of {text} is refused: nobody declared the bounds of {', '.join(names)}, and one "
        f"person could change the answer without limit. {DECLARE_BOUNDS} Or clamp it in the "
        f"question: least(greatest({text}, low), high)."
    )
