"""Small trees for large ones: what is given becomes part of the result, and is not copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Iterable


def select(values: Iterable[exp.Expr], source: exp.Expr, *conditions: exp.Expr) -> exp.Select:
    """Return `SELECT values FROM source WHERE` all of the conditions."""
    query = exp.Select(expressions=list(values), from_=exp.From(this=source))
    if conditions:
        query.set("where", exp.Where(this=every(conditions)))
    return query


def rows_of(source: exp.Expr, *conditions: exp.Expr) -> exp.Select:
    """Return a 1 for each row of `source` that meets all of the conditions."""
    return select([build.number(1)], source, *conditions)


def joined(query: exp.Select, source: exp.Expr, *conditions: exp.Expr) -> exp.Select:
    """Add `JOIN source ON` all of the conditions to `query`, and return it."""
    query.append("joins", exp.Join(this=source, on=every(conditions)))
    return query


def every(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """Return the conjunction of conditions, TRUE when there are none."""
    listed = list(conditions)
    return exp.and_(*listed, copy=False) if listed else exp.true()


def either(*conditions: exp.Expr) -> exp.Expr:
    """Return the disjunction of conditions, FALSE when there are none."""
    return exp.or_(*conditions, copy=False) if conditions else exp.false()


def negated(condition: exp.Expr) -> exp.Expr:
    """Return `NOT (condition)`."""
    return exp.Not(this=exp.Paren(this=condition))


def exists(query: exp.Query) -> exp.Exists:
    """Return `EXISTS (query)`."""
    return exp.Exists(this=query)


def when(condition: exp.Expr, value: exp.Expr, otherwise: exp.Expr | None = None) -> exp.Case:
    """Return `CASE WHEN condition THEN value ELSE otherwise END`."""
    return exp.Case(ifs=[exp.If(this=condition, true=value)], default=otherwise)


def equal(one: exp.Expr, other: exp.Expr) -> exp.EQ:
    """Return `one = other`."""
    return exp.EQ(this=one, expression=other)


def differs(one: exp.Expr, other: exp.Expr) -> exp.NEQ:
    """Return `one <> other`."""
    return exp.NEQ(this=one, expression=other)


def below(one: exp.Expr, other: exp.Expr) -> exp.LT:
    """Return `one < other`."""
    return exp.LT(this=one, expression=other)


def bits(one: exp.Expr, mask: int) -> exp.Expr:
    """Return `(one & mask)`."""
    return exp.Paren(this=exp.BitwiseAnd(this=one, expression=build.number(mask)))


def is_value(expression: exp.Expr) -> exp.Expr:
    """Return that `expression` is not NULL."""
    return exp.Not(this=build.is_null(expression))


def named(expression: exp.Expr, name: str) -> exp.Alias:
    """Return `expression AS "name"`."""
    return exp.Alias(this=expression, alias=exp.to_identifier(name, quoted=True))


def part(name: str) -> exp.Identifier:
    """Return a quoted name."""
    return exp.to_identifier(name, quoted=True)
