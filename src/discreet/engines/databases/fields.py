"""Columns of results: PostgreSQL's names of types, and the Arrow type of each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from discreet.engines.databases.database import ResultField
from discreet.engines.engine import ArrowTable

_ARROW: Mapping[str, Any] = {
    "bool": pa.bool_(),
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "bytea": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
}
_DUCKDB: Mapping[str, str] = {
    "BOOLEAN": "bool",
    "TINYINT": "int2",
    "UTINYINT": "int2",
    "SMALLINT": "int2",
    "USMALLINT": "int4",
    "INTEGER": "int4",
    "UINTEGER": "int8",
    "BIGINT": "int8",
    "FLOAT": "float4",
    "DOUBLE": "float8",
    "VARCHAR": "text",
    "UUID": "uuid",
    "JSON": "json",
    "BLOB": "bytea",
    "DATE": "date",
    "TIME": "time",
    "INTERVAL": "interval",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "timestamp"),
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
}
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
    return ResultField(name, _DUCKDB.get(type_name, "text"))


def needs_text(type_name: str) -> bool:
    """Return whether DuckDB itself must write a type as text: lists, structs, bits."""
    is_plain = type_name in _DUCKDB or type_name in _WIDE
    return not is_plain and not type_name.startswith(("DECIMAL(", "ENUM(", '"NULL"'))


def field_arrow_type(field: ResultField) -> Any:
    """Return the Arrow type of a column; None when it stays as the engine returned it."""
    if field.type == "numeric":
        if field.precision is None:
            return None
        make = pa.decimal128 if field.precision <= 38 else pa.decimal256
        return make(field.precision, field.scale or 0)
    if field.type == "interval":
        return None
    return _ARROW.get(field.type, pa.string())


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
