"""Files of SPSS, Stata and SAS, read in chunks into the engine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlglot import exp

from discreet.engines.engine import DeclaredSchema
from discreet.engines.file_request import FileRequest
from discreet.engines.names import refuse_duplicates
from discreet.errors import MissingExtra, UnreadableSource
from discreet.registry import FormatSpec

ROWS_PER_PIECE = 50_000
_WHOLE = 2**53  # beyond it neighboring whole numbers are equal as reals
_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}


def _open_survey(request: FileRequest) -> exp.Table:
    return _open_inferred(request) if request.schema is None else _open_declared(request)


def _open_inferred(request: FileRequest) -> exp.Table:
    """Return a statistics file as a stored table; codes stay codes, missing numbers are NULL."""
    path, engine = request.path, request.engine
    first, described = _read_piece(path, 0)
    refuse_duplicates(list(first), where=path.name)
    schema = pa.schema(
        [pa.field(name, _arrow_type(values, described, name)) for name, values in first.items()]
    )
    batches = (_make_batch(path, piece, schema) for piece in _read_pieces(path, first))
    return engine.whole_numbers(engine.load(pa.RecordBatchReader.from_batches(schema, batches)))


def _open_declared(request: FileRequest) -> exp.Table:
    """Return a statistics file as a table, the declared variables fitted; its cases are read later."""
    path = request.path
    _, described = _read(path, metadataonly=True)
    names = tuple(described.column_names)
    refuse_duplicates(list(names), where=path.name)
    columns = (request.schema or DeclaredSchema({})).named(names)
    texts = pa.schema([pa.field(name, pa.string()) for name in columns])

    def batches() -> Iterator[Any]:
        for piece in _read_pieces(path, _read_piece(path, 0)[0]):
            arrays = [pa.array(map(_cell_text, piece[name]), pa.string()) for name in columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=texts)

    def read() -> exp.Table:
        return request.engine.load(pa.RecordBatchReader.from_batches(texts, batches()))

    return request.defer(columns, read)


def _read_pieces(path: Path, first: dict[str, list[Any]]) -> Iterator[dict[str, list[Any]]]:
    """Yield all cases in pieces, of which the first was read."""
    offset, piece = 0, first
    while piece and len(next(iter(piece.values()))):
        yield piece
        offset += ROWS_PER_PIECE
        piece, _ = _read_piece(path, offset)


def _cell_text(value: Any) -> str | None:
    """Return a cell as text; whole numbers, which these files store as reals, without a point."""
    if value is None or value != value:  # noqa: PLR0124 -- nan
        return None
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) <= _WHOLE else repr(value)
    return str(value).encode("utf-8", errors="replace").decode("utf-8")


def _read_piece(path: Path, offset: int) -> tuple[dict[str, list[Any]], Any]:
    return _read(path, row_offset=offset, row_limit=ROWS_PER_PIECE)


def _read(path: Path, **limits: Any) -> tuple[dict[str, list[Any]], Any]:
    try:
        import pyreadstat
    except ImportError:
        pyreadstat = None
    if pyreadstat is None:
        raise MissingExtra(what="Reading SPSS, Stata and SAS files", extra="files")
    read = getattr(pyreadstat, _READERS[path.suffix.lower()])
    try:
        return read(str(path), output_format="dict", **limits)
    except Exception as error:  # noqa: BLE001 -- pyreadstat's errors may quote cells
        kind = type(error).__name__
    raise UnreadableSource(f"{path.name} is damaged or not a file of its kind ({kind}).")


def _arrow_type(values: list[Any], described: Any, name: str) -> Any:
    if described.readstat_variable_types.get(name) == "string":
        return pa.string()
    inferred = pa.array(values, from_pandas=True).type
    if pa.types.is_temporal(inferred):
        return pa.timestamp("us") if pa.types.is_timestamp(inferred) else inferred
    form = str((described.original_variable_types or {}).get(name) or "")
    if pa.types.is_null(inferred) and re.match(r"%tc|.*DATETIME", form):
        return pa.timestamp("us")
    if pa.types.is_null(inferred) and re.match(r"%td|.*DATE|.*YYMMDD|MMDDYY|DDMMYY", form):
        return pa.date32()
    return pa.float64()


def _make_batch(path: Path, piece: dict[str, list[Any]], schema: Any) -> Any:
    try:
        arrays = [pa.array(piece[item.name], item.type, from_pandas=True) for item in schema]
    except (pa.ArrowException, TypeError, ValueError):
        arrays = None
    if arrays is None:
        raise UnreadableSource(f"{path.name} has a column that mixes types. Recode it first.")
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


SPEC = FormatSpec(
    name="survey",
    title="SPSS, Stata, SAS",
    suffixes=tuple(_READERS),
    open=_open_survey,
    suffix_decides=False,
    position=6,
)
