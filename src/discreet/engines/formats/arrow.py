"""Arrow and Feather: files are scanned in place, except for questions; streams are stored."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from sqlglot import exp

from discreet.engines.arrow_values import fit_table
from discreet.engines.duckdb import DuckDB
from discreet.engines.file_request import FileRequest
from discreet.engines.names import refuse_duplicates
from discreet.errors import UnreadableSource
from discreet.registry import FormatSpec
from discreet.sql import build


def _open_arrow(request: FileRequest) -> exp.Table:
    from pyarrow import dataset  # brings pandas along, which most runs never need

    try:
        data = dataset.dataset([str(path) for path in request.paths], format="ipc")
        names = list(data.schema.names)
    except (pa.ArrowException, OSError):
        return _open_arrow_stream(request)
    refuse_duplicates(names, where=request.paths[0].name)
    if request.engine.looks_at_rows:
        return request.engine.register(data)
    return _open_for_questions(data, request.engine)


def _open_for_questions(data: Any, engine: DuckDB) -> exp.Table:
    """Return a table whose rows are read by the first query: a value that DuckDB cannot hold is missing."""
    empty = engine.register(fit_table(data.schema.empty_table()))
    return engine.defer_rows(
        build.select(exp.Star(), source=empty),
        lambda: build.select(exp.Star(), source=engine.register(fit_table(data))),
    )


def _open_arrow_stream(request: FileRequest) -> exp.Table:
    try:
        reader = pa.ipc.open_stream(str(request.path))
    except (pa.ArrowException, OSError):
        reader = None
    if reader is None:
        raise UnreadableSource(f"{request.path.name} is damaged or not an Arrow file.")
    refuse_duplicates(list(reader.schema.names), where=request.path.name)
    return request.engine.load(reader if request.engine.looks_at_rows else fit_table(reader))


SPEC = FormatSpec(
    name="arrow",
    title="Arrow, Feather",
    suffixes=(".arrow", ".feather", ".ipc", ".arrows"),
    typed=True,
    open=_open_arrow,
    signatures=({0: b"ARROW1"}, {0: b"\xff\xff\xff\xff"}),
    suffix_decides=False,
    position=4,
)
