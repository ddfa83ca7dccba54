"""What may be done with released answers: any total computation, but nothing that leaves the query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import QuestionRefused

if TYPE_CHECKING:
    from collections.abc import Collection

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


def check_outer(query: exp.Query, released: Collection[str]) -> None:
    """Refuse a query that reads more than `released` tables or calls a function nobody allowed."""
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
        if isinstance(node, (exp.Placeholder, exp.Parameter, exp.Command, exp.Lambda)):
            raise QuestionRefused("Parameters and commands are not part of a question.")


def outer_names(select: exp.Select) -> tuple[str, ...]:
    """Return what the columns of a query over answers are called; none for `*`, which says it itself."""
    if any(item.is_star for item in select.expressions):
        return ()
    names: list[str] = []
    for item in select.expressions:
        name = item.alias_or_name or item.sql(dialect="duckdb").lower()
        while name in names:
            name += "_"
        names.append(name)
    return tuple(names)
