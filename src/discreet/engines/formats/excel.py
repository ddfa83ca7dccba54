"""Excel and OpenDocument sheets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlglot import exp

from discreet.arrow import pc
from discreet.engines.engine import DeclaredSchema
from discreet.engines.file_request import FileRequest
from discreet.engines.names import refuse_duplicates
from discreet.engines.recognition import store_typed
from discreet.errors import (
    EmptySource,
    MissingExtra,
    SourceNotFound,
    UnreadableSource,
    WrongUsage,
    did_you_mean,
)
from discreet.registry import FormatSpec


def _open_sheet(request: FileRequest) -> exp.Table | tuple[exp.Table, DeclaredSchema]:
    """Return a sheet as a table: typed by all of its cells, or its declared columns fitted."""
    path = request.path
    book = _open_workbook(path)
    name = _choose_sheet(path, list(book.sheet_names), request.table)
    if request.schema is not None:
        return _open_declared(request, request.schema, book, name)
    header, table = _read_cells(path, book, name)
    titles = _column_titles(header)
    names = [title or f"column{position}" for position, title in enumerate(titles, start=1)]
    _check(path, name, names)
    filled = _drop_empty_rows(table.rename_columns(names))
    loaded = request.engine.whole_numbers(request.engine.load(filled.to_reader()))
    texts = [
        item.name
        for item in filled.schema
        if pa.types.is_string(item.type) or pa.types.is_large_string(item.type)
    ]
    return store_typed(loaded, texts, request, keeps_digits=True)


def _open_declared(request: FileRequest, schema: DeclaredSchema, book: Any, name: str) -> exp.Table:
    """Return a sheet as a table of its first line; cells are read later.

    A column without a title is ignored: a stray cell to the right does not widen the table.
    """
    path = request.path
    titles = _column_titles(_load(path, book, name, header_row=None, n_rows=1))
    _check(path, name, [title for title in titles if title])
    columns = schema.named(title for title in titles if title)

    def read() -> exp.Table:
        kept = [titles.index(column) for column in columns]
        texts = _load(path, book, name).select(kept).rename_columns(list(columns))
        return request.engine.load(_drop_empty_rows(texts).to_reader())

    return request.defer(columns, read)


def _load(path: Path, book: Any, name: str, **options: Any) -> Any:
    """Return all cells as texts."""
    try:
        cells = book.load_sheet(name, dtypes="string", **options).to_arrow()
        return pa.Table.from_batches([cells])
    except Exception as error:  # noqa: BLE001 -- fastexcel's errors quote cells
        kind = type(error).__name__
    raise UnreadableSource(f"Sheet '{name}' of {path.name} cannot be read ({kind}).")


def _column_titles(header: Any) -> list[str]:
    return [
        str((column[0].as_py() if len(column) else None) or "").strip() for column in header.columns
    ]


def _check(path: Path, sheet: str, names: list[str]) -> None:
    if not names:
        raise EmptySource(f"Sheet '{sheet}' of {path.name} is empty.")
    refuse_duplicates(names, where=f"Sheet '{sheet}' of {path.name}")


def _drop_empty_rows(table: Any) -> Any:
    """Return the non-empty rows: a stray cell far below does not add the blank lines above it."""
    filled = None
    for column in table.columns:
        is_there = pc.is_valid(column)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            is_there = pc.fill_null(pc.not_equal(column, ""), False)
        filled = is_there if filled is None else pc.or_(filled, is_there)
    return table if filled is None else table.filter(filled)


def _read_cells(path: Path, book: Any, name: str) -> tuple[Any, Any]:
    """Return the first line as texts, and the lines below it as a table."""
    try:
        header = book.load_sheet(name, header_row=None, n_rows=1, dtypes="string").to_arrow()
        if header.num_columns:
            cells = book.load_sheet(name, schema_sample_rows=None).to_arrow()
            return header, pa.Table.from_batches([cells])
    except Exception as error:  # noqa: BLE001 -- fastexcel's errors quote cells
        kind = type(error).__name__
    else:
        raise EmptySource(f"Sheet '{name}' of {path.name} is empty.")
    raise UnreadableSource(f"Sheet '{name}' of {path.name} cannot be read ({kind}).")


def _sheet_names(path: Path) -> list[str]:
    """Return the names of all sheets."""
    return list(_open_workbook(path).sheet_names)


def _open_workbook(path: Path) -> Any:
    try:
        import fastexcel
    except ImportError:
        fastexcel = None
    if fastexcel is None:
        raise MissingExtra(what="Reading Excel files", extra="files")
    try:
        return fastexcel.read_excel(str(path))
    except fastexcel.FastExcelError:
        pass
    raise UnreadableSource(f"{path.name} is damaged, encrypted or not a spreadsheet.")


def _choose_sheet(path: Path, sheets: list[str], wanted: str | None) -> str:
    if wanted in sheets:
        return str(wanted)
    if wanted is not None:
        raise SourceNotFound(f"{path.name} has no sheet '{wanted}'.{did_you_mean(wanted, sheets)}")
    if len(sheets) == 1:
        return sheets[0]
    listed = ", ".join(f"'{name}'" for name in sheets)
    raise WrongUsage(
        f"{path.name} holds {len(sheets)} sheets: {listed}. Name one with --table NAME."
    )


SPEC = FormatSpec(
    name="excel",
    title="Excel, OpenDocument",
    suffixes=(".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"),
    tables=_sheet_names,
    open=_open_sheet,
    suffix_decides=False,
    position=5,
)
