"""The different values of a column, and how many rows have each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.measure.encode import comparable
from discreet.sql import build

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.engines.engine import Column, Engine, Table
    from discreet.policy.hierarchies.arrow import ArrowArray


def distinct_values(engine: Engine, relation: exp.Table, column: Column) -> ArrowArray:
    """Return the distinct values of a column, none missing and in no promised order."""
    value = comparable(column)
    query = (
        build.select(build.named(value, "value"), source=relation.copy())
        .where(exp.not_(build.is_null(value.copy())))
        .distinct()
    )
    return pa.chunked_array(engine.run(query)["value"]).combine_chunks()


def counted_values(table: Table, column: Column) -> tuple[ArrowArray, NDArray[np.int64]]:
    """Return the distinct values of a column, none missing, and the rows of each."""
    value = comparable(column)
    counted = (
        build.select(
            build.named(value, "value"),
            build.named(build.count_rows(), "rows"),
            source=table.relation.copy(),
        )
        .where(exp.not_(build.is_null(value.copy())))
        .group_by(value.copy())
    )
    found = table.engine.run(counted)
    values = pa.chunked_array(found["value"]).combine_chunks()
    return values, found["rows"].to_numpy().astype(np.int64)
