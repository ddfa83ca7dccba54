"""How hierarchies read values: as one canonical text, for every type of the engine."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc

# Three digits of exponent are more than any table holds; more could ask for gigabytes of zeros.
NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?\s*", re.ASCII)


def text_of(values: ArrowArray) -> ArrowArray:
    """Return each value as text, one form per value; NULL stays NULL.

    Numbers have no trailing zeros, so that 30, 30.0 and DECIMAL 30.00 are all `30`; NaN is `NaN`.
    Dates and timestamps are ISO, booleans `true` and `false`, bytes hexadecimal.

    >>> text_of(pa.array([30.0, 0.5, None])).to_pylist()
    ['30', '0.5', None]
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        return text_of(values.cast(kind.value_type))
    if pa.types.is_floating(kind):
        return _float_texts(values)
    if pa.types.is_decimal(kind):
        return _format_each(values, number_text)
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return _trim_times(values)
    if is_text(kind) or any(is_kind(kind) for is_kind in _PLAIN):
        return values.cast(pa.string())
    return _format_each(
        values, lambda value: value.hex() if isinstance(value, bytes) else str(value)
    )


_PLAIN = (pa.types.is_integer, pa.types.is_boolean, pa.types.is_date, pa.types.is_null)


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type is one of the types of text."""
    return (
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def number_text(number: Decimal) -> str:
    """Return `number` without trailing zeros and without an exponent.

    >>> number_text(Decimal("30.50")), number_text(Decimal("1E+2"))
    ('30.5', '100')
    """
    text = format(number, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def yaml_number(number: Decimal) -> int | float | str:
    """Return `number` as a plain value that YAML writes back without a change."""
    if number == number.to_integral_value():
        return int(number)
    near = float(number)
    return near if Decimal(repr(near)) == number else number_text(number)


def positions(values: ArrowArray, keys: ArrowArray) -> NDArray[np.int64]:
    """Return where each value is in the distinct texts `keys`, or -1; NULL is -1 as well.

    A column of numbers or booleans also finds keys that write the same value in another way:
    the number 501 finds `00501`, true finds `TRUE`, unless two keys claim it.
    """
    texts = text_of(values)
    found = _index_texts(texts, keys)
    kind = values.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    wanted = np.flatnonzero((found < 0) & texts.is_valid().to_numpy(zero_copy_only=False))
    if not len(wanted) or not (is_number or pa.types.is_boolean(kind)):
        return found
    other = _canonical_numbers(keys) if is_number else pc.utf8_lower(keys)
    found[wanted] = _index_texts(texts.take(pa.array(wanted)), _claimed_once(other))
    return found


def _canonical_numbers(keys: ArrowArray) -> ArrowArray:
    """Return numbers without the zeros, signs and spaces that do not count; other keys as NULL."""
    texts = pc.utf8_trim_whitespace(keys)
    is_number = pc.match_substring_regex(texts, r"^[+-]?(\d+\.?\d*|\.\d+)$")
    for pattern, replacement in _NOT_COUNTING:
        texts = pc.replace_substring_regex(texts, pattern, replacement)
    return pc.if_else(is_number, texts, pa.scalar(None, pa.string()))


_NOT_COUNTING = (
    (r"^\+", ""),
    (r"^(-?)0*(\d|\.)", r"\1\2"),  # leading zeros, all but the last digit
    (r"^(-?)\.", r"\10."),
    (r"(\..*?)0+$", r"\1"),
    (r"\.$", ""),
    (r"^-0$", "0"),
)


def _claimed_once(keys: ArrowArray) -> ArrowArray:
    """Return `keys` with those that are there more than once as NULL."""
    encoded = pc.dictionary_encode(keys, null_encoding="encode")
    places = encoded.indices.to_numpy(zero_copy_only=False)
    is_alone = np.bincount(places, minlength=1)[places] == 1
    return pc.if_else(pa.array(is_alone), keys, pa.scalar(None, pa.string()))


def _index_texts(texts: ArrowArray, keys: ArrowArray) -> NDArray[np.int64]:
    found = pc.index_in(texts, value_set=keys, skip_nulls=True)
    return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)


def _format_each(values: ArrowArray, form: Callable[[Any], str]) -> ArrowArray:
    return pa.array([None if v is None else form(v) for v in values.to_pylist()], pa.string())


def _float_texts(values: ArrowArray) -> ArrowArray:
    """Return floats as their shortest text, plain up to 21 digits, then with an exponent."""
    texts = values.cast(pa.string())
    odd = pc.fill_null(pc.match_substring_regex(texts, r"e|nan|^-0$"), False)
    if not pc.any(odd).as_py():
        return texts
    return pc.replace_with_mask(texts, odd, _format_each(texts.filter(odd), _canonical_float))


def _canonical_float(text: str) -> str:
    if text == "nan":
        return "NaN"
    number = Decimal(text)
    return number_text(number) if -21 < number.adjusted() < 21 else text


def _trim_times(values: ArrowArray) -> ArrowArray:
    """Return times without trailing zeros, which only reflect the engine's precision."""
    texts = values.cast(pa.string())
    texts = pc.replace_substring_regex(texts, r"(\.\d*[1-9])0+", r"\1")
    return pc.replace_substring_regex(texts, r"\.0+([^\d]|$)", r"\1")


def span_texts(values: ArrowArray, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> ArrowArray:
    """Return `[low, high]` for pairs of codes of `values`, the value itself where both are one."""
    texts = text_of(values)
    low, high = texts.take(pa.array(lows)), texts.take(pa.array(highs))
    opened = pc.binary_join_element_wise("[", low, "")
    closed = pc.binary_join_element_wise(high, "]", "")
    spans = pc.binary_join_element_wise(opened, closed, ", ")
    return pc.if_else(pa.array(lows == highs), low, spans)
