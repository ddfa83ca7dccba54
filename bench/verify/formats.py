"""The same small database as files and frames of every kind that a question may be asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb

import discreet
from bench.verify.databases import on_duckdb, on_postgres
from bench.verify.loss import Side
from discreet.policy.load import load_policy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bench.verify.databases import SqlTable

UNTYPED = ("csv", "ndjson", "xlsx", "pandas")  # whose kinds a policy must declare
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
    return Side(curator.catalog, curator.engine)


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
