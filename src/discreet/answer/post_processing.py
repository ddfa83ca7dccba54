"""What may be done with released answers: any total computation, but nothing that leaves the query."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

from sqlglot import exp

from discreet.answer.rows import number_constant
from discreet.errors import QuestionRefused
from discreet.sql import build
from discreet.sql.walk import rewrite_tree

# Functions that read nothing but their arguments. Everything else is refused by name.
_ALLOWED = (
    *(exp.Abs, exp.Avg, exp.Case, exp.Cast, exp.Ceil, exp.Coalesce, exp.Concat, exp.Count),
    *(exp.CountIf, exp.DateTrunc, exp.DenseRank, exp.Exp, exp.Extract, exp.Floor, exp.Greatest),
    *(exp.If, exp.Least, exp.Length, exp.Ln, exp.Log, exp.Lower, exp.Max, exp.Median, exp.Min),
    *(exp.Nullif, exp.PercentileCont, exp.Pow, exp.Rank, exp.Round, exp.RowNumber, exp.Sign),
    *(exp.Sqrt, exp.Stddev, exp.StddevPop, exp.Substring, exp.Sum, exp.TimestampTrunc, exp.Trim),
    *(exp.TryCast, exp.Upper, exp.Variance, exp.VariancePop, exp.And, exp.Or, exp.Not, exp.Lag),
    *(exp.Lead, exp.Year, exp.Month, exp.Day, exp.Left, exp.Right),
)


# DuckDB writes the argument of NULLIF twice, so that what is nested grows with a power of its depth.
_GROWING = (exp.Nullif, exp.Sqrt, exp.Ln, exp.Log, exp.Pow)
_DEEPEST = 4


def check_post_processing(query: exp.Query, released: Collection[str]) -> None:
    """Refuse a query that reads more than `released` tables or calls an unlisted function."""
    for node in query.walk():
        if isinstance(node, exp.Table) and node.name not in released:
            raise QuestionRefused(
                f"'{node.name}' cannot be read here: only answers can. Join them in a subquery in FROM."
            )
        is_function = isinstance(node, exp.Func) and not isinstance(node, (exp.Query, exp.Binary))
        if is_function and not isinstance(node, _ALLOWED):
            name = node.name if isinstance(node, exp.Anonymous) else type(node).__name__
            raise QuestionRefused(
                f"{name.lower()}() is not supported on answers. Take the answer and compute it there."
            )
        if isinstance(node, _GROWING) and _nesting_depth(node) > _DEEPEST:
            raise QuestionRefused(
                f"Roots, logarithms, powers and NULLIF are nested more than {_DEEPEST} deep. Take the "
                "answer and compute it there."
            )
        if isinstance(node, (exp.Placeholder, exp.Parameter, exp.Command, exp.Lambda)):
            raise QuestionRefused("Parameters and commands are not part of a question.")


def _nesting_depth(node: exp.Expr | None) -> int:
    depth = 0
    while node is not None:
        depth += isinstance(node, _GROWING)
        node = node.parent
    return depth


def make_query_total(query: exp.Query) -> exp.Query:
    """Return `query` with NULL for roots, logarithms, powers and casts of what has none.

    Noise makes numbers negative that never are.
    """
    return rewrite_tree(query, _total_node)


def _total_node(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Sqrt):
        # The double next to zero: every number below zero is at or below it.
        return exp.Sqrt(this=_null_unless_above(node.this, -5e-324))
    if isinstance(node, exp.Ln):
        return exp.Ln(this=_null_unless_above(node.this, 0.0))
    if isinstance(node, exp.Log) and node.args.get("expression") is None:
        return exp.Log(this=_null_unless_above(node.this, 0.0))
    if isinstance(node, exp.Log):
        base = exp.Nullif(
            this=_null_unless_above(node.this, 0.0), expression=number_constant(Fraction(1))
        )
        return exp.Log(this=base, expression=_null_unless_above(node.expression, 0.0))
    if isinstance(node, exp.Pow):
        nan = exp.cast(build.text("NaN"), exp.DataType.Type.DOUBLE)
        return exp.Nullif(this=node.copy(), expression=nan)
    if type(node) is exp.Cast:
        return exp.TryCast(this=node.this.copy(), to=node.args["to"].copy())
    return node


def _null_unless_above(tree: exp.Expr, lowest: float) -> exp.Expr:
    """Return a number if it is above `lowest`, NULL otherwise."""
    least = number_constant(Fraction(lowest))
    raised = exp.Greatest(this=tree.copy(), expressions=[least], ignore_nulls=True)
    return exp.Nullif(this=raised, expression=least.copy())


def projection_names(select: exp.Select) -> tuple[str, ...]:
    """Return the column names of a query over answers; none for `*`, which keeps its input's."""
    if any(item.is_star for item in select.expressions):
        return ()
    names: list[str] = []
    for item in select.expressions:
        name = item.alias_or_name or item.sql(dialect="duckdb").lower()
        while name in names:
            name += "_"
        names.append(name)
    return tuple(names)
