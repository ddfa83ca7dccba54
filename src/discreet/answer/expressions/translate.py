"""Translation of an analyst's expression to one that fails on no data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from discreet.answer.expressions import compare
from discreet.answer.expressions.numbers import to_real
from discreet.answer.expressions.refusals import node_name, not_allowed, too_large
from discreet.answer.expressions.rules import RULES
from discreet.answer.expressions.typed import TypedExpression, make_refusal, value_domain
from discreet.engines.engine import Kind
from discreet.errors import QuestionRefused
from discreet.sql.limits import TreeLimits, exceeded_limit
from discreet.sql.walk import AllowList

Resolver = Callable[[exp.Column], TypedExpression]

# Of the question, and of what it becomes; Python and the engines have stacks of their own.
_WRITTEN = TreeLimits(nodes=5_000, depth=60)
_COMPUTED = TreeLimits(nodes=5_000, depth=150)


def translate_expression(node: exp.Expr, resolve: Resolver) -> TypedExpression:
    """Return `node` made total, with what holds for each of its values.

    Guarantee: evaluating `tree` fails on no row of any table on DuckDB, PostgreSQL and Spark; each
    value lies within `low` and `high`. Whether a question is refused depends on its text and on the
    kinds of columns, never on data.

    Raises:
        QuestionRefused: for every construct that is not on the list; the reason names it.
    """
    _check_size(node, _WRITTEN)
    found = _visit_node(node, resolve)
    if found.kind is Kind.REAL and found.most is None and (found.low is None or found.high is None):
        found = to_real(found)
    return replace(found, values=value_domain(found))


def translate_condition(node: exp.Expr, resolve: Resolver) -> exp.Expr:
    """Return a condition for WHERE, made total; NULL counts as false there, as always in SQL."""
    found = translate_expression(node, resolve)
    if found.is_null:
        return exp.false()
    return compare.require_condition(found, "WHERE").tree


def _visit_node(node: exp.Expr, resolve: Resolver) -> TypedExpression:
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier):
        return resolve(node)
    _ALLOWED.check_one(node)
    rule, _ = RULES[type(node)]
    found = rule(node, lambda child: _visit_node(child, resolve))
    # At every node, because a rule may write its argument several times.
    _check_size(found.tree, _COMPUTED)
    return found


def _refuse_clauses(node: exp.Expr, extra: list[str]) -> QuestionRefused:
    return make_refusal(
        f"{node_name(node)} with {' and '.join(extra)} is not answered.", "Leave that out."
    )


_ALLOWED = AllowList(
    {kind: names for kind, (_, names) in RULES.items()}, not_allowed, _refuse_clauses
)


def _check_size(tree: exp.Expr, limits: TreeLimits) -> None:
    if exceeded_limit(tree, limits) is not None:
        raise too_large()
