"""Arrow tables handed out as frames: pandas, polars, or the kind of frame that came in."""

from __future__ import annotations

from typing import Any

from discreet.engines.engine import ArrowTable
from discreet.engines.frames import is_pandas
from discreet.errors import MissingExtra


def to_pandas_frame(table: ArrowTable) -> Any:
    """Return `table` as a pandas frame."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtra(what="A pandas frame", extra="frames") from None
    return pd.DataFrame(table.to_pydict())


def to_polars_frame(table: ArrowTable) -> Any:
    """Return `table` as a polars frame."""
    try:
        import polars as pl
    except ImportError:
        raise MissingExtra(what="A polars frame", extra="frames") from None
    return pl.from_arrow(table)


def to_frame_like(source: object, table: ArrowTable) -> Any:
    """Return `table` as the kind of frame that `source` is; an Arrow table where it is none.

    >>> import pandas, pyarrow
    >>> type(to_frame_like(pandas.DataFrame(), pyarrow.table({"age": [41]}))).__name__
    'DataFrame'
    """
    if is_pandas(source):
        return to_pandas_frame(table)
    module = type(source).__module__.partition(".")[0]
    if module == "polars":
        frame = to_polars_frame(table)
        return frame.lazy() if type(source).__name__ == "LazyFrame" else frame
    if module == "pyspark":
        session: Any = source.sparkSession  # pyright: ignore[reportAttributeAccessIssue]
        return session.createDataFrame(to_pandas_frame(table))
    if type(source).__name__ == "DuckDBPyRelation":
        import duckdb

        return duckdb.from_arrow(table)
    return table
