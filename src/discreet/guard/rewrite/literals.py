"""Quoted literals with PostgreSQL's own meaning: bytes, intervals, and local timestamps."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_OCTAL = re.compile(rb"\\(\\|[0-3][0-7]{2})")
_PLUS = re.compile(r"(?<!\S)\+(?=\d)", re.ASCII)
# A timestamp without a time zone, in years that Python supports.
_NOWHERE = re.compile(
    r"\s*(\d{4})-(\d{1,2})-(\d{1,2})(?:[Tt ]\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?)?\s*",
    re.ASCII,
)


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


def plain_interval(text: str) -> str:
    """Return an interval without the commas and plus signs that only PostgreSQL accepts.

    >>> plain_interval("-1 day, 23:00:00"), plain_interval("-1 mons +1 day")
    ('-1 day  23:00:00', '-1 mons 1 day')
    """
    return _PLUS.sub("", text.replace(",", " "))


def in_zone(text: str, zone: str) -> str:
    """Return a timestamp without a zone as one in a time zone; any other text as it is.

    >>> in_zone("2024-07-01 12:00", "America/New_York"), in_zone("2024-07-01 12:00Z", "Asia/Tokyo")
    ('2024-07-01 16:00:00+00:00', '2024-07-01 12:00Z')
    """
    found = _NOWHERE.fullmatch(text)
    if found is None:
        return text
    *whole, fraction = found.groups()
    parts = [int(part or 0) for part in whole]
    try:
        part = int((fraction or "").ljust(6, "0"))
        there = datetime(*parts, microsecond=part, tzinfo=ZoneInfo(zone))
        return there.astimezone(UTC).isoformat(sep=" ")
    except (ValueError, OverflowError, OSError, ZoneInfoNotFoundError):
        return text  # the engine reports what is wrong with it
