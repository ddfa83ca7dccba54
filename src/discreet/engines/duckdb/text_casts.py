"""Which texts DuckDB reads as PostgreSQL does when they are cast to a type; all others are refused.

DuckDB ignores what follows a date or a time, rounds `1.5` to an integer, and has the years 0 and 24.
Each pattern has one group: the part of the text that is cast.
"""

from __future__ import annotations

from collections.abc import Mapping

_YEAR = r"(?:[1-9]\d{3,5}|0[1-9]\d{2,4}|00[1-9]\d{1,3}|000[1-9]\d{0,2})"
_DATE = "(?:" + "|".join(rf"{_YEAR}{by}\d{{1,2}}{by}\d{{1,2}}" for by in "-/ ") + ")"
_TIME = r"(?:(?:[01]?\d|2[0-3]):[0-5]?\d(?::(?:[0-5]?\d|60)(?:\.\d+)?)?|24:00(?::00(?:\.0+)?)?)"
_ZONE = r"(?:\s*(?:Z|UTC|GMT|[+-](?:0?\d|1[0-5])(?::?[0-5]\d(?::[0-5]\d)?)?))"
_PLACE = r"(?:\s+[a-z_]+(?:/[a-z_]+)+)"
_ENDLESS = r"-?infinity|epoch"
_INTEGER = r"\s*([+-]?(?:\d+(?:_\d+)*|0x[0-9a-f]+|0b[01]+))\s*"
_FLOAT = r"\s*([+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|nan|inf(?:inity)?))\s*"
_CLOCK = r"[+-]?\d+:\d{1,2}(?::\d{1,2}(?:\.\d+)?)?"

_PATTERNS = {
    "date": rf"\s*({_DATE}|{_ENDLESS})(?:[T ]\s*{_TIME})?{_ZONE}?\s*",
    "timestamp": rf"\s*({_DATE}(?:[T ]\s*{_TIME})?{_ZONE}?|{_ENDLESS})\s*",
    "timestamptz": rf"\s*({_DATE}(?:[T ]\s*{_TIME})?(?:{_ZONE}|{_PLACE})?|{_ENDLESS})\s*",
    "time": rf"\s*(?:{_DATE} \s*)?({_TIME}){_ZONE}?\s*",
    "interval": rf"\s*([^:]*|(?:[^:]*\s)?{_CLOCK}(?:\s+ago)?)\s*",
    **dict.fromkeys(("int2", "int4", "int8"), _INTEGER),
    **dict.fromkeys(("float4", "float8"), _FLOAT),
}
TEXT_PATTERNS: Mapping[str, str] = {
    name: f"(?is)^{pattern}$" for name, pattern in _PATTERNS.items()
}
