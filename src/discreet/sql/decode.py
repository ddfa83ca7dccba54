"""Values in PostgreSQL's text or binary form, such as parameters of a client, as Python values."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal, InvalidOperation
from uuid import UUID

from discreet.errors import StatementFailed
from discreet.sql import temporal
from discreet.sql.types import CLIENT_TYPES, INTEGERS, client_type

_INTEGER = re.compile(r"\s*[+-]?\d{1,40}\s*", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,6})?\s*", re.ASCII)
_SPECIAL = re.compile(r"\s*([+-]?inf(inity)?|nan)\s*", re.ASCII | re.IGNORECASE)
_WORDS = {True: ("true", "yes", "on", "1"), False: ("false", "no", "off", "0")}
# The limit of PostgreSQL's numeric; without one, expanding 1e999999999 would fill the memory.
_DIGITS_BEFORE, _DIGITS_AFTER = 131_072, 16_383
_MALFORMED = "incorrect binary data format in bind parameter"
_OCTAL = re.compile(rb"\\(\\|[0-3][0-7]{2})")
_PLUS = re.compile(r"(?<!\S)\+(?=\d)", re.ASCII)
_TEMPORAL = ("date", "time", "timestamp", "timestamptz")


def decode_value(data: bytes | None, name: str, *, binary: bool, zone: tzinfo = UTC) -> object:
    r"""Return a value as Python has it.

    Dates and times that Python has no value for, and intervals, are texts as PostgreSQL writes
    them; arrays are lists.

    >>> decode_value(b"42", "int4", binary=False), decode_value(b"t", "bool", binary=False)
    (42, True)
    >>> decode_value(b"\x00\x00\x00\x2a", "int4", binary=True), decode_value(None, "text", binary=True)
    (42, None)

    Raises:
        StatementFailed: 22P02, 22003, 22007, 22021 or 22P03; the value is not quoted.
    """
    if data is None:
        return None
    name = name if name in CLIENT_TYPES else "text"
    if binary:
        return _from_binary(data, name)
    return _from_text(utf8(data), name, zone)


def utf8(data: bytes) -> str:
    """Return bytes as text; 22021 for invalid UTF-8 or a zero byte."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise StatementFailed("22021", 'invalid byte sequence for encoding "UTF8"') from None
    if "\0" in text:
        raise StatementFailed("22021", 'invalid byte sequence for encoding "UTF8": 0x00')
    return text


def read_bytes(text: str) -> bytes:
    r"""Return the bytes of a text in PostgreSQL's hexadecimal or escape format.

    >>> read_bytes(r"\xdead"), read_bytes(r"a\\b\001")
    (b'\xde\xad', b'a\\b\x01')

    Raises:
        ValueError: it is in neither format.
    """
    if text.startswith("\\x"):
        return bytes.fromhex(text[2:])
    raw = text.encode("utf-8")
    if b"\\" in _OCTAL.sub(b"", raw):
        raise ValueError
    return _OCTAL.sub(lambda m: b"\\" if m[1] == b"\\" else bytes([int(m[1], 8)]), raw)


def duckdb_literal(text: str, name: str) -> str:
    """Return the text of a literal of a type as DuckDB reads it.

    DuckDB rounds what PostgreSQL refuses, and ignores what follows a date or a time.

    Raises:
        StatementFailed: 22007 or 22P02 where DuckDB would read another value.
    """
    try:
        if name in _TEMPORAL:
            return temporal.duckdb_moment(text, name)
    except ValueError:
        raise _invalid_input(name) from None
    if name in INTEGERS and _NUMBER.fullmatch(text) and not _INTEGER.fullmatch(text):
        raise _invalid_input(name)
    return text


def plain_interval(text: str) -> str:
    """Return an interval without the commas and plus signs that only PostgreSQL accepts.

    >>> plain_interval("-1 day, 23:00:00"), plain_interval("-1 mons +1 day")
    ('-1 day  23:00:00', '-1 mons 1 day')
    """
    return _PLUS.sub("", text.replace(",", " "))


def _invalid_input(name: str) -> StatementFailed:
    sqlstate = "22007" if name in (*_TEMPORAL, "interval") else "22P02"
    return StatementFailed(sqlstate, f"invalid input syntax for type {client_type(name).long_name}")


def _too_large(name: str) -> StatementFailed:
    return StatementFailed("22003", f"value is out of range for type {client_type(name).long_name}")


def _from_text(text: str, name: str, zone: tzinfo) -> object:
    if name.endswith("[]"):
        return _array_from_text(text, name.removesuffix("[]"), zone)
    if name in INTEGERS:
        return _parse_integer(text, name)
    if name in _TEMPORAL:
        return _parse_temporal(text, name, zone)
    reader = _TEXT_READERS.get(name)
    if reader is None:
        return text
    try:
        return reader(text)
    except (ValueError, InvalidOperation):
        raise _invalid_input(name) from None


def _parse_integer(text: str, name: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise _invalid_input(name)
    return _require_range(int(text), name)


def _require_range(value: int, name: str) -> int:
    low, high = INTEGERS[name]
    if not low <= value <= high:
        raise _too_large(name)
    return value


def _parse_temporal(text: str, name: str, zone: tzinfo) -> object:
    try:
        if name == "time":
            return temporal.read_time(text)
        if name == "date":
            return temporal.read_date(text)
        return temporal.read_timestamp(text, zone=zone if name == "timestamptz" else None)
    except (ValueError, OverflowError):
        raise _invalid_input(name) from None


def _parse_boolean(text: str) -> bool:
    word = text.strip().lower()
    # `o` alone is ambiguous: on or off.
    fits = [value for value, words in _WORDS.items() if any(w.startswith(word) for w in words)]
    if not word or len(fits) != 1:
        raise ValueError
    return fits[0]


def _parse_float(text: str) -> float:
    if _SPECIAL.fullmatch(text):
        return float(text)
    if not _NUMBER.fullmatch(text):
        raise ValueError
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _too_large("float8")
    return value


def _parse_numeric(text: str) -> Decimal:
    if _SPECIAL.fullmatch(text):
        return Decimal(text.strip())
    if len(text) > _DIGITS_BEFORE + _DIGITS_AFTER or not _NUMBER.fullmatch(text):
        raise ValueError
    value = Decimal(text.strip())
    exponent = value.as_tuple().exponent
    if value.adjusted() >= _DIGITS_BEFORE or not isinstance(exponent, int):
        raise _too_large("numeric")
    if exponent < -_DIGITS_AFTER:
        raise _too_large("numeric")
    return value


_TEXT_READERS: dict[str, Callable[[str], object]] = {
    "bool": _parse_boolean,
    "float4": _parse_float,
    "float8": _parse_float,
    "numeric": _parse_numeric,
    "bytea": read_bytes,
    "interval": plain_interval,
    "uuid": UUID,
}


def _from_binary(data: bytes, name: str) -> object:
    if name.endswith("[]"):
        return _array_from_binary(data, name.removesuffix("[]"))
    reader = _BINARY_READERS.get(name)
    if reader is None:
        return utf8(data)
    try:
        return reader(data)
    except (struct.error, ValueError, OverflowError):
        raise StatementFailed("22P03", _MALFORMED) from None


def _unpack(layout: str) -> Callable[[bytes], object]:
    return lambda data: struct.unpack(layout, data)[0]


def _binary_boolean(data: bytes) -> bool:
    return bool(struct.unpack("!B", data)[0])


def _binary_numeric(data: bytes) -> Decimal:
    count, weight, sign, scale = struct.unpack("!HhHH", data[:8])
    if sign in (0xC000, 0xD000, 0xF000):
        return Decimal({0xC000: "NaN", 0xD000: "Infinity", 0xF000: "-Infinity"}[sign])
    digits = struct.unpack(f"!{count}H", data[8:])
    if sign not in (0, 0x4000) or any(digit > 9999 for digit in digits) or scale > _DIGITS_AFTER:
        raise ValueError
    written = "".join(f"{digit:04}" for digit in digits) or "0"
    value = Decimal((1 if sign else 0, tuple(map(int, written)), (weight + 1 - count) * 4))
    # Digits beyond the scale are zeros that fill the last group of four.
    exponent = -scale
    shown = value.as_tuple()
    drop = exponent - int(shown.exponent)
    if drop > 0:
        kept = shown.digits[:-drop] or (0,)
        return Decimal((shown.sign, kept, exponent))
    return Decimal((shown.sign, shown.digits + (0,) * -drop, exponent))


def _binary_date(data: bytes) -> date | str:
    days = struct.unpack("!i", data)[0]
    if abs(days) >= 2**31 - 1:
        return "infinity" if days > 0 else "-infinity"
    days += temporal.EPOCH_DAYS
    if temporal.FIRST_DAY <= days <= temporal.LAST_DAY:
        return date(1970, 1, 1) + timedelta(days=days)
    return temporal.date_text(days)


def _binary_time(data: bytes) -> time | str:
    return temporal.read_time(temporal.time_text(struct.unpack("!q", data)[0]))


def _binary_timestamp(data: bytes, zone: tzinfo | None = None) -> datetime | str:
    microseconds = struct.unpack("!q", data)[0]
    if abs(microseconds) >= 2**63 - 1:
        return "infinity" if microseconds > 0 else "-infinity"
    microseconds += temporal.EPOCH_MICROSECONDS
    if temporal.FIRST_MICROSECOND <= microseconds <= temporal.LAST_MICROSECOND:
        return datetime(1970, 1, 1, tzinfo=zone) + timedelta(microseconds=microseconds)
    return temporal.timestamp_text(microseconds, zone)


def _binary_interval(data: bytes) -> str:
    microseconds, days, months = struct.unpack("!qii", data)
    return plain_interval(temporal.interval_text(months, days, microseconds))


def _binary_jsonb(data: bytes) -> str:
    if data[:1] != b"\x01":
        raise ValueError
    return utf8(data[1:])


_BINARY_READERS: dict[str, Callable[[bytes], object]] = {
    "bool": _binary_boolean,
    "int2": _unpack("!h"),
    "int4": _unpack("!i"),
    "int8": _unpack("!q"),
    "oid": _unpack("!I"),
    "xid": _unpack("!I"),
    "float4": _unpack("!f"),
    "float8": _unpack("!d"),
    "numeric": _binary_numeric,
    "bytea": bytes,
    "uuid": lambda data: UUID(bytes=data),
    "date": _binary_date,
    "time": _binary_time,
    "timestamp": _binary_timestamp,
    "timestamptz": lambda data: _binary_timestamp(data, UTC),
    "interval": _binary_interval,
    "jsonb": _binary_jsonb,
}


def _array_from_binary(data: bytes, element: str) -> list[object]:
    """Return an array of one dimension; others are not supported."""
    try:
        dimensions, _, _ = struct.unpack_from("!iii", data)
        if not dimensions:
            return []
        count, _ = struct.unpack_from("!ii", data, 12)
        cells = list(_sized_cells(data, 20, min(count, len(data))))
    except (struct.error, ValueError):
        raise StatementFailed("22P03", _MALFORMED) from None
    if dimensions != 1 or count != len(cells):
        raise StatementFailed("22P03", _MALFORMED)
    return [None if cell is None else _from_binary(cell, element) for cell in cells]


def _sized_cells(data: bytes, at: int, count: int) -> Iterator[bytes | None]:
    for _ in range(count):
        (length,) = struct.unpack_from("!i", data, at)
        start, at = at + 4, at + 4 + max(length, 0)
        if length < -1 or at > len(data):
            raise ValueError
        yield None if length == -1 else data[start:at]


_ITEM = re.compile(
    r'\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",{}\\](?:[^",{}\\]*[^\s",{}\\])?))\s*', re.DOTALL
)


def array_items(text: str) -> Iterator[str | None]:
    """Return the elements of an array literal of one dimension.

    >>> list(array_items('{a,"b,c",NULL}')), list(array_items("{}"))
    (['a', 'b,c', None], [])

    Raises:
        StatementFailed: 22P02, it is malformed.
    """
    inner = text.strip()
    if not (inner.startswith("{") and inner.endswith("}")):
        raise StatementFailed("22P02", "malformed array literal")
    inner, at = inner[1:-1], 0
    if not inner.strip():
        return
    while True:
        found = _ITEM.match(inner, at)
        if found is None:
            raise StatementFailed("22P02", "malformed array literal")
        quoted, bare = found.groups()
        if quoted is not None:
            yield re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
        else:
            yield None if bare.upper() == "NULL" else bare
        at = found.end()
        if at == len(inner):
            return
        if inner[at] != ",":
            raise StatementFailed("22P02", "malformed array literal")
        at += 1


def _array_from_text(text: str, element: str, zone: tzinfo) -> list[object]:
    """Return an array of one dimension, as in `{1,NULL,"a b"}`."""
    return [None if item is None else _from_text(item, element, zone) for item in array_items(text)]
