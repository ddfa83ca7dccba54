"""Arrow data made total: every value is one that DuckDB can hold, or missing.

DuckDB fails on moments and durations beyond its range, on maps that repeat a key and on bytes that are
no text, and stops working at times that are none. A question must not: one person's value would decide
whether it is answered. What the types become depends on the schema alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa

from discreet.arrow import ArrowArray, pc
from discreet.engines.engine import ArrowBatch

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_LARGEST = 2**63 - 1
_DAY = 86_400


def fit_table(data: Any) -> Any:
    """Return an Arrow table, or what reads one, with values that DuckDB can hold.

    Finer moments are cut to microseconds, bytes that are no text become U+FFFD, other values that do
    not fit are missing.
    """
    if isinstance(data, pa.Table):
        return pa.Table.from_batches(
            [_fit_batch(batch) for batch in data.to_batches()], schema=_fit_schema(data.schema)
        )
    reader = data if isinstance(data, pa.RecordBatchReader) else data.scanner().to_reader()

    def batches() -> Iterator[ArrowBatch]:
        yield from map(_fit_batch, reader)

    return pa.RecordBatchReader.from_batches(_fit_schema(reader.schema), batches())


def _fit_schema(schema: Any) -> Any:
    return pa.schema([item.with_type(_fit_type(item.type)) for item in schema])


def _fit_batch(batch: ArrowBatch) -> ArrowBatch:
    columns = [_fit_array(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=_fit_schema(batch.schema))


def _fit_type(kind: Any) -> Any:
    types = pa.types
    if types.is_run_end_encoded(kind) or types.is_dictionary(kind):
        return _fit_type(kind.value_type)
    if types.is_nested(kind):
        return _fit_nested_type(kind)
    if types.is_timestamp(kind) and (kind.tz or kind.unit != "ns"):
        return pa.timestamp("us", kind.tz)
    if types.is_duration(kind):
        return pa.duration("us")
    if types.is_float16(kind):
        return pa.float32()
    return pa.string() if types.is_decimal256(kind) else kind


def _fit_nested_type(kind: Any) -> Any:
    types, parts = pa.types, [kind.field(index) for index in range(kind.num_fields)]
    if types.is_map(kind):
        return pa.map_(
            _fit_type(kind.key_type), kind.item_field.with_type(_fit_type(kind.item_type))
        )
    fitted = [part.with_type(_fit_type(part.type)) for part in parts]
    if types.is_struct(kind):
        return pa.struct(fitted)
    if types.is_list(kind):
        return pa.list_(fitted[0])
    if types.is_large_list(kind):
        return pa.large_list(fitted[0])
    return pa.list_(fitted[0], kind.list_size) if types.is_fixed_size_list(kind) else kind


def _fit_array(array: ArrowArray) -> ArrowArray:
    kind, types = array.type, pa.types
    if types.is_run_end_encoded(kind):
        return _fit_array(pc.run_end_decode(array))
    if types.is_dictionary(kind):
        return _fit_array(array.dictionary).take(array.indices)
    if types.is_nested(kind):
        return _fit_nested(array)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return _fit_texts(array)
    if types.is_time(kind):
        return _fit_times(array)
    if types.is_decimal128(kind):
        return _fit_decimals(array)
    if _fit_type(kind) == kind:
        return array
    if types.is_timestamp(kind) or types.is_duration(kind):
        return _fit_microseconds(array)
    return array.cast(_fit_type(kind), safe=False)


def _fit_microseconds(array: ArrowArray) -> ArrowArray:
    """Return moments or durations in microseconds, missing where these do not reach."""
    per_second = _PER_SECOND[array.type.unit]
    if per_second >= _PER_SECOND["us"]:
        return array.cast(_fit_type(array.type), safe=False)
    factor = _PER_SECOND["us"] // per_second
    numbers = _only_between(array.view(pa.int64()), -_LARGEST // factor + 1, _LARGEST // factor)
    return pc.multiply(numbers, factor).view(_fit_type(array.type))


def _fit_times(array: ArrowArray) -> ArrowArray:
    """Return times of a day, missing where they are before or after it."""
    numbers = array.view(pa.int32() if pa.types.is_time32(array.type) else pa.int64())
    return _only_between(numbers, 0, _DAY * _PER_SECOND[array.type.unit]).view(array.type)


def _only_between(numbers: ArrowArray, low: Any, high: Any) -> ArrowArray:
    is_inside = pc.and_(pc.greater_equal(numbers, low), pc.less_equal(numbers, high))
    return pc.if_else(is_inside, numbers, pa.scalar(None, numbers.type))


def _fit_decimals(array: ArrowArray) -> ArrowArray:
    """Return decimals, missing where they have more digits than their type, as writers may leave them."""
    nines, scale = (9,) * array.type.precision, array.type.scale
    low, high = (pa.scalar(Decimal((sign, nines, -scale)), array.type) for sign in (1, 0))
    return _only_between(array, low, high)


def _fit_texts(array: ArrowArray) -> ArrowArray:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        pass
    else:
        return array
    cells = array.cast(pa.large_binary()).to_pylist()
    texts = [None if cell is None else cell.decode("utf-8", errors="replace") for cell in cells]
    return pa.array(texts, array.type)


def _fit_nested(array: ArrowArray) -> ArrowArray:
    kind, types = array.type, pa.types
    if array.offset:
        array = array.take(pa.array(range(len(array))))
    to, is_missing = _fit_type(kind), array.is_null()
    if types.is_struct(kind):
        parts = [_fit_array(part) for part in array.flatten()]
        return pa.StructArray.from_arrays(parts, fields=list(to), mask=is_missing)
    if types.is_map(kind):
        return _fit_map(array, to)
    if types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(_fit_array(array.values), type=to, mask=is_missing)
    if types.is_list(kind) or types.is_large_list(kind):
        return type(array).from_arrays(
            array.offsets, _fit_array(array.values), type=to, mask=is_missing
        )
    return array


def _fit_map(array: ArrowArray, to: Any) -> ArrowArray:
    """Return maps, missing where a key is missing or repeated."""
    keys, offsets = _fit_array(array.keys), array.offsets.to_pylist()
    names = [str(key) if key.is_valid else None for key in keys]
    is_missing = [
        len(found := names[start:end]) != len({*found} - {None}) for start, end in pairwise(offsets)
    ]
    mask = pc.or_(array.is_null(), pa.array(is_missing, pa.bool_()))
    made = pa.MapArray.from_arrays(array.offsets, keys, _fit_array(array.items), type=to)
    return pc.if_else(mask, pa.scalar(None, to), made)
