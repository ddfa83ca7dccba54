"""Excel and OpenDocument sheets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from discreet.arrow import pc
from discreet.engines.declared_schema import cast_declared, types_of
from discreet.engines.engine import DeclaredSchema
from discreet.engines.names import refuse_duplicates
from discreet.errors import (
    EmptySource,
    MissingExtra,
    SourceNotFound,
    UnreadableSource,
    WrongUsage,
    did_you_mean,
)
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.engines.duckdb import DuckDB


def open_sheet(path: Path, *, engine: DuckDB, sheet: str | None) -> exp.Table:
    """Return the sheet called `sheet`, or the only one, typed by all of its cells."""
    book = _open_workbook(path)
    name = _choose_sheet(path, list(book.sheet_names), sheet)
    header, table = _read_cells(path, book, name)
    titles = _column_titles(header)
    names = [title or f"column{position}" for position, title in enumerate(titles, start=1)]
    _check(path, name, names)
    filled = _drop_empty_rows(table.rename_columns(names))
    return engine.whole_numbers(engine.load(filled.to_reader()))


def open_declared_sheet(
    path: Path, schema: DeclaredSchema, *, engine: DuckDB, sheet: str | None
) -> exp.Table:
    """Return a sheet as a table of its first line, the declared columns fitted; cells are read later.

    A column without a title is ignored: a stray cell to the right does not widen the table.
    """
    book = _open_workbook(path)
    name = _choose_sheet(path, list(book.sheet_names), sheet)
    titles = _column_titles(_load(path, book, name, header_row=None, n_rows=1))
    _check(path, name, [title for title in titles if title])
    columns = schema.named(title for title in titles if title)

    def read() -> exp.Query:
        texts = _load(path, book, name)
        kept = [titles.index(column) for column in columns]
        filled = _drop_empty_rows(texts.select(kept).rename_columns(list(columns)))
        loaded = engine.load(filled.to_reader())
        wanted = [
            build.alias_as(cast_declared(build.column(c), one), c) for c, one in columns.items()
        ]
        return build.select(*wanted, source=loaded)

    return engine.defer(types_of(columns), read)


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


def sheet_names(path: Path) -> list[str]:
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
