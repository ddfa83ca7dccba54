"""The same small database as files and frames of every kind that a question may be asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

import discreet
from bench.verify.databases import SqlTable, on_duckdb, on_postgres
from bench.verify.loss import Side
from bench.verify.worlds import COLUMNS
from bench.verify.written_files import (
    Style,
    TextTable,
    write_arrow,
    write_csv,
    write_json,
    write_survey,
    write_workbook,
)
from discreet.answer.catalog import Catalog, CatalogTable
from discreet.engines.connect import open_table
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Kind
from discreet.errors import UnreadableSource
from discreet.policy.load import load_policy
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from bench.verify.worlds import World

TEXTS = ("text", "records", "workbook", "sav", "dta", "xpt")
WRITTEN = (*TEXTS, "parts", "ipc", "feather", "stream")  # in many dialects
ALONE = ("arrow", "pandas", "polars", "workbook")  # one table, not several
UNTYPED = ("csv", "ndjson", "xlsx", "pandas", *TEXTS)  # whose kinds a policy must declare
_ENDINGS = {"parts": ".parquet", "ipc": ".arrow", "stream": ".arrows", "workbook": ".xlsx"}
_SINGLE = ("workbook", "sav", "dta", "xpt", "stream")  # which are opened one by one
_WRITERS: Mapping[str, Callable[[TextTable, Path, Style], None]] = {
    "text": write_csv,
    "records": write_json,
    "workbook": write_workbook,
}
FRAMES = ("arrow", "pandas", "polars")
FILES = ("parquet", "csv", "ndjson", "xlsx")
_COPIES = {
    "parquet": "FORMAT parquet",
    "csv": "FORMAT csv, HEADER",
    "ndjson": "FORMAT json",
}


def open_side(
    form: str, tables: Mapping[str, SqlTable], policy: str, folder: Path, url: str | None = None
) -> Side:
    """Return the tables as a database, as files in `folder`, or the first of them as a frame."""
    if form == "duckdb":
        return on_duckdb(tables, policy)
    if form == "postgresql":
        return on_postgres(url or "", tables, policy)
    made = on_duckdb(tables, policy)
    try:
        if form in FRAMES:
            return _of_frame(form, made, policy, folder)
        return _of_files(form, made, tables, policy, folder)
    finally:
        made.engine.close()


def _of_frame(form: str, made: Side, policy: str, folder: Path) -> Side:
    connection: Any = made.engine
    frame = connection._connection.execute('SELECT * FROM "visits"').to_arrow_table()
    if form == "polars":
        import polars as pl

        frame = pl.from_arrow(frame)
    elif form == "pandas":
        import pandas as pd

        # Types of pandas's own would depend on whether a cell is missing.
        frame = frame.to_pandas(types_mapper=pd.ArrowDtype)
    path = folder / "policy.yaml"
    path.write_text(policy, "utf-8")
    return _opened(frame, path, "visits")


def _of_files(
    form: str, made: Side, tables: Mapping[str, SqlTable], policy: str, folder: Path
) -> Side:
    connection: Any = made.engine
    for name in tables:
        path = folder / f"{name}.{form}"
        if form == "xlsx":
            _write_sheet(connection._connection, name, path)
        else:
            _copy(connection, made.catalog.find(name).table.relation.sql("duckdb"), name, path)
        policy = policy.replace(f"\n  {name}:\n", f"\n  {name}:\n    source: {name}.{form}\n")
    path = folder / "policy.yaml"
    path.write_text(policy, "utf-8")
    return _opened(str(folder / f"visits.{form}"), path, None)


def _copy(engine: Any, plain: str, name: str, path: Path) -> None:
    """Write a table as it is, or without the moments that the format cannot hold."""
    options = _COPIES[path.suffix[1:]]
    try:
        engine._connection.execute(f"COPY \"{name}\" TO '{path}' ({options})")
    except duckdb.ConversionException:
        engine._connection.execute(f"COPY (FROM {plain}) TO '{path}' ({options})")


def _opened(source: object, policy: Path, table: str | None) -> Side:
    curator = discreet.open(source, load_policy(policy), ledger=":memory:", table=table)
    return Side(curator.catalog, curator.engine, curator)


def open_written(
    form: str, world: World, style: Style, folder: Path, *, is_there: bool, reader: str = "declared"
) -> Side:
    """Return the tables of a world, or of its neighbor, as files of a style.

    The readers "guessing" and "sampling" open them by what their rows show, as no question may.
    """
    tables = world.tables if is_there else world.neighbor()
    style = style if form not in _SINGLE else Style(**{**vars(style), "files": "one"})
    made, policy = on_duckdb(tables, world.policy), world.policy
    sources: dict[str, str] = {}
    for name in tables if form not in ALONE else ["visits"]:
        leaving = world.leaving(name) if is_there else [False] * len(tables[name].rows)
        sources[name] = _write_table(form, made, name, leaving, style, folder, policy)
        said = style.reading if form == "text" else ""
        policy = policy.replace(
            f"\n  {name}:\n", f"\n  {name}:\n    source: '{sources[name]}'\n{said}"
        )
    made.engine.close()
    if form == "text" and style.dates:
        policy = policy.replace("kind: date}", f'kind: date, format: "{style.dates}"}}')
    path = folder / "policy.yaml"
    path.write_text(policy, "utf-8")
    place = str(folder / sources["visits"])
    if reader == "guessing":
        return _open_guessing(folder, sources, path, style)
    if reader == "sampling":
        return _open_sampling(place, path, style)
    return _opened(place, path, "visits" if form == "workbook" else None)


def _open_guessing(folder: Path, sources: Mapping[str, str], path: Path, style: Style) -> Side:
    """Return tables whose kinds their rows decide: a fault that must be found."""
    said, engine = load_policy(path), None
    held: dict[str, CatalogTable] = {}
    for name, source in sources.items():
        sheet = "visits" if source.endswith(".xlsx") else None
        encoding = None if style.encoding.startswith("utf") else style.encoding
        table = open_table(str(folder / source), table=sheet, engine=engine, encoding=encoding)
        engine = table.engine
        held[name] = CatalogTable(name, table, said.tables[name], f"table:{name}", "1")
    catalog = Catalog({name: lambda one=one: one for name, one in held.items()})
    return Side(catalog, next(iter(held.values())).table.engine)


def _open_sampling(place: str, path: Path, style: Style) -> Side:
    """Return a table whose kinds its first rows decide: a fault that must be found."""
    engine = DuckDB()
    options = f"delim='{style.delimiter}', sample_size=20, header=true"
    try:
        engine._connection.execute(f"CREATE VIEW visits AS FROM read_csv('{place}', {options})")
    except duckdb.Error as error:
        raise UnreadableSource(str(error)) from error
    table = engine.table(build.table("visits"), label="visits")
    held = CatalogTable("visits", table, load_policy(path).tables["visits"], "table:visits", "1")
    return Side(Catalog({"visits": lambda: held}), engine)


def _write_table(
    form: str,
    made: Side,
    name: str,
    leaving: Sequence[bool],
    style: Style,
    folder: Path,
    policy: str,
) -> str:
    """Write a table into one file, or what leaves into a file of its own; return its source."""
    connection: Any = made.engine
    ending = _ENDINGS.get(form, f".{form}")
    if form in ("text", "records"):
        plain = {"text": ".csv", "records": ".ndjson" if style.layout == "lines" else ".json"}
        ending = plain[form] + style.packing
    if form in TEXTS:
        table = _read_texts(connection._connection, name, leaving, policy)
        table = table.enlarged(first=style.is_first) if style.is_large else table
        write: Any = _WRITERS.get(form, write_survey)
        parts = [table.part(leaving=own) for own in (False, True)]
    else:
        table = connection._connection.execute(f'SELECT * FROM "{name}"').to_arrow_table()
        parts = [
            table.filter(pa.array([own is one for one in leaving], pa.bool_()))
            for own in (False, True)
        ]
        if style.is_large:
            parts[0] = pa.concat_tables([parts[0]] * 150)
            table = pa.concat_tables(parts if not style.is_first else parts[::-1])
        write = write_arrow
    if style.files == "one":
        write(table, folder / f"{name}{ending}", style)
        return f"{name}{ending}"
    write(parts[0], folder / f"{name}_2{ending}", style)
    if any(leaving) or style.files == "empty":
        # Files are read in the order of their names: this one is the first, or the last.
        write(parts[1], folder / f"{name}_{1 if style.is_first else 3}{ending}", style)
    return f"{name}_*{ending}"


def _read_texts(connection: Any, name: str, leaving: Sequence[bool], policy: str) -> TextTable:
    found = connection.execute(f'SELECT columns(*)::VARCHAR FROM "{name}"')
    names = [column[0] for column in found.description]
    id_kind = Kind.TEXT if "kind: text" in _line_of(policy, names[0]) else Kind.INTEGER
    kinds = {**dict.fromkeys(names, Kind.INTEGER), **COLUMNS, names[0]: id_kind}
    return TextTable({one: kinds[one] for one in names}, [*map(list, found.fetchall())], leaving)


def _line_of(policy: str, column: str) -> str:
    return next(line for line in policy.splitlines() if line.strip().startswith(f"{column}:"))


def _write_sheet(connection: Any, name: str, path: Path) -> None:
    import openpyxl
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    found = connection.execute(f'SELECT columns(*)::VARCHAR FROM "{name}"')
    book = openpyxl.Workbook()
    sheet: Any = book.active
    sheet.append([column[0] for column in found.description])
    for row in found.fetchall():
        # A cell of a sheet holds so many characters, and none of these.
        cells = [
            cell if cell is None else ILLEGAL_CHARACTERS_RE.sub("", cell[:32000]) for cell in row
        ]
        sheet.append([_number(cell) for cell in cells])
    book.save(path)


def _number(cell: str | None) -> str | float | None:
    """Return a text as people type it into a sheet, where numbers are numbers."""
    try:
        number = float(cell or "")
    except ValueError:
        return cell
    is_plain = abs(number) < 2**53 and (not number or abs(number) > 1e-200)
    return number if is_plain else cell
