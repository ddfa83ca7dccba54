"""Columns replaced value by value: distinct values come here, their replacements go back by a join.

The rows stay on the engine, with their unit beside them, until they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

import pyarrow as pa
from sqlglot import exp

from discreet.arrow import ArrowArray
from discreet.engines.engine import Column, Engine, Table
from discreet.errors import Bug
from discreet.measure.encode import comparable_value
from discreet.measure.roles import require_column
from discreet.measure.values import distinct_values
from discreet.sql import build

UNIT = "discreet unit"
"""The column that identifies the person while a release is measured; it is never written."""

Change: TypeAlias = Callable[[ArrowArray], ArrowArray]


def replace_values(
    table: Table, changes: Mapping[str, Change], *, drop: Collection[str] = ()
) -> exp.Select:
    """Return the query of `table` with some columns changed and some left out, in the old order.

    Each change gets its column's distinct values, none missing and in no promised order, and
    returns one replacement for each. A missing value stays missing. What the query reads is kept on
    the table's engine: give it a `Scratch`, and drop that after the query ran.
    """
    query = exp.Select().from_(build.aliased_table(table.relation, "t"))
    for index, column in enumerate(table.columns):
        if column.name in drop:
            continue
        change = changes.get(column.name)
        if change is None:
            query = query.select(build.alias_as(build.column(column.name, of="t"), column.name))
            continue
        alias = f"r{index}"
        replacements = load_replacements(table.engine, table.relation, column, change)
        query = query.join(
            exp.Join(
                this=build.aliased_table(replacements, alias),
                side="LEFT",
                on=exp.EQ(
                    this=comparable_value(column, of="t"),
                    expression=build.column("value", of=alias),
                ),
            )
        ).select(build.alias_as(build.column("replacement", of=alias), column.name))
    return query


def load_replacements(
    engine: Engine, relation: exp.Table, column: Column, change: Change
) -> exp.Table:
    """Keep the table `value, replacement` of a column's distinct values on the engine."""
    values = distinct_values(engine, relation, column)
    replacements = change(values)
    if len(replacements) != len(values):
        raise Bug(f"{len(replacements)} replacements were made for {len(values)} values.")
    return engine.load(pa.table({"value": values, "replacement": replacements}).to_reader())


def keep_rows(table: Table, query: exp.Select, *, unit: str | None) -> Table:
    """Keep the rows of `query`, made by `replace_values` of `table`, with the unit beside them."""
    if unit is not None:
        person = build.column(require_column(table, unit).name, of="t")
        query = query.select(build.alias_as(person, UNIT))
    elif not query.expressions:  # rows without a column are no table
        query = query.select(build.alias_as(build.number(1), UNIT))
    relation = table.engine.keep(query)
    return Table(table.engine, relation, table.engine.columns(relation), table.label)
