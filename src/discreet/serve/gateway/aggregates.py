"""Exact aggregates under a control: which queries are supported, and whom they are about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from discreet.guard.access.authority import Relation
from discreet.sql import build
from discreet.sql.names import fold_identifier
from discreet.sql.walk import extra_clauses

ROWS = "*"  # in place of a column: the number of rows of each person is summed
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In)
_LIKE = (exp.Like, exp.ILike)
_VALUES = (exp.Literal, exp.Parameter, exp.Null, exp.Boolean)
# Nothing here fails for some rows only, except values, which are evaluated before.
_CONDITIONS = (
    *_COMPARED,
    *_LIKE,
    *_VALUES,
    *(exp.And, exp.Or, exp.Not, exp.Paren, exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Column, exp.Identifier, exp.Neg, exp.Cast, exp.DataType, exp.DataTypeParam),
)


@dataclass(frozen=True)
class AggregateQuery:
    """SELECT count, sum or avg of `columns` FROM `table` WHERE `condition`."""

    table: exp.Table
    columns: tuple[str, ...]
    counts_rows: bool
    condition: exp.Expr | None

    def named(self) -> set[str]:
        """Return the columns that it aggregates."""
        found = self.condition.find_all(exp.Column) if self.condition is not None else ()
        return {*self.columns, *(_column_name(column) for column in found)}


def read_aggregate_query(tree: exp.Query) -> AggregateQuery | None:
    """Return the shape of a query, or None if a control cannot judge it.

    >>> from sqlglot import parse_one
    >>> read_aggregate_query(parse_one("SELECT sum(pay) FROM staff WHERE age < 30")).columns
    ('pay',)
    >>> read_aggregate_query(parse_one("SELECT max(pay) FROM staff")) is None
    True
    """
    if not isinstance(tree, exp.Select) or extra_clauses(tree, ("expressions", "from_", "where")):
        return None
    source = tree.args.get("from_")
    table = source.this if source is not None else None
    if not isinstance(table, exp.Table) or extra_clauses(table, ("this", "db", "alias")):
        return None
    if table.alias_column_names:
        return None
    aggregates = [_aggregated_column(item.unalias()) for item in tree.expressions]
    where = tree.args.get("where")
    condition = where.this if where is not None else None
    if None in aggregates or not _is_plain(condition):
        return None
    columns = dict.fromkeys(name for name in aggregates if name not in (None, ROWS))
    return AggregateQuery(table, tuple(filter(None, columns)), ROWS in aggregates, condition)


def people_query(shape: AggregateQuery, unit: Sequence[str]) -> exp.Select:
    """Return a query with a row for each person: `unit`, how many rows, how many meet the condition.

    Then for each column how many of the rows have a value, and how many of those that meet it.
    """
    keys = [build.column(name) for name in unit]
    counted: list[exp.Expr] = [build.number(1), *(build.column(name) for name in shape.columns)]
    numbers = [
        exp.Count(this=each)
        for value in counted
        for each in (value.copy(), _where_met(shape.condition, value))
    ]
    items = [
        build.alias_as(tree.copy(), f"c{place}") for place, tree in enumerate([*keys, *numbers])
    ]
    return build.select(*items, source=shape.table.copy()).group_by(*keys)


def constants_query(shape: AggregateQuery, relation: Relation) -> exp.Select | None:
    """Return a query that casts all values of a condition to their compared types, without any row.

    It fails if one of them is invalid, so that no error depends on which rows exist.
    """
    if shape.condition is None:
        return None
    casts = list(_comparison_constants(shape.condition, relation))
    return exp.select(*casts) if casts else None


def _where_met(condition: exp.Expr | None, value: exp.Expr) -> exp.Expr:
    if condition is None:
        return value.copy()
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])


def _comparison_constants(condition: exp.Expr, relation: Relation) -> Iterator[exp.Expr]:
    yield from (cast.copy() for cast in condition.find_all(exp.Cast))
    for node in condition.find_all(*_COMPARED, exp.NullSafeEQ, exp.NullSafeNEQ):
        sides = [part.unnest() for part in node.iter_expressions()]
        columns = [
            relation.column(_column_name(one)) for one in sides if isinstance(one, exp.Column)
        ]
        for column in columns:
            if column is not None:
                kind = exp.DataType.build(column.type, dialect="postgres")
                texts = (one for one in sides if isinstance(one, exp.Literal) and one.is_string)
                yield from (exp.Cast(this=text.copy(), to=kind.copy()) for text in texts)


def _column_name(column: exp.Column) -> str:
    return fold_identifier(column.this)


def _aggregated_column(tree: exp.Expr) -> str | None:
    """Return the column that is counted, summed or averaged, `ROWS` for count(*), else None."""
    if isinstance(tree, exp.Count) and isinstance(tree.this, exp.Star):
        return None if tree.expressions or extra_clauses(tree.this, ()) else ROWS
    if type(tree) not in (exp.Count, exp.Sum, exp.Avg) or extra_clauses(tree, ("this", "big_int")):
        return None
    column = tree.this
    is_column = isinstance(column, exp.Column) and not isinstance(column.this, exp.Star)
    return _column_name(column) if is_column else None


def _is_plain(condition: exp.Expr | None) -> bool:
    if condition is None:
        return True
    return all(type(node) in _CONDITIONS and _is_safe(node) for node in condition.walk())


def _is_safe(node: exp.Expr) -> bool:
    if isinstance(node, exp.Cast):
        return isinstance(node.this, _VALUES)
    if isinstance(node, exp.Neg):
        return isinstance(node.this, exp.Literal) and not node.this.is_string
    if isinstance(node, _LIKE):
        # A pattern that ends in a backslash fails only for rows that match up to there.
        pattern = node.expression
        pattern = pattern.this if isinstance(pattern, exp.Cast) else pattern
        return isinstance(pattern, _VALUES) and "\\" not in pattern.name
    if isinstance(node, exp.In):
        return not extra_clauses(node, ("this", "expressions"))
    return True
