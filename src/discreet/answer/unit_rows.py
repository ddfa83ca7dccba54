"""Rows with their units, read from the engine: for estimators that no query can express."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.answer.bounded_queries import first_shuffled_rows, unit_name
from discreet.engines.engine import ArrowTable
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.answer.rows import Rows
    from discreet.engines.engine import Engine

_UNIT = "discreet_unit"


class UnitRows:
    """The rows of one table that count, in memory, each with the number of its unit.

    This is the one place where rows of people leave the engine: nothing of them may be released but by a
    mechanism that is private for a whole unit. Of a unit with more rows than the policy lets count, as many as
    count are chosen at random inside the engine.

    Args:
        rows: What is read.
        columns: The columns, by their names.
        engine: Where they are.
    """

    def __init__(self, rows: Rows, columns: Sequence[str], engine: Engine) -> None:
        self._engine, self._names = engine, list(columns)
        self._query = unit_rows_query(rows, columns)
        self._has_unit = bool(rows.unit)
        self._found: ArrowTable | None = None
        self.has_counted = False

    @property
    def table(self) -> ArrowTable:
        """The rows, with the columns that were asked for; in an order that means nothing."""
        found = self.store_rows()
        return found.select(range(len(self._names))).rename_columns(self._names)

    @property
    def units(self) -> NDArray[np.int64]:
        """The number of each row's unit, from 0 on."""
        found = self.store_rows()
        if not self._has_unit:
            return np.arange(found.num_rows)
        column = found.column(_UNIT).combine_chunks().cast("int64")
        return column.to_numpy(zero_copy_only=False) - 1

    def begin_release(self) -> None:
        """Say that noise is drawn from here on: a failure is final, and is not tried again."""
        self.has_counted = True

    def store_rows(self) -> ArrowTable:
        """Read the rows, if that was not done yet, and return them."""
        if self._found is None:
            self._found = self._engine.run(self._query)
        return self._found

    def close(self) -> None:
        """Drop the rows."""
        self._found = None


def unit_rows_query(rows: Rows, columns: Sequence[str]) -> exp.Select:
    """Return the query for `columns` of the rows that count, called c0, c1 and so on, and the number of their unit."""
    most = rows.limits.rows_per_unit
    if rows.unit and rows.rank is not None and most is not None:
        rows = rows.where(exp.LTE(this=rows.rank.copy(), expression=build.number(most)))
    names = [f"c{place}" for place in range(len(columns))]
    cells = [
        build.alias_as(rows.resolve(build.column(column)).tree.copy(), name)
        for column, name in zip(columns, names, strict=True)
    ]
    if not rows.unit:
        return rows.frame.copy().select(*cells, copy=False)
    units = [unit_name(place) for place in range(len(rows.unit))]
    named = [build.alias_as(tree.copy(), name) for tree, name in zip(rows.unit, units, strict=True)]
    query: exp.Query = rows.frame.copy().select(*cells, *named, copy=False)
    if most is not None and rows.rank is None and not rows.is_single:
        shuffled = [build.column(name) for name in (*units, *names)]
        query = first_shuffled_rows(query, units, shuffled, most)
    return build.select(
        *(build.column(name) for name in names),
        build.alias_as(_number_units(units), _UNIT),
        source=build.subquery(query, "discreet_rows"),
    )


def _number_units(units: Sequence[str]) -> exp.Expr:
    """Return the same number for all rows of a unit, as the engine compares units."""
    order = [exp.Ordered(this=build.column(name), nulls_first=False) for name in units]
    return exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=order))
