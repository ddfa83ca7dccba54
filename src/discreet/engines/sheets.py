"""Excel and OpenDocument sheets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.engines.declared import fitted, types_of
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
    from pathlib import Path

    from sqlglot import exp

    from discreet.engines.declared import Schema
    from discreet.engines.duckdb import DuckDB


def open_sheet(path: Path, *, engine: DuckDB, sheet: str | None) -> exp.Table:
    """Return the sheet called `sheet`, or the only one, typed by all of its cells."""
    book = _open(path)
    name = _choose(path, list(book.sheet_names), sheet)
    header, table = _cells(path, book, name)
    names = _names(path, name, header)
    return engine.whole_numbers(engine.load(table.rename_columns(names).to_reader()))


def open_declared(path: Path, schema: Schema, *, engine: DuckDB, sheet: str | None) -> exp.Table:
    """Return a sheet as a table of its first line, the declared columns fitted; cells are read later."""
    book = _open(path)
    name = _choose(path, list(book.sheet_names), sheet)
    names = _names(path, name, _load(path, book, name, header_row=None, n_rows=1))
    columns = schema.named(names)

    def read() -> exp.Query:
        texts = _load(path, book, name)
        kept = [names.index(column) for column in columns]
        wide = texts.select(kept).rename_columns(list(columns))
        loaded = engine.load(wide.to_reader())
        wanted = [build.named(fitted(build.column(c), one), c) for c, one in columns.items()]
        return build.select(*wanted, source=loaded)

    return engine.defer(types_of(columns), read)


def _load(path: Path, book: Any, name: str, **options: Any) -> Any:
    """Return cells as texts, whatever they hold."""
    try:
        cells = book.load_sheet(name, dtypes="string", **options).to_arrow()
        return pa.Table.from_batches([cells])
    except Exception as error:  # noqa: BLE001 -- fastexcel's errors quote cells
        kind = type(error).__name__
    raise UnreadableSource(f"Sheet '{name}' of {path.name} cannot be read ({kind}).")


def _names(path: Path, sheet: str, header: Any) -> list[str]:
    names = [
        str((column[0].as_py() if len(column) else None) or "").strip() or f"column{position}"
        for position, column in enumerate(header.columns, start=1)
    ]
    if not names:
        raise EmptySource(f"Sheet '{sheet}' of {path.name} is empty.")
    refuse_duplicates(names, where=f"Sheet '{sheet}' of {path.name}")
    return names


def _cells(path: Path, book: Any, name: str) -> tuple[Any, Any]:
    """Return the first line as texts, and what is below it as a table."""
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
    return list(_open(path).sheet_names)


def _open(path: Path) -> Any:
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


def _choose(path: Path, sheets: list[str], wanted: str | None) -> str:
    if wanted in sheets:
        return str(wanted)
    if wanted is not None:
        raise SourceNotFound(f"{path.name} has no sheet '{wanted}'.{did_you_mean(wanted, sheets)}")
    if len(sheets) == 1:
        return sheets[0]
    listed = ", ".join(f"'{name}'" for name in sheets)
    raise WrongUsage(f"{path.name} holds {len(sheets)} sheets: {listed}. Say which: --table NAME.")
