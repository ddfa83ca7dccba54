"""The same people written into every kind of file, with or without one odd person."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Row = dict[str, Any]

NAMES = ("age", "sex", "town", "born", "score")
PEOPLE: list[Row] = [
    {
        "age": 20 + i,
        "sex": "FM"[i % 2],
        "town": "abc"[i % 3],
        "born": dt.date(1990, 1, 1 + i),
        "score": i + 0.5,
    }
    for i in range(12)
]
POLICY = """
tables:
  people:
    unit: row
    budget: {epsilon: 1000, delta: 1e-3}
    columns:
      age: {role: quasi-identifier, kind: integer, bounds: [0, 120]}
      sex: {role: quasi-identifier, kind: text, values: [F, M]}
      town: {role: quasi-identifier, kind: text}
      born: {role: quasi-identifier, kind: date}
      score: {role: sensitive, kind: number, bounds: [0, 20]}
"""
# One cell of one person, as no other person has it.
ODD_CELLS: tuple[Any, ...] = (
    *("?", "50.5", "", " ", "NaN", "1e999", "-", "31/12/1990", "1990-13-01", "1990-01-01T10:00:00"),
    *('"', 'a "quoted" word', "a,b;c\td|e", "line\nbreak", "cr\r\nlf", "\u2028", "\ufeff", "é" * 9),
    *(
        "x" * 200_000,
        "9" * 30,
        "0x10",
        "TRUE",
        "null",
        "None",
        "[1, 2]",
        '{"a": 1}',
        "'; DROP TABLE x",
    ),
    *(None, 50.5, 7, True, 10**30, -0.0),
)


def _texts(rows: Sequence[Row]) -> list[list[str]]:
    return [["" if row.get(n) is None else str(row.get(n)) for n in NAMES] for row in rows]


def write_csv(path: Path, rows: Sequence[Row], *, delimiter: str = ",") -> None:
    held = io.StringIO(newline="")
    writer = csv.writer(held, delimiter=delimiter, lineterminator="\n")
    writer.writerows([list(NAMES), *_texts(rows)])
    path.write_bytes(held.getvalue().encode("utf-8", errors="surrogatepass"))


def write_tsv(path: Path, rows: Sequence[Row]) -> None:
    write_csv(path, rows, delimiter="\t")


def _record(row: Row) -> str:
    return json.dumps({k: str(v) if isinstance(v, dt.date) else v for k, v in row.items()})


def write_ndjson(path: Path, rows: Sequence[Row]) -> None:
    path.write_text("".join(_record(row) + "\n" for row in rows), "utf-8")


def write_json(path: Path, rows: Sequence[Row]) -> None:
    path.write_text("[" + ",\n".join(map(_record, rows)) + "]", "utf-8")


def write_excel(path: Path, rows: Sequence[Row]) -> None:
    import openpyxl

    ledger = openpyxl.Workbook()
    sheet = ledger.active
    assert sheet is not None
    sheet.append(list(NAMES))
    for row in rows:
        sheet.append([_sheet_cell(row.get(name)) for name in NAMES])
    ledger.save(path)


def _sheet_cell(value: Any) -> Any:
    if isinstance(value, str):  # what a sheet can hold
        value = value[:32_000].replace("\r", " ")
        return None if value.startswith("=") else value
    return float(value) if isinstance(value, int) and abs(value) > 2**53 else value


def write_survey(path: Path, rows: Sequence[Row]) -> None:
    import pandas as pd
    import pyreadstat

    write = {
        ".sav": pyreadstat.write_sav,
        ".dta": pyreadstat.write_dta,
        ".xpt": pyreadstat.write_xport,
    }
    frame = pd.DataFrame({name: _column([row.get(name) for row in rows]) for name in NAMES})
    write[path.suffix](frame, str(path))


def _column(cells: list[Any]) -> Any:
    """Return cells of one type, as a statistics package has them: its variables have types."""
    import pandas as pd

    if any(isinstance(cell, str) for cell in cells):
        return pd.Series([None if c is None else str(c)[:2000] for c in cells], dtype="object")
    if any(isinstance(cell, dt.date) for cell in cells):
        return pd.Series([c if isinstance(c, dt.date) else None for c in cells], dtype="object")
    return pd.Series([None if c is None else float(c) for c in cells], dtype="float64")


def write_parquet(path: Path, rows: Sequence[Row]) -> None:
    """Write a typed table: what is no number is a missing one."""
    kinds = {"age": int, "sex": str, "town": str, "born": dt.date, "score": float}
    columns = {
        n: [r.get(n) if isinstance(r.get(n), k) else None for r in rows] for n, k in kinds.items()
    }
    schema = pa.schema(
        {"age": "int64", "sex": "string", "town": "string", "born": pa.date32(), "score": "double"}
    )
    columns["age"] = [None if a is None or abs(a) > 2**60 else a for a in columns["age"]]
    pq.write_table(pa.table(columns, schema=schema), path)


WRITERS: dict[str, Callable[[Path, Sequence[Row]], None]] = {
    "csv": write_csv,
    "tsv": write_tsv,
    "ndjson": write_ndjson,
    "json": write_json,
    "xlsx": write_excel,
    "sav": write_survey,
    "dta": write_survey,
    "xpt": write_survey,
    "parquet": write_parquet,
}
