"""Frames of Python: anything that speaks Arrow becomes a table on DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.engines.names import refuse_duplicates
from discreet.errors import UnreadableSource, WrongUsage

if TYPE_CHECKING:
    from discreet.engines.duckdb import DuckDB
    from discreet.engines.engine import Table


def open_frame(frame: object, *, engine: DuckDB) -> Table:
    """Return a frame as a table on `engine`: scanned in place where Arrow allows, else stored."""
    label = type(frame).__name__
    data = arrow_data(frame)
    refuse_duplicates(data.schema.names, where=f"The {label}")
    if isinstance(data, pa.RecordBatchReader):  # can be read once only
        relation = engine.load(data)
    else:
        relation = engine.register(data)
    return engine.table(relation, label=label)


def arrow_data(frame: Any) -> Any:
    """Return a frame as an Arrow table, dataset or reader, without a copy where possible."""
    # Asked by name: importing pyarrow.dataset brings pandas along, which most runs never need.
    is_dataset = type(frame).__module__ in ("pyarrow._dataset", "pyarrow.dataset")
    if is_dataset or isinstance(frame, (pa.Table, pa.RecordBatchReader)):
        return frame
    try:
        data = _converted(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        kind = type(error).__name__
    else:
        if data is not None:
            return data
        raise WrongUsage(
            f"A {type(frame).__name__} is not a table. Give a path, a URL, or a frame of pandas, "
            "polars, pyarrow, DuckDB or Spark."
        )
    raise UnreadableSource(
        f"The {type(frame).__name__} cannot be turned into Arrow ({kind}): a column may mix types. "
        "Give each column one type first."
    )


def _converted(frame: Any) -> Any:
    library = type(frame).__module__.partition(".")[0]
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if library == "pandas":
        return pa.Table.from_pandas(frame, preserve_index=False)
    if library == "polars" and type(frame).__name__ == "LazyFrame":
        frame = frame.collect(engine="streaming")
    if library == "polars":
        return frame.to_arrow()
    if hasattr(frame, "to_arrow_reader"):  # a DuckDB relation, of whatever connection
        return frame.to_arrow_reader(122_880)
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(frame)
    return None
