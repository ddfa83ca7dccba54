"""Builders for large trees: arguments become part of the result and are not copied."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from discreet.sql import build


def select_where(values: Iterable[exp.Expr], source: exp.Expr, *conditions: exp.Expr) -> exp.Select:
    """Return `SELECT values FROM source WHERE` all of the conditions."""
    query = exp.Select(expressions=list(values), from_=exp.From(this=source))
    if conditions:
        query.set("where", exp.Where(this=conjunction(conditions)))
    return query


def select_ones(source: exp.Expr, *conditions: exp.Expr) -> exp.Select:
    """Return a 1 for each row of `source` that meets all of the conditions."""
    return select_where([build.number(1)], source, *conditions)


def join_source(query: exp.Select, source: exp.Expr, *conditions: exp.Expr) -> exp.Select:
    """Add `JOIN source ON` all of the conditions to `query`, and return it."""
    query.append("joins", exp.Join(this=source, on=conjunction(conditions)))
    return query


def conjunction(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """Return the conjunction of conditions, TRUE when there are none."""
    listed = list(conditions)
    return exp.and_(*listed, copy=False) if listed else exp.true()


def disjunction(*conditions: exp.Expr) -> exp.Expr:
    """Return the disjunction of conditions, FALSE when there are none."""
    return exp.or_(*conditions, copy=False) if conditions else exp.false()


def negate(condition: exp.Expr) -> exp.Expr:
    """Return `NOT (condition)`."""
    return exp.Not(this=exp.Paren(this=condition))


def exists(query: exp.Query) -> exp.Exists:
    """Return `EXISTS (query)`."""
    return exp.Exists(this=query)


def case_when(condition: exp.Expr, value: exp.Expr, otherwise: exp.Expr | None = None) -> exp.Case:
    """Return `CASE WHEN condition THEN value ELSE otherwise END`."""
    return exp.Case(ifs=[exp.If(this=condition, true=value)], default=otherwise)


def equality(one: exp.Expr, other: exp.Expr) -> exp.EQ:
    """Return `one = other`."""
    return exp.EQ(this=one, expression=other)


def differs(one: exp.Expr, other: exp.Expr) -> exp.NEQ:
    """Return `one <> other`."""
    return exp.NEQ(this=one, expression=other)


def below(one: exp.Expr, other: exp.Expr) -> exp.LT:
    """Return `one < other`."""
    return exp.LT(this=one, expression=other)


def mask_bits(one: exp.Expr, mask: int) -> exp.Expr:
    """Return `(one & mask)`."""
    return exp.Paren(this=exp.BitwiseAnd(this=one, expression=build.number(mask)))


def is_value(expression: exp.Expr) -> exp.Expr:
    """Return that `expression` is not NULL."""
    return exp.Not(this=build.is_null(expression))


def alias_in_place(expression: exp.Expr, name: str) -> exp.Alias:
    """Return `expression AS "name"`."""
    return exp.Alias(this=expression, alias=exp.to_identifier(name, quoted=True))


def quoted_identifier(name: str) -> exp.Identifier:
    """Return a quoted name."""
    return exp.to_identifier(name, quoted=True)
