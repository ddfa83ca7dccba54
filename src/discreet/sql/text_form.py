"""Columns in text form, as PostgreSQL writes them, a column at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias
from uuid import UUID

from discreet.sql import temporal

Array: TypeAlias = Any  # of pyarrow, which has no types

UTC_NAMES = frozenset({"utc", "etc/utc", "gmt", "etc/gmt", "zulu", "uct"})
_NEEDS_QUOTES = frozenset('{}",\\ \t\n\r\v\f')


def compute() -> Any:
    """Return Arrow's compute functions, whose module is filled on import."""
    import pyarrow.compute as functions

    return functions


def column_text(array: Array, name: str, *, zone: str = "UTC") -> Array:
    """Return a column as an Arrow array of strings in PostgreSQL's text form; NULL stays null.

    >>> import pyarrow
    >>> column_text(pyarrow.array([1.5, None, float("inf")]), "float8").to_pylist()
    ['1.5', None, 'Infinity']
    """
    import pyarrow as pa

    array = plain_array(array)
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), pa.string())
    if name.endswith("[]") or pa.types.is_nested(array.type):
        return _by_cell(array, lambda cell: nested_text(cell, name.removesuffix("[]")))
    if name == "timestamptz":
        return _timestamptz_text(array, zone)
    return _WRITERS.get(name, _text_cells)(array)


def plain_array(array: Array) -> Array:
    """Return a column without dictionaries, extensions and views, which few functions support."""
    import pyarrow as pa

    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if str(array.type) in ("string_view", "large_string"):
        return array.cast(pa.string())
    if str(array.type) in ("binary_view", "large_binary"):
        return array.cast(pa.binary())
    return array


def _by_cell(array: Array, write: Callable[[Any], str]) -> Array:
    import pyarrow as pa

    cells = [None if cell is None else write(cell) for cell in array.to_pylist()]
    return pa.array(cells, pa.string())


def _text_cells(array: Array) -> Array:
    """Return values that already are text: text, json, and types without a form of their own."""
    import pyarrow as pa

    kind = array.type
    if pa.types.is_string(kind):
        return array
    for is_such, write in (
        (pa.types.is_boolean, _boolean_text),
        (pa.types.is_floating, _float8_text),
        (pa.types.is_decimal, _numeric_text),
        (pa.types.is_date, _date_text),
        (pa.types.is_time, _time_text),
        (pa.types.is_timestamp, _timestamp_text),
        (pa.types.is_interval, _interval_text),
        (pa.types.is_duration, _interval_text),
        (pa.types.is_binary, _bytea_text),
        (pa.types.is_fixed_size_binary, _bytea_text),
    ):
        if is_such(kind):
            return write(array)
    return array.cast(pa.string())


def _boolean_text(array: Array) -> Array:
    import pyarrow as pa

    pc = compute()

    return pc.if_else(array.cast(pa.bool_()), "t", "f")


def _integer_text(array: Array) -> Array:
    import pyarrow as pa

    if not pa.types.is_integer(array.type):
        array = array.cast(pa.int64())
    return array.cast(pa.string())


def _float8_text(array: Array) -> Array:
    import pyarrow as pa

    return _shortest_float_text(array.cast(pa.float64()), plain_below=1e14)


def _float4_text(array: Array) -> Array:
    import pyarrow as pa

    return _shortest_float_text(array.cast(pa.float32(), safe=False), plain_below=1e6)


def _shortest_float_text(array: Array, *, plain_below: float) -> Array:
    """Return the shortest digits that read back as the number (Arrow's, where its form is the same)."""
    import numpy as np
    import pyarrow as pa

    numbers = array.fill_null(0).to_numpy(zero_copy_only=False)
    sizes = np.abs(numbers)
    if bool(np.all((sizes == 0) | ((sizes >= 1e-4) & (sizes < plain_below)))):
        return array.cast(pa.string())
    positional = 1e15 if array.type == pa.float64() else 1e6
    texts = [float_text(number, positional_below=positional) for number in numbers]
    return pa.array(texts, pa.string(), mask=np.asarray(array.is_null()))


def float_text(number: Any, *, positional_below: float = 1e15) -> str:
    """Return a number of numpy as PostgreSQL writes it.

    >>> import numpy
    >>> [float_text(numpy.float64(x)) for x in (1e14, 1e15, 1e-5, 0.0001, -0.0, float("nan"))]
    ['100000000000000', '1e+15', '1e-05', '0.0001', '-0', 'NaN']
    """
    import numpy as np

    if np.isnan(number):
        return "NaN"
    if np.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0 or 1e-4 <= abs(number) < positional_below:
        return np.format_float_positional(number, trim="-")
    return np.format_float_scientific(number, trim="-", exp_digits=2)


def _numeric_text(array: Array) -> Array:
    import pyarrow as pa

    if pa.types.is_floating(array.type):
        return _float8_text(array)
    if pa.types.is_string(array.type):
        return array
    if pa.types.is_decimal(array.type) and not 0 <= array.type.scale <= 6:
        # Arrow would write 1E-7, which many clients do not accept.
        return _by_cell(array, lambda cell: format(cell, "f"))
    return array.cast(pa.string())


def _bytea_text(array: Array) -> Array:
    return _by_cell(array, lambda cell: "\\x" + as_bytes(cell).hex())


def as_bytes(cell: bytes | str) -> bytes:
    """Return a cell as bytes."""
    return cell.encode("utf-8") if isinstance(cell, str) else cell


def _uuid_text(array: Array) -> Array:
    import pyarrow as pa

    if pa.types.is_string(array.type):
        return array
    return _by_cell(array, lambda cell: str(UUID(bytes=cell)))


def days_of(array: Array) -> Array:
    """Return a column of dates as days since 1970."""
    import pyarrow as pa

    if pa.types.is_string(array.type) or not pa.types.is_date32(array.type):
        array = array.cast(pa.date32())
    return array.view(pa.int32())


def microseconds_of(array: Array) -> Array:
    """Return a column of timestamps or times of day as microseconds since 1970 or midnight."""
    import pyarrow as pa

    kind = array.type
    if pa.types.is_time(kind):
        return array.cast(pa.time64("us")).view(pa.int64())
    if pa.types.is_timestamp(kind):
        # Anything finer than microseconds is cut off.
        return array.cast(pa.timestamp("us", kind.tz), safe=kind.unit != "ns").view(pa.int64())
    return array.cast(pa.timestamp("us")).view(pa.int64())


def is_within(numbers: Array, first: int, last: int) -> bool:
    """Return whether all non-null numbers are in a range."""
    pc = compute()

    ends = pc.min_max(numbers).as_py()
    return ends["min"] is None or (ends["min"] >= first and ends["max"] <= last)


def _date_text(array: Array) -> Array:
    import pyarrow as pa

    days = days_of(array)
    if is_within(days, temporal.FIRST_DAY, temporal.LAST_DAY):
        return days.view(pa.date32()).cast(pa.string())
    return _by_cell(days, temporal.date_text)


def _trim_zeros(texts: Array) -> Array:
    pc = compute()

    return pc.ascii_rtrim(pc.ascii_rtrim(texts, "0"), ".")


def _time_text(array: Array) -> Array:
    import pyarrow as pa

    if pa.types.is_string(array.type):
        return array
    microseconds = microseconds_of(array)
    if is_within(microseconds, 0, temporal.DAY - 1):
        return _trim_zeros(microseconds.view(pa.time64("us")).cast(pa.string()))
    return _by_cell(microseconds, temporal.time_text)


def _timestamp_text(array: Array) -> Array:
    import pyarrow as pa

    microseconds = microseconds_of(array)
    if is_within(microseconds, temporal.FIRST_MICROSECOND, temporal.LAST_MICROSECOND):
        return _trim_zeros(microseconds.view(pa.timestamp("us")).cast(pa.string()))
    return _by_cell(microseconds, temporal.timestamp_text)


def _timestamptz_text(array: Array, zone: str) -> Array:
    import pyarrow as pa

    pc = compute()

    microseconds = microseconds_of(array)
    first = temporal.FIRST_MICROSECOND + temporal.DAY
    if not is_within(microseconds, first, temporal.LAST_MICROSECOND - temporal.DAY):
        place = temporal.zone_named(zone)
        return _by_cell(microseconds, lambda cell: temporal.timestamp_text(cell, place))
    local, suffix = microseconds.view(pa.timestamp("us")), "+00"
    if zone.lower() not in UTC_NAMES:
        try:
            aware = microseconds.view(pa.timestamp("us", zone))
            local = pc.local_timestamp(aware)
            suffix = _offset_texts(local, microseconds)
        except pa.ArrowInvalid:  # the zone is unknown
            local, suffix = microseconds.view(pa.timestamp("us")), "+00"
    return pc.binary_join_element_wise(_trim_zeros(local.cast(pa.string())), suffix, "")


def _offset_texts(local: Array, microseconds: Array) -> Array:
    import numpy as np
    import pyarrow as pa

    pc = compute()

    distance = pc.subtract(local.view(pa.int64()), microseconds).fill_null(0)
    distinct, places = np.unique(distance.to_numpy(), return_inverse=True)
    texts = pa.array([temporal.offset_text(int(each) // 1_000_000) for each in distinct])
    return texts.take(pa.array(places))


def interval_parts(cell: Any) -> tuple[int, int, int]:
    """Return months, days and microseconds of an interval or a duration."""
    if hasattr(cell, "nanoseconds") and hasattr(cell, "months"):
        return cell.months, cell.days, cell.nanoseconds // 1000
    return 0, cell.days, cell.seconds * 1_000_000 + cell.microseconds


def _interval_text(array: Array) -> Array:
    import pyarrow as pa

    if pa.types.is_string(array.type):
        return array
    return _by_cell(array, lambda cell: temporal.interval_text(*interval_parts(cell)))


def nested_text(cell: Any, element: str) -> str:
    """Return a list as PostgreSQL writes arrays; any other nested value as JSON.

    >>> nested_text([1, None, "a b", ""], "text")
    '{1,NULL,"a b",""}'
    """
    if not isinstance(cell, list):
        return cell if isinstance(cell, str) else json.dumps(cell, default=str, ensure_ascii=False)
    return "{" + ",".join(_item_text(item, element) for item in cell) + "}"


def _item_text(item: Any, element: str) -> str:
    import pyarrow as pa

    if item is None:
        return "NULL"
    if isinstance(item, list):
        return nested_text(item, element)
    if isinstance(item, dict):
        text = nested_text(item, element)
    elif isinstance(item, str):
        text = item
    else:
        text = column_text(pa.array([item]), element)[0].as_py()
    if text and text.upper() != "NULL" and not _NEEDS_QUOTES.intersection(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


_WRITERS: dict[str, Callable[[Array], Array]] = {
    "bool": _boolean_text,
    "int2": _integer_text,
    "int4": _integer_text,
    "int8": _integer_text,
    "oid": _integer_text,
    "xid": _integer_text,
    "float4": _float4_text,
    "float8": _float8_text,
    "numeric": _numeric_text,
    "bytea": _bytea_text,
    "uuid": _uuid_text,
    "date": _date_text,
    "time": _time_text,
    "timestamp": _timestamp_text,
    "interval": _interval_text,
}
