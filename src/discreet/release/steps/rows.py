"""Rows in one order on every engine: some columns come to memory, and go back beside the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.arrow import ArrowArray
from discreet.engines.engine import ArrowTable, Table
from discreet.measure.encode import comparable_value
from discreet.sql import build


@dataclass(frozen=True)
class NumberedTable:
    """A table whose rows are numbered in the order of all of their values.

    Rows with the same number on two engines, or after a shuffle of the source, are alike in every
    column: what is computed from the numbered rows does not depend on where or in which order they
    were stored.
    """

    table: Table
    relation: exp.Table
    number: str  # the name of the column that holds the numbers

    def read(self, columns: Sequence[str]) -> ArrowTable:
        """Return some columns in the order of the numbers, all rows in memory."""
        query = build.select(*(build.column(name) for name in columns), source=self.relation)
        return self.table.engine.run(build.order_nulls_last(query, [build.column(self.number)]))

    def write(self, changed: Mapping[str, ArrowArray]) -> exp.Table:
        """Keep the table with some columns changed, in the old order of columns."""
        engine = self.table.engine
        rows = len(next(iter(changed.values())))
        # Not by their own names: one of them may be called as the number is.
        names = {name: f"c{index}" for index, name in enumerate(changed)}
        loaded = engine.load(
            pa.table(
                {
                    "number": pa.array(np.arange(1, rows + 1)),
                    **{names[name]: values for name, values in changed.items()},
                }
            ).to_reader()
        )
        wanted = [
            build.alias_as(
                build.column(names[column.name], of="new")
                if column.name in names
                else build.column(column.name, of="old"),
                column.name,
            )
            for column in self.table.columns
        ]
        query = build.select(*wanted, source=build.aliased_table(self.relation, "old")).join(
            exp.Join(
                this=build.aliased_table(loaded, "new"),
                on=exp.EQ(
                    this=build.column(self.number, of="old"),
                    expression=build.column("number", of="new"),
                ),
            )
        )
        try:
            return engine.keep(query)
        finally:
            engine.drop(loaded)


def number_rows(table: Table) -> NumberedTable:
    """Return `table` with its rows numbered from 1; drop its relation when it was read."""
    number = "number"
    while table.column(number) is not None:
        number += "_"
    order = [exp.Ordered(this=comparable_value(c), nulls_first=False) for c in table.columns]
    position = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=order))
    wanted = [build.column(column.name) for column in table.columns]
    query = build.select(
        *wanted, build.alias_as(exp.cast(position, "bigint"), number), source=table.relation.copy()
    )
    return NumberedTable(table, table.engine.keep(query), number)
