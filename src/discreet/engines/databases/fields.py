"""Columns of results: PostgreSQL's names of types, and the Arrow type of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from discreet.engines.databases.database import ResultField
from discreet.engines.engine import ArrowTable
from discreet.sql.types import FROM_DUCKDB, arrow_type, decimal_type

_WIDE = {"UBIGINT": 20, "HUGEINT": 38, "UHUGEINT": 38, "BIGNUM": 38}


def duckdb_field(name: str, type_name: str) -> ResultField:
    """Return the reported field of a DuckDB column.

    >>> duckdb_field("n", "DECIMAL(10,2)").precision
    10
    >>> duckdb_field("n", "HUGEINT").type, duckdb_field("n", "INTEGER[]").type
    ('numeric', 'text')
    """
    if size := re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", type_name):
        return ResultField(name, "numeric", int(size[1]), int(size[2]))
    if type_name in _WIDE:
        return ResultField(name, "numeric", _WIDE[type_name], 0)
    return ResultField(name, FROM_DUCKDB.get(type_name, "text"))


def needs_text(type_name: str) -> bool:
    """Return whether DuckDB itself must write a type as text: lists, structs, bits."""
    is_plain = type_name in FROM_DUCKDB or type_name in _WIDE
    return not is_plain and not type_name.startswith(("DECIMAL(", "ENUM(", '"NULL"'))


def field_arrow_type(field: ResultField) -> Any:
    """Return the Arrow type of a column; None when it stays as the engine returned it."""
    if field.type == "numeric":
        if field.precision is None:
            return None
        return decimal_type(field.precision, field.scale or 0)
    return None if field.type == "interval" else arrow_type(field.type) or pa.string()


def cast_to_fields(table: ArrowTable, fields: Sequence[ResultField]) -> ArrowTable:
    """Return `table` with the names and types of `fields`, by position."""
    columns: list[Any] = []
    for column, field in zip(table.columns, fields, strict=True):
        wanted = field_arrow_type(field)
        # Unsafe only truncates to microseconds.
        is_fine = pa.types.is_timestamp(column.type)
        same = wanted is None or column.type == wanted
        columns.append(column if same else column.cast(wanted, safe=not is_fine))
    return pa.Table.from_arrays(columns, names=[field.name for field in fields])
