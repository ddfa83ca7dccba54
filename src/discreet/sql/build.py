"""Builders of query trees: names are always quoted, values are always literals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlglot import exp


def column(name: str, *, of: str | None = None) -> exp.Column:
    """Return a quoted column, of the table aliased `of` when given."""
    table = exp.to_identifier(of, quoted=True) if of else None
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=table)


def table(*names: str, alias: str | None = None) -> exp.Table:
    """Return a quoted table name: `table("schema", "name")`, innermost last."""
    parts = [exp.to_identifier(name, quoted=True) for name in reversed(names)]
    tree = exp.Table(**dict(zip(("this", "db", "catalog"), parts, strict=False)))
    return aliased_table(tree, alias) if alias else tree


def aliased_table(relation: exp.Table, alias: str) -> exp.Table:
    """Return a copy of `relation` that is called `alias` in the query."""
    tree = relation.copy()
    tree.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return tree


def alias_as(expression: exp.Expr, name: str) -> exp.Expr:
    """Return `expression AS "name"`."""
    return exp.alias_(expression, exp.to_identifier(name, quoted=True))


def number(value: int) -> exp.Expr:
    """Return a whole number as a literal."""
    return exp.Literal.number(value)


def text(value: str) -> exp.Literal:
    """Return a string literal; the generator escapes it for its dialect."""
    return exp.Literal.string(value)


def count_star() -> exp.Count:
    """Return `COUNT(*)`."""
    return exp.Count(this=exp.Star())


def count_distinct(expression: exp.Expr) -> exp.Count:
    """Return `COUNT(DISTINCT expression)`."""
    return exp.Count(this=exp.Distinct(expressions=[expression]))


def sum_integers(expression: exp.Expr) -> exp.Cast:
    """Return the sum of `expression` as a 64-bit integer, whatever the engine widens sums to."""
    return exp.cast(exp.Sum(this=expression), exp.DataType.Type.BIGINT)


def all_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """Return the conjunction of `conditions`, TRUE when there are none."""
    return exp.and_(*conditions) if (conditions := list(conditions)) else exp.true()


def any_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """Return the disjunction of `conditions`, FALSE when there are none."""
    return exp.or_(*conditions) if (conditions := list(conditions)) else exp.false()


def same(names: Iterable[str], left: str, right: str) -> exp.Expr:
    """Return the condition that tables aliased `left` and `right` agree on the named columns."""
    return all_of(
        exp.EQ(this=column(name, of=left), expression=column(name, of=right)) for name in names
    )


def is_null(expression: exp.Expr) -> exp.Is:
    """Return `expression IS NULL`."""
    return exp.Is(this=expression, expression=exp.Null())


def same_or_missing(
    mine: exp.Expr, theirs: exp.Expr, *, has_missing: bool = True
) -> list[exp.Expr]:
    """Return conditions that two values are equal or both missing, as hashable equalities."""
    if not has_missing:
        return [exp.EQ(this=mine, expression=theirs)]
    texts = [
        exp.Coalesce(this=exp.cast(side.copy(), exp.DataType.Type.TEXT), expressions=[text("")])
        for side in (mine, theirs)
    ]
    missing = [exp.paren(is_null(side.copy())) for side in (mine, theirs)]
    return [
        exp.EQ(this=texts[0], expression=texts[1]),
        exp.EQ(this=missing[0], expression=missing[1]),
    ]


def subquery(query: exp.Query, alias: str) -> exp.Subquery:
    """Return `query` as a table expression called `alias`."""
    return exp.Subquery(
        this=query, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
    )


def select(*expressions: exp.Expr, source: exp.Expr) -> exp.Select:
    """Return `SELECT expressions FROM source`."""
    return exp.select(*expressions).from_(source)


def select_named(named: Mapping[str, exp.Expr], *, source: exp.Expr) -> exp.Select:
    """Return `SELECT tree AS "name", … FROM source`, of the trees themselves, not of copies: for large ones.

    >>> select_named({"n": number(1)}, source=table("t")).sql()
    'SELECT 1 AS "n" FROM "t"'
    """
    trees = [
        exp.alias_(tree, exp.to_identifier(name, quoted=True), copy=False)
        for name, tree in named.items()
    ]
    return exp.Select(expressions=trees).from_(source, copy=False)


def cast_tree(tree: exp.Expr, kind: Any) -> exp.Cast:
    """Return a cast of the tree itself, not of a copy."""
    return exp.cast(tree, kind, copy=False)


def computed_once(query: exp.Select, alias: str) -> exp.Subquery:
    """Return a query that was made for it as a subquery whose columns are computed once for each row.

    Without an offset, PostgreSQL writes a column's expression wherever the column is used, which multiplies
    expressions that use each other's results.
    """
    return subquery(query.offset(0, copy=False), alias)


def order_nulls_last(query: exp.Select, by: Sequence[exp.Expr]) -> exp.Select:
    """Return `query` sorted by `by`, NULLs last on every engine."""
    return query.order_by(*(exp.Ordered(this=item, nulls_first=False) for item in by))
