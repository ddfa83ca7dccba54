"""Arrow data narrowed to the types that all three engines have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from discreet.engines.engine import ArrowBatch, ArrowReader
from discreet.errors import UnreadableSource


def normalize_reader(reader: ArrowReader) -> ArrowReader:
    """Return `reader` with dictionaries, views, unsigned and half-size types made plain."""
    schema = pa.schema([pa.field(item.name, plain_type(item.type)) for item in reader.schema])

    def batches() -> Iterator[ArrowBatch]:
        for batch in reader:
            columns = [
                _cast_column(column, item)
                for column, item in zip(batch.columns, schema, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def plain_type(kind: Any) -> Any:
    """Return the type that holds every value of `kind` and that every engine has."""
    types = pa.types
    if types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if types.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    for test, plain in _RULES:
        if test(kind):
            return plain
    if types.is_decimal(kind):
        return pa.decimal128(kind.precision, kind.scale) if kind.precision <= 38 else kind
    return kind


_RULES: tuple[tuple[Any, Any], ...] = (
    (pa.types.is_null, pa.string()),
    (pa.types.is_large_string, pa.string()),
    (pa.types.is_string_view, pa.string()),
    (pa.types.is_int8, pa.int16()),
    (pa.types.is_uint8, pa.int16()),
    (pa.types.is_uint16, pa.int32()),
    (pa.types.is_uint32, pa.int64()),
    (pa.types.is_uint64, pa.decimal128(20, 0)),
    (pa.types.is_float16, pa.float32()),
    (pa.types.is_date, pa.date32()),
    (pa.types.is_time, pa.time64("us")),
)


def _cast_column(column: Any, item: Any) -> Any:
    if column.type == item.type:
        return column
    try:
        return column.cast(item.type)
    except pa.ArrowException as error:
        kind = type(error).__name__
    raise UnreadableSource(
        f"Column '{item.name}' holds a value that does not fit {item.type} ({kind}). "
        "Round or shorten it first."
    )
