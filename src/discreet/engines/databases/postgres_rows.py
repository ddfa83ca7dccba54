"""Rows of a served PostgreSQL: each type as exact text, and its conversion to Arrow."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from discreet.arrow import pc
from discreet.engines import postgres_types
from discreet.engines.databases.database import ResultField
from discreet.engines.databases.failures import statement_failure
from discreet.engines.databases.fields import field_arrow_type
from discreet.engines.engine import ArrowTable, Kind
from discreet.sql import build

_NAMES: Mapping[int, str] = {
    16: "bool",
    17: "bytea",
    20: "int8",
    21: "int2",
    23: "int4",
    26: "int8",  # oid
    114: "json",
    700: "float4",
    701: "float8",
    1043: "varchar",
    1082: "date",
    1083: "time",
    1114: "timestamp",
    1184: "timestamptz",
    1186: "interval",
    1700: "numeric",
    2950: "uuid",
    3802: "json",  # jsonb
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
    if oid == 1700 and modifier >= 4:
        precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
        if scale <= precision <= _MOST_DIGITS:
            return ResultField(name, "numeric", precision, scale)
    return ResultField(name, _NAMES.get(oid, "text"))


def build_transfer_query(source: exp.Query, fields: Sequence[ResultField]) -> exp.Select:
    """Return a query for the rows of `source` as exact text; names may repeat in `source`."""
    names = [f"c{place}" for place in range(len(fields))]
    alias = exp.TableAlias(
        this=exp.to_identifier("q"), columns=[exp.to_identifier(name) for name in names]
    )
    wanted = [
        _to_wire_field(field).encode(build.column(name, of="q"))
        for name, field in zip(names, fields, strict=True)
    ]
    return build.select(*wanted, source=exp.Subquery(this=source, alias=alias))


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
    oid = _OIDS.get(field.type)
    if oid is not None:
        return postgres_types.make_wire_field(field.name, oid, category="", size=(None, None))
    return postgres_types.WireField(
        field.name, Kind.TEXT, pa.string(), pa.string(), lambda value: exp.cast(value, "TEXT")
    )


_OIDS: Mapping[str, int] = {
    name: oid
    for oid, name in _NAMES.items()
    if name not in ("numeric", "bytea", "interval", "json", "uuid", "varchar") and oid != 26
}


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
        precision = max(whole + scale, 1)
        make = pa.decimal128 if precision <= 38 else pa.decimal256
        wanted = make(precision, scale)
    return texts.cast(wanted)


def _longest_text(texts: Any) -> int:
    return pc.max(pc.utf8_length(texts)).as_py() or 0
