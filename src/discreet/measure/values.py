"""The different values of a column, and how many rows have each."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from discreet.arrow import ArrowArray
from discreet.engines.engine import Column, Engine, Table
from discreet.measure.encode import comparable_value
from discreet.sql import build


def distinct_values(engine: Engine, relation: exp.Table, column: Column) -> ArrowArray:
    """Return the distinct values of a column, none missing and in no promised order."""
    value = comparable_value(column)
    query = (
        build.select(build.alias_as(value, "value"), source=relation.copy())
        .where(exp.not_(build.is_null(value.copy())))
        .distinct()
    )
    return pa.chunked_array(engine.run(query)["value"]).combine_chunks()


def counted_values(table: Table, column: Column) -> tuple[ArrowArray, NDArray[np.int64]]:
    """Return the distinct values of a column, none missing, and the rows of each."""
    value = comparable_value(column)
    counted = (
        build.select(
            build.alias_as(value, "value"),
            build.alias_as(build.count_star(), "rows"),
            source=table.relation.copy(),
        )
        .where(exp.not_(build.is_null(value.copy())))
        .group_by(value.copy())
    )
    found = table.engine.run(counted)
    values = pa.chunked_array(found["value"]).combine_chunks()
    return values, found["rows"].to_numpy().astype(np.int64)
