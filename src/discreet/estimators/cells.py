"""Columns of arrays and frames as Arrow columns of declared kinds: a cell that does not fit is missing.

No function here fails for what a cell holds, because a failure would say what it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrow import ArrowArray, pc
from discreet.policy.model import ColumnKind

# A column as it was given: an Arrow array, or an array of numpy.
RawColumn = Any
_LARGEST = 2.0**62


def cast_cells(column: RawColumn, kind: ColumnKind | None) -> ArrowArray:
    """Return a column as an Arrow array of `kind`; without one, of its own type."""
    if kind == "number" and isinstance(column, np.ndarray) and column.dtype.kind == "O":
        return pa.array([_number_of(one) for one in column.tolist()], pa.float64())
    found = _to_arrow(column)
    if kind is None or kind not in _CASTS:
        return _known_type(found)
    return _CASTS[kind](found)


def is_boolean_type(column: RawColumn) -> bool:
    """Return whether a column's type leaves only true and false."""
    if isinstance(column, np.ndarray):
        return column.dtype.kind == "b"
    return pa.types.is_boolean(column.type)


def is_text_type(column: RawColumn) -> bool:
    """Return whether a column's type is text, or one that Arrow does not know."""
    if isinstance(column, np.ndarray):
        return column.dtype.kind in "OSU"
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return not any(is_of(kind) for is_of in _PLAIN)


_PLAIN: tuple[Callable[[Any], bool], ...] = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_temporal,
)


def _to_arrow(column: RawColumn) -> ArrowArray:
    """Return a column as one Arrow array without dictionary; cells of no one type as texts."""
    if isinstance(column, np.ndarray):
        return _from_numpy(column)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # of no chunks at all
        column = pa.array([], column.type)
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _from_numpy(column: Any) -> ArrowArray:
    if column.dtype.kind in "biufmM":
        return pa.array(np.ascontiguousarray(column))
    if column.dtype.kind in "SU":
        return pa.array(column.astype(str).tolist(), pa.string())
    try:
        found = pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        found = None
    if found is not None and pa.types.is_string(found.type):
        return found
    return pa.array([_text_of(one) for one in column.tolist()], pa.string())


def _known_type(found: ArrowArray) -> ArrowArray:
    is_known = any(is_of(found.type) for is_of in (*_PLAIN, pa.types.is_string))
    return found if is_known else _cast_to_text(found)


def _cast_to_numbers(found: ArrowArray) -> ArrowArray:
    if pa.types.is_temporal(found.type) or not _is_numeric(found):
        return pa.array([_number_of(one) for one in found.to_pylist()], pa.float64())
    return found.cast(pa.float64(), safe=False)


def _cast_to_whole_numbers(found: ArrowArray) -> ArrowArray:
    if pa.types.is_integer(found.type) and not pa.types.is_uint64(found.type):
        return found.cast(pa.int64())
    numbers = _cast_to_numbers(found)
    cells = pc.fill_null(numbers, np.nan).to_numpy(zero_copy_only=False)
    is_whole = (np.abs(cells) <= _LARGEST) & (np.floor(cells) == cells)
    return pa.array(np.where(is_whole, cells, 0).astype(np.int64), mask=~is_whole)


def _cast_to_truth(found: ArrowArray) -> ArrowArray:
    if pa.types.is_boolean(found.type):
        return found
    cells = [_TRUTH.get(_text_of(one) or "") for one in found.to_pylist()]
    return pa.array(cells, pa.bool_())


def _cast_to_text(found: ArrowArray) -> ArrowArray:
    if pa.types.is_string(found.type) or pa.types.is_large_string(found.type):
        return found.cast(pa.string())
    return pa.array([_text_of(one) for one in found.to_pylist()], pa.string())


_CASTS: Mapping[ColumnKind, Callable[[ArrowArray], ArrowArray]] = {
    "number": _cast_to_numbers,
    "integer": _cast_to_whole_numbers,
    "boolean": _cast_to_truth,
    "text": _cast_to_text,
}
_TRUTH = {"true": True, "false": False, "1": True, "0": False}


def _is_numeric(found: ArrowArray) -> bool:
    kind = found.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return is_number or pa.types.is_boolean(kind) or pa.types.is_decimal(kind)


def _number_of(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _text_of(value: Any) -> str | None:
    """Return a cell as text, the same whether its column is of whole numbers, of numbers or of objects."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, (bool, np.bool_)):
        return str(value).lower()
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    try:
        return str(value).encode("utf-8", errors="replace").decode("utf-8")
    except Exception:  # noqa: BLE001 -- an object of another library may raise anything
        return None
