"""Frames of Python: anything that speaks Arrow becomes a table on DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import dataset

from discreet.engines.delimited import refuse_duplicates
from discreet.engines.engine import Table
from discreet.errors import UnreadableSource, WrongUsage

if TYPE_CHECKING:
    from discreet.engines.duckdb import DuckDB


def open_frame(frame: object, *, engine: DuckDB) -> Table:
    """Return a frame as a table on `engine`: scanned in place where Arrow allows, else stored."""
    label = type(frame).__name__
    data = arrow_data(frame)
    refuse_duplicates(data.schema.names, where=f"The {label}")
    if isinstance(data, pa.RecordBatchReader):  # can be read once only
        relation = engine.load(data)
    else:
        relation = engine.register(data)
    relation = engine.plain(relation)
    return Table(engine=engine, relation=relation, columns=engine.columns(relation), label=label)


def arrow_data(frame: Any) -> pa.Table | pa.RecordBatchReader | dataset.Dataset:
    """Return a frame as Arrow, without a copy where possible."""
    if isinstance(frame, (pa.Table, pa.RecordBatchReader, dataset.Dataset)):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if hasattr(frame, "collect_schema") and hasattr(frame, "collect"):  # a lazy polars frame
        frame = frame.collect(engine="streaming")
    if hasattr(frame, "to_arrow_reader"):  # a DuckDB relation, maybe of another connection
        return frame.to_arrow_reader(122_880)
    try:
        if type(frame).__module__.startswith("pandas"):
            return pa.Table.from_pandas(frame, preserve_index=False)
        if hasattr(frame, "to_arrow") and hasattr(frame, "height"):  # polars
            return frame.to_arrow()
        if hasattr(frame, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        kind = type(error).__name__
    else:
        raise WrongUsage(
            f"A {type(frame).__name__} is not a table. Give a path, a URL, or a frame of pandas, "
            "polars, pyarrow, DuckDB or Spark."
        )
    raise UnreadableSource(
        f"The {type(frame).__name__} cannot be turned into Arrow ({kind}): a column may mix types. "
        "Give each column one type first."
    )
