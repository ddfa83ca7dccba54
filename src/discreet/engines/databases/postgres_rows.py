"""Rows of a served PostgreSQL: each type as exact text, and its conversion to Arrow."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from discreet.arrow import pc
from discreet.engines import postgres_types
from discreet.engines.databases.database import ResultField
from discreet.engines.databases.failures import statement_failure
from discreet.engines.databases.fields import field_arrow_type
from discreet.engines.engine import ArrowTable
from discreet.engines.render import number_columns
from discreet.sql import build
from discreet.sql.types import TEXT, TYPES, client_type, decimal_type, numeric_size

# Types that are reported as themselves; all others are texts.
_REPORTED = (
    *("bool", "int2", "int4", "int8", "float4", "float8", "numeric", "varchar", "bytea"),
    *("date", "time", "timestamp", "timestamptz", "interval", "uuid", "json"),
)
_NAMES = {TYPES[name].oid: name for name in _REPORTED} | {
    TYPES["oid"].oid: "int8",
    TYPES["jsonb"].oid: "json",
}
_MOST_DIGITS = 76  # of a decimal in Arrow


def postgres_field(name: str, oid: int, modifier: int) -> ResultField:
    """Return the reported field of a PostgreSQL column.

    >>> found = postgres_field("n", 1700, (10 << 16 | 2) + 4)
    >>> found.type, found.precision, found.scale
    ('numeric', 10, 2)
    >>> postgres_field("n", 1700, -1).precision, postgres_field("p", 600, -1).type
    (None, 'text')
    """
    found = _NAMES.get(oid, "text")
    size = numeric_size(modifier) if found == "numeric" else None
    if size is not None and size[1] <= size[0] <= _MOST_DIGITS:
        return ResultField(name, found, *size)
    return ResultField(name, found)


def build_transfer_query(source: exp.Query, fields: Sequence[ResultField]) -> exp.Select:
    """Return a query for the rows of `source` as exact text; names may repeat in `source`."""
    inner, columns = number_columns(source, len(fields))
    wanted = [
        _to_wire_field(field).encode(column) for column, field in zip(columns, fields, strict=True)
    ]
    return build.select(*wanted, source=inner)


def read_table(spool: Any, fields: Sequence[ResultField]) -> ArrowTable:
    """Return the output of COPY as Arrow."""
    wires = [_to_wire_field(field) for field in fields]
    batches = postgres_types.read_batches(spool or io.BytesIO(), wires)
    table = pa.Table.from_batches(batches, schema=postgres_types.arrow_schema(wires))
    columns = [
        _convert_column(column, field) for column, field in zip(table.columns, fields, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=[field.name for field in fields])


def _to_wire_field(field: ResultField) -> postgres_types.WireField:
    # Numbers without a declared scale are exact as texts only.
    oid = TEXT.oid if field.type == "numeric" else client_type(field.type).oid
    return postgres_types.make_wire_field(field.name, oid, category="", size=(None, None))


def _convert_column(column: Any, field: ResultField) -> Any:
    if field.type == "numeric":
        return _parse_decimals(column, field)
    if field.type == "bytea":
        cells = [None if cell is None else bytes.fromhex(cell[2:]) for cell in column.to_pylist()]
        return pa.array(cells, pa.binary())
    return column


def _parse_decimals(column: Any, field: ResultField) -> Any:
    """Return numbers written as text, exactly; without a declared scale, the longest decides."""
    texts = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pc.any(pc.match_substring_regex(texts, "[a-zA-Z]")).as_py():
        raise statement_failure(
            "22003", "NaN and infinity are not supported in numeric; cast them to float8"
        )
    wanted = field_arrow_type(field)
    if wanted is None:
        digits = pc.replace_substring_regex(texts, r"^-", "")
        whole = _longest_text(pc.replace_substring_regex(digits, r"\..*$", ""))
        scale = _longest_text(pc.replace_substring_regex(digits, r"^[0-9]*\.?", ""))
        if whole + scale > _MOST_DIGITS:
            raise statement_failure("22003", "a numeric value has more digits than can be returned")
        wanted = decimal_type(max(whole + scale, 1), scale)
    return texts.cast(wanted)


def _longest_text(texts: Any) -> int:
    return pc.max(pc.utf8_length(texts)).as_py() or 0
