"""Weighted questions: each row of a survey counts as often as its sampling weight says.

A weighted question is another question about the same table, written before anything is planned: counts become
sums of weights, sums become sums of products, means their quotients. So its sensitivity follows from the public
bounds of the weight as that of any other sum, and price, plan and refusals depend on no row.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from sqlglot import exp

from discreet.answer.aggregates import begins_private_aggregate
from discreet.answer.catalog import Catalog
from discreet.answer.statement import DIALECT, parse_question
from discreet.errors import QuestionRefused
from discreet.sql import build
from discreet.sql.names import from_items

_MEANS = ("mean", "avg")


def weigh_question(question: str, catalog: Catalog, lock: threading.Lock) -> str:
    """Return the question in which each row counts as its weight, by the policies of the tables.

    The lock is that of the engine on which tables are opened.

    Raises:
        QuestionRefused: No table of it has a weight, or it asks for more than counts, sums and means.
    """

    def weight_of(name: str) -> str | None:
        with lock:
            policy = catalog.find(name).policy
        return policy.weight if policy else None

    return weigh_query(parse_question(question), weight_of).sql(dialect=DIALECT, comments=False)


def weigh_query(query: exp.Query, weight_of: Callable[[str], str | None]) -> exp.Query:
    """Return the query in which each row counts as its weight; `weight_of` names a table's weight.

    >>> people = parse_question("SELECT count(*) AS n, sum(age) AS ages FROM people")
    >>> print(weigh_query(people, lambda table: "w").sql())
    SELECT SUM("people"."w") AS n, SUM("people"."w" * (age)) AS ages FROM people
    """
    if not isinstance(query, exp.Select) or len(list(query.find_all(exp.Select))) > 1:
        raise QuestionRefused(
            "A weighted question is one SELECT about tables: in a subquery, a WITH or a UNION it would be "
            "unclear what the weights belong to. Ask for the aggregates, and compute the rest from them."
        )
    weight = _find_weight(query, weight_of)
    weighed = query.copy()
    weighed.set("expressions", [_keep_name(item) for item in weighed.expressions])
    for node in list(weighed.walk(prune=begins_private_aggregate)):
        if begins_private_aggregate(node):
            node.replace(_weigh_aggregate(node, weight))
    return weighed


def _keep_name(item: exp.Expr) -> exp.Expr:
    """Return a column of the answer under the name that it would have without weights."""
    if item.alias or item.is_star or isinstance(item, exp.Column):
        return item
    return build.alias_as(item, item.sql(dialect=DIALECT, comments=False).lower())


def _find_weight(query: exp.Select, weight_of: Callable[[str], str | None]) -> exp.Column:
    """Return the weight of the only table that has one."""
    names = [source for source in from_items(query) if isinstance(source, exp.Table)]
    found = {
        table.alias or table.name: weight
        for table in names
        if (weight := weight_of(table.name)) is not None
    }
    if len(found) != 1:
        listed = ", ".join(f"'{table.name}'" for table in names)
        reason = (
            f"No column of {listed} has the role 'weight', so that rows cannot be weighted. Give it to the "
            "sampling weights in the policy, with public bounds."
            if not found
            else f"Several of {listed} have weights, and a pair of rows would have two. Ask about one of them."
        )
        raise QuestionRefused(reason)
    ((alias, weight),) = found.items()
    return build.column(weight, of=alias)


def _weigh_aggregate(node: exp.Expr, weight: exp.Column) -> exp.Expr:
    when: exp.Expr | None = None
    inner = node
    if isinstance(node, exp.Filter):
        when, inner = node.expression, node.this

    def total(value: exp.Expr) -> exp.Expr:
        summed = exp.Sum(this=value)
        return summed if when is None else exp.Filter(this=summed, expression=when.copy())

    argument = inner.this if isinstance(inner.this, exp.Expr) else None
    if isinstance(inner, exp.Anonymous) and str(inner.this).lower() in _MEANS:
        inner, argument = exp.Avg(this=inner.expressions[0]), inner.expressions[0]
    if isinstance(inner, exp.Count) and not isinstance(argument, exp.Distinct):
        if argument is None or isinstance(argument, (exp.Star, exp.Literal)):
            return total(weight.copy())
        return total(_weight_where(argument, weight))
    if isinstance(inner, exp.CountIf) and argument is not None:
        return total(exp.case().when(argument.copy(), weight.copy()))
    if isinstance(inner, (exp.Sum, exp.Avg)) and not isinstance(
        argument, (exp.Distinct, type(None))
    ):
        product = exp.Mul(this=weight.copy(), expression=exp.paren(argument.copy()))
        if isinstance(inner, exp.Sum):
            return total(product)
        known = total(_weight_where(argument, weight))
        return exp.paren(exp.Div(this=total(product), expression=known))
    raise QuestionRefused(
        f"{node.sql(dialect=DIALECT)} has no weighted answer here: weights count in count, sum and avg. "
        "Ask for it without weights."
    )


def _weight_where(argument: exp.Expr, weight: exp.Column) -> exp.Expr:
    """Return the weight of a row in which `argument` is known."""
    is_known = exp.not_(build.is_null(exp.paren(argument.copy())))
    return exp.case().when(is_known, weight.copy())
