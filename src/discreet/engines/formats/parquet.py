"""Parquet: read in place; its footer states names and types."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from sqlglot import exp

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
    return request.engine.view(build.select(exp.Star(), source=source), hint="parquet")


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
