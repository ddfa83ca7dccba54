"""Results of DuckDB as tables that are neither too long nor too large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.engines.databases.failures import too_many_bytes, too_many_rows

if TYPE_CHECKING:
    from discreet.engines.engine import ArrowTable

ROWS = 8192  # of a batch
BATCH = 64 << 20  # bytes of a batch whose rows each have all texts of the statement


def bounded(result: Any, *, limit: int | None, most: int | None, length: int) -> ArrowTable:
    """Return the rows of a result.

    Args:
        result: What `execute` gave.
        limit: How many rows there may be.
        most: How many bytes they may take.
        length: Of the statement: the longer its texts, the fewer rows are taken at once.

    Raises:
        StatementFailed: 54000, there are more.
    """
    if limit is None and most is None:
        return result.to_arrow_table()
    at_once = max(8, min(ROWS, BATCH // max(length, 1)))
    reader = result.to_arrow_reader(at_once if limit is None else min(limit + 1, at_once))
    batches: list[Any] = []
    rows = size = 0
    for batch in reader:
        batches.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if limit is not None and rows > limit:
            reader.close()
            raise too_many_rows(limit)
        if most is not None and size > most:
            reader.close()
            raise too_many_bytes(most)
    return pa.Table.from_batches(batches, schema=reader.schema)
