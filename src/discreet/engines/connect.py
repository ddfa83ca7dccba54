"""One door for every source: paths, URLs, frames; out comes a table on an engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.engines import files, frames
from discreet.engines.duckdb import DuckDB
from discreet.errors import WrongUsage

if TYPE_CHECKING:
    from discreet.engines.engine import Engine, Table


def open_table(
    source: object,
    *,
    table: str | None = None,
    engine: Engine | None = None,
    delimiter: str | None = None,
    memory_limit: str | None = None,
    encoding: str | None = None,
) -> Table:
    """Return `source` as a table on an engine, without reading its rows into Python.

    Args:
        source: A path, a glob, `-` for standard input, a URL, or a frame.
        table: Which table, where the source holds several.
        engine: Put the table on this engine, beside others, so that they can be joined.
        delimiter: What separates the columns of a CSV file; found by itself when not given.
        memory_limit: How much memory a new DuckDB may use, such as `4GB`; the rest spills to disk.
        encoding: `utf-8`, `utf-16` or `latin-1` for a CSV file.
    """
    if engine is not None and not isinstance(engine, DuckDB):
        raise WrongUsage("Only DuckDB can hold tables from several sources.")
    home = engine or DuckDB(memory_limit=memory_limit)
    if isinstance(source, (str, Path)):
        return files.open_file(
            str(source), engine=home, table=table, delimiter=delimiter, encoding=encoding
        )
    return frames.open_frame(source, engine=home)
