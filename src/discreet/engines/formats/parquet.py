"""Parquet: read in place; its footer states names and types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from sqlglot import exp

from discreet.engines.arrow_values import fit_table
from discreet.engines.engine import ArrowBatch, ArrowReader
from discreet.engines.file_request import FileRequest, table_function
from discreet.engines.names import refuse_duplicates
from discreet.errors import UnreadableSource
from discreet.registry import FormatSpec
from discreet.sql import build


def _open_parquet(request: FileRequest) -> exp.Table:
    first = _parquet_names(request.paths[0])
    refuse_duplicates(first, where=request.paths[0].name)
    for path in request.paths[1:]:
        if set(_parquet_names(path)) != set(first):
            raise UnreadableSource(
                f"{path.name} has other columns than {request.paths[0].name}. Files opened "
                "together must have the same columns."
            )
    # A partition called zip=01234 must stay text.
    options: dict[str, exp.Expr] = {
        "union_by_name": exp.true(),
        "hive_types_autocast": exp.false(),
    }
    source = table_function("read_parquet", request.paths, options)
    view = request.engine.view(build.select(exp.Star(), source=source), hint="parquet")
    names = [name for name, _ in request.engine.types(view)]
    request.engine.read_otherwise(view, lambda: _read_by_arrow(request.paths, names))
    return view


def _read_by_arrow(paths: Sequence[Path], names: Sequence[str]) -> ArrowReader:
    """Return the rows of the files, read by Arrow: DuckDB fails on a value that it cannot hold."""
    from pyarrow import parquet

    files = [(parquet.ParquetFile(path), _partition_values(path)) for path in paths]
    types = {item.name: item.type for file, _ in files for item in file.schema_arrow}
    schema = pa.schema([pa.field(name, types.get(name, pa.string())) for name in names])

    def batches() -> Iterator[ArrowBatch]:
        for file, values in files:
            for batch in file.iter_batches():
                held = dict(zip(batch.schema.names, batch.columns, strict=True))
                columns = [
                    held[item.name].cast(item.type, safe=False)
                    if item.name in held
                    else pa.repeat(pa.scalar(values.get(item.name), pa.string()), len(batch))
                    for item in schema
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return fit_table(pa.RecordBatchReader.from_batches(schema, batches()))


def _partition_values(path: Path) -> dict[str, str]:
    """Return the columns that the folders of a file name, such as `year=2024`."""
    pairs = [folder.partition("=") for folder in path.parts[:-1]]
    return {name: unquote(value) for name, mark, value in pairs if mark}


def _parquet_names(path: Path) -> list[str]:
    from pyarrow import parquet

    try:
        return list(parquet.read_schema(path).names)
    except (pa.ArrowException, OSError):
        pass
    raise UnreadableSource(f"{path.name} is damaged or not a Parquet file. Write it again.")


def _copy_options(_: str) -> Mapping[str, exp.Expr]:
    return {"FORMAT": exp.var("parquet"), "COMPRESSION": build.text("zstd")}


SPEC = FormatSpec(
    name="parquet",
    title="Parquet",
    suffixes=(".parquet", ".pq", ".parq"),
    typed=True,
    written=(".parquet",),
    open=_open_parquet,
    copy_options=_copy_options,
    signatures=({0: b"PAR1"}, {0: b"PARE"}),
    suffix_decides=False,
    may_be_empty=True,  # an empty one is damaged, which its reader says
    position=2,
)
