"""PostgreSQL's values in transit: exact in CSV and Arrow, whatever the server's settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import csv
from sqlglot import exp

from discreet.arrow import pc
from discreet.engines.databases.database import ResultField, field_arrow_type
from discreet.engines.databases.failures import statement_failure
from discreet.engines.engine import KINDS, ArrowBatch, ArrowSchema, ArrowTable, Kind
from discreet.engines.render import number_columns
from discreet.sql import build
from discreet.sql.decode import array_items, decode_value
from discreet.sql.types import (
    BY_OID,
    FROM_ARROW,
    TEXT,
    TYPES,
    arrow_type,
    client_type,
    decimal_type,
    numeric_size,
)

_BLOCK_BYTES = 8 << 20
_MICROSECONDS = 1_000_000
_NO_DECIMAL = ("NaN", "Infinity", "-Infinity")

# Types that are reported as themselves; all others are texts.
_REPORTED = (
    *("bool", "int2", "int4", "int8", "float4", "float8", "numeric", "varchar", "bytea"),
    *("date", "time", "timestamp", "timestamptz", "interval", "uuid", "json"),
)
# Their arrays are lists; arrays of other types are texts.
_LISTED = (
    *("bool", "int2", "int4", "int8", "float4", "float8", "numeric", "text", "varchar", "uuid"),
    *("date", "time", "timestamp", "timestamptz"),
)
_NAMES = {TYPES[name].oid: name for name in _REPORTED} | {
    **{TYPES[name].array: f"{name}[]" for name in _LISTED},
    TYPES["oid"].oid: "int8",
    TYPES["jsonb"].oid: "json",
}
_MOST_DIGITS = 76  # of a decimal in Arrow


@dataclass(frozen=True)
class WireField:
    """A column of a result: its name, its kind, its type in transit and its final type."""

    name: str
    kind: Kind
    wire: Any  # the Arrow type of its text in CSV
    type: Any  # the Arrow type the caller gets
    encode: Callable[[exp.Expr], exp.Expr]


def make_wire_field(
    name: str, oid: int, *, category: str, size: tuple[int | None, int | None]
) -> WireField:
    """Return the transport of a column of type `oid`; `size` is precision and scale of numerics."""
    known = BY_OID.get(oid)
    kind = KINDS.get(known.name, Kind.OTHER) if known else Kind.OTHER
    if kind is Kind.DECIMAL:
        arrow = _numeric_type(*size)
        wire = arrow if pa.types.is_decimal128(arrow) else pa.string()  # Arrow's CSV knows 128 bits
        return WireField(name, kind, wire, arrow, _finite_decimal)
    if known is None or kind in (Kind.TEXT, Kind.OTHER):
        is_text = kind is Kind.TEXT or category in ("E", "S")
        return WireField(name, Kind.TEXT if is_text else kind, pa.string(), pa.string(), _as_text)
    arrow = arrow_type("int8" if known.name == "oid" else known.name)
    wire, encode = _IN_TRANSIT.get(kind, (arrow, _unchanged_value))
    return WireField(name, kind, wire, arrow, encode)


def arrow_schema(fields: Sequence[WireField]) -> ArrowSchema:
    """Return the schema of a result."""
    return pa.schema([pa.field(item.name, item.type) for item in fields])


def read_batches(spool: Any, fields: Sequence[WireField]) -> Iterator[ArrowBatch]:
    """Yield the output of `COPY … (FORMAT csv, FORCE_QUOTE *)`: unquoted and empty is NULL."""
    if not spool.read(1):  # Arrow refuses an empty file, which PostgreSQL writes for no rows
        return
    spool.seek(0)
    names = [str(position) for position in range(len(fields))]
    reader = csv.open_csv(
        spool,
        read_options=csv.ReadOptions(column_names=names, block_size=_BLOCK_BYTES),
        parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=csv.ConvertOptions(
            column_types={name: item.wire for name, item in zip(names, fields, strict=True)},
            null_values=[""],
            true_values=["t"],
            false_values=["f"],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            check_utf8=False,
        ),
    )
    schema = arrow_schema(fields)
    for batch in reader:
        columns = [
            column.cast(item.type) for column, item in zip(batch.columns, fields, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def read_table(spool: Any, fields: Sequence[WireField]) -> ArrowTable:
    """Return the whole output of COPY as Arrow."""
    return pa.Table.from_batches(read_batches(spool, fields), schema=arrow_schema(fields))


def column_definition(item: Any) -> exp.ColumnDef:
    """Return the column that stores an Arrow field; texts are ordered by their bytes."""
    constraints: list[exp.Expr] = []
    if pa.types.is_string(item.type):
        constraints = [
            exp.ColumnConstraint(
                kind=exp.CollateColumnConstraint(this=exp.to_identifier("C", quoted=True))
            )
        ]
    return exp.ColumnDef(
        this=exp.to_identifier(item.name, quoted=True),
        kind=exp.DataType.build(_column_type(item.type), dialect="postgres"),
        constraints=constraints,
    )


def _column_type(arrow: Any) -> str:
    if pa.types.is_decimal(arrow):
        return f"NUMERIC({arrow.precision}, {arrow.scale})"
    if pa.types.is_timestamp(arrow):
        return "TIMESTAMPTZ" if arrow.tz else "TIMESTAMP"
    return "int2" if pa.types.is_int8(arrow) else FROM_ARROW[str(arrow)]


def _numeric_type(precision: int | None, scale: int | None) -> Any:
    if precision is None or scale is None or not 0 <= scale <= precision <= 76:
        return pa.decimal256(76, 38)  # no declared scale, as in a sum
    return decimal_type(precision, scale)


def _unchanged_value(value: exp.Expr) -> exp.Expr:
    return value


def _as_text(value: exp.Expr) -> exp.Expr:
    return exp.cast(value, "TEXT")


def _finite_decimal(value: exp.Expr) -> exp.Expr:
    # Arrow's decimals have no NaN and no infinity.
    texts = [build.text(word) for word in _NO_DECIMAL]
    odd = exp.In(this=_as_text(value.copy()), expressions=texts)
    return exp.Case(ifs=[exp.If(this=odd, true=exp.Null())], default=value)


def _epoch_days(value: exp.Expr) -> exp.Expr:
    start = exp.cast(build.text("1970-01-01"), "DATE")
    return exp.Sub(this=_within_years(value, "DATE"), expression=start)


def _epoch_microseconds(value: exp.Expr) -> exp.Expr:
    seconds = exp.Extract(this=exp.var("EPOCH"), expression=value)
    product = exp.Mul(this=seconds, expression=build.number(_MICROSECONDS))
    return exp.cast(product, "BIGINT")


def _timestamp_microseconds(value: exp.Expr) -> exp.Expr:
    return _epoch_microseconds(_within_years(value, "TIMESTAMP"))


def _within_years(value: exp.Expr, kind: str) -> exp.Expr:
    """Return `value`, with the two infinities at the ends of the calendar people use."""
    ends = (("infinity", "9999-12-31"), ("-infinity", "0001-01-01"))
    ifs = [
        exp.If(
            this=exp.EQ(this=value.copy(), expression=exp.cast(build.text(word), kind)),
            true=exp.cast(build.text(day), kind),
        )
        for word, day in ends
    ]
    return exp.Case(ifs=ifs, default=value)


# Days and moments go as numbers.
_IN_TRANSIT: Mapping[Kind, tuple[Any, Callable[[exp.Expr], exp.Expr]]] = {
    Kind.DATE: (pa.int32(), _epoch_days),
    Kind.TIME: (pa.int64(), _epoch_microseconds),
    Kind.TIMESTAMP: (pa.int64(), _timestamp_microseconds),
}


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


def build_transfer_query(source: exp.Query, fields: Sequence[WireField]) -> exp.Select:
    """Return a query for the rows of `source` in transit; names may repeat in `source`."""
    inner, columns = number_columns(source, len(fields))
    encoded = [field.encode(column) for column, field in zip(columns, fields, strict=True)]
    return build.select(*encoded, source=inner)


def read_reported(spool: Any, fields: Sequence[ResultField]) -> ArrowTable:
    """Return the output of COPY as Arrow, with the types that clients get."""
    table = read_table(spool, [reported_wire(field) for field in fields])
    columns = [
        _convert_column(column, field) for column, field in zip(table.columns, fields, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=[field.name for field in fields])


def reported_wire(field: ResultField) -> WireField:
    """Return the transport of a reported field: each type as exact text."""
    # Numbers without a declared scale are exact as texts only.
    oid = TEXT.oid if field.type == "numeric" else client_type(field.type).oid
    return make_wire_field(field.name, oid, category="", size=(None, None))


def _convert_column(column: Any, field: ResultField) -> Any:
    if field.type == "numeric":
        return _parse_decimals(column, field)
    if field.type == "bytea":
        cells = [None if cell is None else bytes.fromhex(cell[2:]) for cell in column.to_pylist()]
        return pa.array(cells, pa.binary())
    if field.type.endswith("[]"):
        return _parse_arrays(column, field.type.removesuffix("[]"))
    return column


def _parse_arrays(column: Any, element: str) -> Any:
    cells = [None if cell is None else list(array_items(cell)) for cell in column.to_pylist()]
    texts = [item for cell in cells for item in cell or ()]
    parsed = _parse_elements(pa.array(texts, pa.string()), element)
    values = iter(parsed.to_pylist())
    lists = [None if cell is None else [next(values) for _ in cell] for cell in cells]
    return pa.array(lists, pa.list_(parsed.type))


def _parse_elements(texts: Any, element: str) -> Any:
    """Return texts as values of a type, as far as Arrow has one for it."""
    if element == "numeric":
        return _parse_decimals(texts, ResultField("", "numeric"))
    if element == "bool":
        return pc.equal(texts, "t")
    wanted = arrow_type(element)
    is_number = wanted is not None and (pa.types.is_integer(wanted) or pa.types.is_floating(wanted))
    return texts.cast(wanted) if is_number else _parse_moments(texts, element)


def _parse_moments(texts: Any, element: str) -> Any:
    values = [
        None if text is None else decode_value(text.encode(), element, binary=False)
        for text in texts.to_pylist()
    ]
    if any(isinstance(value, str) for value in values) or element == "uuid":
        return texts
    return pa.array(values, arrow_type(element))


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
