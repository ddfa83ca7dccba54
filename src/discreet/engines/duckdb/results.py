"""Results of DuckDB: their columns, and tables of bounded length and size."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from discreet.engines.databases.database import ResultField
from discreet.engines.databases.failures import too_many_bytes, too_many_rows
from discreet.engines.engine import ArrowTable
from discreet.sql.types import CLIENT_TYPES, FROM_DUCKDB

_WIDE = {"UBIGINT": 20, "HUGEINT": 38, "UHUGEINT": 38, "BIGNUM": 38}
_UNLISTED = ("bytea", "interval", "json", "oid")  # types whose lists clients get as text
ROWS = 8192  # per batch
BATCH = 64 << 20  # bytes of a batch whose rows each have all texts of the statement


def duckdb_field(name: str, type_name: str) -> ResultField:
    """Return the reported field of a DuckDB column.

    >>> duckdb_field("n", "DECIMAL(10,2)").precision
    10
    >>> duckdb_field("n", "HUGEINT").type, duckdb_field("n", "INTEGER[]").type
    ('numeric', 'int4[]')
    >>> duckdb_field("n", "INTEGER[][]").type
    'text'
    """
    element = array_element(type_name)
    if element is not None:
        return ResultField(name, f"{element}[]")
    if size := re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", type_name):
        return ResultField(name, "numeric", int(size[1]), int(size[2]))
    if type_name in _WIDE:
        return ResultField(name, "numeric", _WIDE[type_name], 0)
    return ResultField(name, FROM_DUCKDB.get(type_name, "text"))


def array_element(type_name: str) -> str | None:
    """Return the reported type of a list's elements; None for what clients get no array of."""
    if not type_name.endswith("[]"):
        return None
    element = type_name.removesuffix("[]")
    found = "numeric" if element.startswith("DECIMAL(") else FROM_DUCKDB.get(element)
    return found if f"{found}[]" in CLIENT_TYPES and found not in _UNLISTED else None


def needs_text(type_name: str) -> bool:
    """Return whether DuckDB itself must write a type as text: lists, structs, bits."""
    is_plain = type_name in FROM_DUCKDB or type_name in _WIDE or array_element(type_name)
    return not is_plain and not type_name.startswith(("DECIMAL(", "ENUM(", '"NULL"'))


def fetch_bounded(result: Any, *, limit: int | None, most: int | None, length: int) -> ArrowTable:
    """Return the rows of a result.

    Args:
        result: The value that `execute` returned.
        limit: The largest number of rows.
        most: The largest number of bytes.
        length: Length of the statement: the longer it is, the fewer rows are fetched at once.

    Raises:
        StatementFailed: 54000, the result exceeds a limit.
    """
    if limit is None and most is None:
        return result.to_arrow_table()
    return read_bounded(open_batches(result, limit=limit, length=length), limit=limit, most=most)


def open_batches(result: Any, *, limit: int | None, length: int) -> Any:
    """Return what reads the rows of a result in batches."""
    at_once = max(8, min(ROWS, BATCH // max(length, 1)))
    return result.to_arrow_reader(at_once if limit is None else min(limit + 1, at_once))


def read_bounded(reader: Any, *, limit: int | None, most: int | None) -> ArrowTable:
    """Return the rows that a reader has; 54000 if they exceed a limit."""
    batches: list[Any] = []
    rows = size = 0
    for batch in reader:
        batches.append(batch)
        rows += batch.num_rows
        if limit is not None and rows > limit:
            reader.close()
            raise too_many_rows(limit)
        if most is not None:
            size += batch.nbytes
            if size > most:
                reader.close()
                raise too_many_bytes(most)
    return pa.Table.from_batches(batches, schema=reader.schema)
