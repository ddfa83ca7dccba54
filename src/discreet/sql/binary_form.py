"""Columns in binary form, a column at a time."""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

from discreet.sql import temporal
from discreet.sql.text_form import (
    Array,
    as_bytes,
    column_text,
    days_of,
    interval_parts,
    microseconds_of,
    plain_array,
)
from discreet.sql.types import client_type

_LAYOUTS = {
    "int2": ">i2",
    "int4": ">i4",
    "int8": ">i8",
    "oid": ">u4",
    "xid": ">u4",
    "float4": ">f4",
    "float8": ">f8",
}
_SPECIAL = {"NaN": 0xC000, "Infinity": 0xD000, "-Infinity": 0xF000}


def column_binary(array: Array, name: str) -> Array:
    r"""Return a column as an Arrow array of bytes in PostgreSQL's binary form; NULL stays null.

    >>> import pyarrow
    >>> column_binary(pyarrow.array([1, None]), "int4").to_pylist()
    [b'\x00\x00\x00\x01', None]
    """
    import pyarrow as pa

    array = plain_array(array)
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), pa.binary())
    if name.endswith("[]"):
        return _by_cell(array, lambda cell: _binary_array(cell, name.removesuffix("[]")))
    if name in _LAYOUTS:
        return _binary_numbers(array, name)
    writer = _WRITERS.get(name)
    if writer is not None:
        return writer(array)
    return column_text(array, name).cast(pa.binary())


def _by_cell(array: Array, write: Callable[[Any], bytes]) -> Array:
    import pyarrow as pa

    cells = [None if cell is None else write(cell) for cell in array.to_pylist()]
    return pa.array(cells, pa.binary())


def fixed_width_cells(numbers: Any, nulls: Array) -> Array:
    """Return the bytes of a numpy array, one cell per number; `nulls` has the same gaps."""
    import numpy as np
    import pyarrow as pa

    width = numbers.dtype.itemsize
    present = nulls.is_valid().buffers()[1] if nulls.null_count else None
    buffer = pa.py_buffer(np.ascontiguousarray(numbers))
    whole = pa.Array.from_buffers(pa.binary(width), len(numbers), [present, buffer])
    return whole.cast(pa.binary())


def _binary_numbers(array: Array, name: str) -> Array:
    import pyarrow as pa

    if pa.types.is_string(array.type) or pa.types.is_decimal(array.type):
        array = array.cast(pa.float64() if name.startswith("float") else pa.int64())
    if name in ("int2", "int4") and not pa.types.is_boolean(array.type):
        array = array.cast(
            pa.int16() if name == "int2" else pa.int32()
        )  # refuses numbers that are too large
    numbers = array.fill_null(0).to_numpy(zero_copy_only=False)
    return fixed_width_cells(numbers.astype(_LAYOUTS[name]), array)


def _binary_booleans(array: Array) -> Array:
    import pyarrow as pa

    numbers = array.cast(pa.bool_()).fill_null(False).to_numpy(zero_copy_only=False)
    return fixed_width_cells(numbers.astype("u1"), array)


def _binary_dates(array: Array) -> Array:
    import numpy as np

    days = days_of(array)
    numbers = days.fill_null(0).to_numpy().astype("i8")
    shifted = np.clip(numbers - temporal.EPOCH_DAYS, -(2**31) + 1, 2**31 - 2)
    shifted[numbers >= temporal.INFINITE_DAYS] = 2**31 - 1
    shifted[numbers <= -temporal.INFINITE_DAYS] = -(2**31)
    return fixed_width_cells(shifted.astype(">i4"), days)


def _binary_times(array: Array) -> Array:
    microseconds = microseconds_of(array)
    return fixed_width_cells(microseconds.fill_null(0).to_numpy().astype(">i8"), microseconds)


def _binary_timestamps(array: Array) -> Array:
    import numpy as np

    microseconds = microseconds_of(array)
    numbers = microseconds.fill_null(0).to_numpy()
    lowest = -temporal.INFINITE_MICROSECONDS + temporal.EPOCH_MICROSECONDS
    shifted = np.maximum(numbers, lowest) - temporal.EPOCH_MICROSECONDS
    shifted[numbers >= temporal.INFINITE_MICROSECONDS] = 2**63 - 1
    shifted[numbers <= -temporal.INFINITE_MICROSECONDS] = -(2**63)
    return fixed_width_cells(shifted.astype(">i8"), microseconds)


def _interval_cell(cell: Any) -> bytes:
    months, days, microseconds = interval_parts(cell)
    return struct.pack("!qii", microseconds, days, months)


def _binary_numerics(array: Array) -> Array:
    import pyarrow as pa

    if pa.types.is_floating(array.type):
        # From the shortest digits, as in the text form.
        return _by_cell(array, lambda cell: numeric_binary(Decimal(repr(cell))))
    return _by_cell(array, lambda cell: numeric_binary(Decimal(cell)))


def numeric_binary(number: Decimal) -> bytes:
    """Return a number in groups of four digits, as PostgreSQL stores it.

    >>> numeric_binary(Decimal("12345.60")).hex(" ", 2)
    '0003 0001 0000 0002 0001 0929 1770'
    """
    if not number.is_finite():
        word = "NaN" if number.is_nan() else "Infinity" if number > 0 else "-Infinity"
        # PostgreSQL gives infinities a scale of 32, and NaN one of 0.
        return struct.pack("!HhHH", 0, 0, _SPECIAL[word], 0 if word == "NaN" else 32)
    sign, digits, exponent = number.as_tuple()
    exponent = int(exponent)
    scale = max(0, -exponent)
    # The point must fall between two groups.
    written = "".join(map(str, digits)) + "0" * (max(0, exponent) + -scale % 4)
    after = (scale + -scale % 4) // 4
    written = written.zfill((len(written) + 3) // 4 * 4)
    groups = [int(written[at : at + 4]) for at in range(0, len(written), 4)]
    weight = len(groups) - after - 1
    while groups and not groups[0]:
        groups.pop(0)
        weight -= 1
    while groups and not groups[-1]:
        groups.pop()
    if not groups:
        weight, sign = 0, 0
    head = struct.pack("!HhHH", len(groups), weight, 0x4000 if sign else 0, scale)
    return head + struct.pack(f"!{len(groups)}H", *groups)


def _uuid_cell(cell: bytes | str) -> bytes:
    return UUID(cell).bytes if isinstance(cell, str) else cell


def _binary_array(cell: list[Any], element: str) -> bytes:
    import pyarrow as pa

    oid = client_type(element).oid
    if not cell:
        return struct.pack("!iiI", 0, 0, oid)
    items = column_binary(pa.array(cell), element).to_pylist()
    parts = [struct.pack("!iiIii", 1, int(None in items), oid, len(items), 1)]
    for item in items:
        parts.append(struct.pack("!i", -1 if item is None else len(item)))
        parts.append(item or b"")
    return b"".join(parts)


_WRITERS: dict[str, Callable[[Array], Array]] = {
    "bool": _binary_booleans,
    "numeric": _binary_numerics,
    "bytea": lambda array: _by_cell(array, as_bytes),
    "uuid": lambda array: _by_cell(array, _uuid_cell),
    "date": _binary_dates,
    "time": _binary_times,
    "timestamp": _binary_timestamps,
    "timestamptz": _binary_timestamps,
    "interval": lambda array: _by_cell(array, _interval_cell),
    "jsonb": lambda array: _by_cell(array, lambda cell: b"\x01" + as_bytes(cell)),
}
