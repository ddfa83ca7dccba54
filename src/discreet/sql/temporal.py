"""Dates, times and intervals in PostgreSQL's form, also beyond Python's calendar."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

EPOCH_DAYS = 10_957  # from 1970 to 2000, where PostgreSQL counts from
EPOCH_MICROSECONDS = EPOCH_DAYS * 86_400_000_000
DAY = 86_400_000_000
# Between these, years have four digits, and Python and Arrow support the day.
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
FIRST_MICROSECOND, LAST_MICROSECOND = FIRST_DAY * DAY, (LAST_DAY + 1) * DAY - 1
# DuckDB's value for infinity in Arrow; the negative one may be one less.
INFINITE_DAYS, INFINITE_MICROSECONDS = 2**31 - 1, 2**63 - 1
# No timestamp needs more letters; the patterns are slow on many blanks.
LONGEST = 64

_MOMENT = re.compile(
    r"\s*(?P<year>\d{4,6})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"(?:[T ]\s*(?P<time>\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?))?"
    r"\s*(?P<zone>Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2}(?::\d{2})?)?)?(?P<era>\s+BC)?\s*",
    re.ASCII | re.IGNORECASE,
)
_TIME = re.compile(
    r"\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?\s*([+-]\d{1,2}(?::?\d{2})?)?\s*", re.ASCII
)
_SLASHES = re.compile(r"^(\s*\d{4,6})/(\d{1,2})/", re.ASCII)
_OFFSET = re.compile(r"([+-])(\d{1,2}):?(\d{2})?(?::(\d{2}))?")


def zone_named(name: str) -> tzinfo:
    """Return a time zone; UTC if it is unknown."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def civil_date(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a number of days since 1970, for any year (Hinnant 2013).

    >>> civil_date(0), civil_date(-719529), civil_date(3_000_000)
    ((1970, 1, 1), (-1, 12, 31), (10183, 9, 21))
    """
    days += 719_468
    era, day_of_era = divmod(days, 146_097)
    year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    year = year_of_era + era * 400 + (month <= 2)
    return year, month, day_of_year - (153 * shifted + 2) // 5 + 1


def date_text(days: int) -> str:
    """Return a date as PostgreSQL writes it.

    >>> date_text(0), date_text(-719529), date_text(INFINITE_DAYS)
    ('1970-01-01', '0002-12-31 BC', 'infinity')
    """
    if abs(days) >= INFINITE_DAYS:
        return "infinity" if days > 0 else "-infinity"
    year, month, day = civil_date(days)
    shown, era = (year, "") if year > 0 else (1 - year, " BC")
    return f"{shown:04}-{month:02}-{day:02}{era}"


def time_text(microseconds: int) -> str:
    """Return a time of day, or a duration, without trailing zeros.

    >>> time_text(43_200_000_000), time_text(1_500_000), time_text(86_400_000_000)
    ('12:00:00', '00:00:01.5', '24:00:00')
    """
    seconds, fraction = divmod(microseconds, 1_000_000)
    whole = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{whole}.{fraction:06}".rstrip("0") if fraction else whole


def offset_text(seconds: int) -> str:
    """Return an offset from UTC as PostgreSQL writes it.

    >>> offset_text(0), offset_text(-12_600), offset_text(3600)
    ('+00', '-03:30', '+01')
    """
    sign, seconds = ("-" if seconds < 0 else "+"), abs(seconds)
    hours, minutes, rest = seconds // 3600, seconds // 60 % 60, seconds % 60
    text = f"{sign}{hours:02}"
    if minutes or rest:
        text += f":{minutes:02}"
    return f"{text}:{rest:02}" if rest else text


def timestamp_text(microseconds: int, zone: tzinfo | None = None) -> str:
    """Return a timestamp; with `zone`, in local time there with its offset from UTC.

    >>> timestamp_text(1_500_000), timestamp_text(0, UTC)
    ('1970-01-01 00:00:01.5', '1970-01-01 00:00:00+00')
    """
    if abs(microseconds) >= INFINITE_MICROSECONDS:
        return "infinity" if microseconds > 0 else "-infinity"
    suffix = ""
    if zone is not None:
        offset = 0
        if FIRST_MICROSECOND + DAY < microseconds < LAST_MICROSECOND - DAY:
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
            offset = int((moment.astimezone(zone).utcoffset() or timedelta()).total_seconds())
        microseconds += offset * 1_000_000
        suffix = offset_text(offset)
    days, rest = divmod(microseconds, DAY)
    text = date_text(days)
    era = " BC" if text.endswith(" BC") else ""
    return f"{text.removesuffix(' BC')} {time_text(rest)}{suffix}{era}"


def interval_text(months: int, days: int, microseconds: int) -> str:
    """Return an interval in PostgreSQL's own style.

    >>> interval_text(14, 3, 3_723_500_000), interval_text(0, 0, 0), interval_text(-1, 1, -1)
    ('1 year 2 mons 3 days 01:02:03.5', '00:00:00', '-1 mons +1 day -00:00:00.000001')
    """
    years = abs(months) // 12 * (-1 if months < 0 else 1)
    parts: list[str] = []
    was_negative = False
    for amount, unit in ((years, "year"), (months - years * 12, "mon"), (days, "day")):
        if amount:
            sign = "+" if was_negative and amount > 0 else ""
            parts.append(f"{sign}{amount} {unit}{'' if amount == 1 else 's'}")
            was_negative = amount < 0
    if microseconds or not parts:
        sign = "-" if microseconds < 0 else "+" if was_negative else ""
        parts.append(sign + time_text(abs(microseconds)))
    return " ".join(parts)


def _parse_offset(text: str) -> timezone:
    found = _OFFSET.fullmatch(text)
    if found is None:
        return UTC
    sign, hours, minutes, seconds = found.groups()
    distance = timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
    return timezone(-distance if sign == "-" else distance)


def read_time(text: str) -> time | str:
    """Return a time of day; 24:00:00 stays text, since Python lacks it.

    Raises:
        ValueError: it is not a time.
    """
    found = _TIME.fullmatch(text) if len(text) <= LONGEST else None
    if found is None:
        raise ValueError
    hours, minutes, seconds, fraction, _ = found.groups()
    if int(hours) == 24 and not int(minutes) and not int(seconds or 0) and not int(fraction or 0):
        return "24:00:00"
    return time(
        int(hours), int(minutes), int(seconds or 0), int((fraction or "").ljust(6, "0")[:6])
    )


def _read(text: str) -> re.Match[str] | str:
    """Return the parts of a timestamp, or its text where Python's calendar cannot hold it."""
    word = text.strip().lower()
    if word in ("infinity", "-infinity", "epoch"):
        return word
    found = _MOMENT.fullmatch(text) if len(text) <= LONGEST else None
    if found is None:
        raise ValueError
    return text.strip() if found["era"] or int(found["year"]) > 9999 else found


def read_date(text: str) -> date | str:
    """Return a date; infinity and years that Python lacks stay text.

    Raises:
        ValueError: it is not a date.
    """
    found = _read(text)
    if isinstance(found, str):
        return found
    return date(int(found["year"]), int(found["month"]), int(found["day"]))


def read_timestamp(text: str, *, zone: tzinfo | None) -> datetime | str:
    """Return a timestamp; with `zone` one with time zone, which is `zone` unless it has one.

    Raises:
        ValueError: it is not a timestamp.
    """
    found = _read(text)
    if isinstance(found, str):
        return found
    clock = read_time(found["time"] or "00:00")
    if isinstance(clock, str):
        moment = datetime.combine(read_day(found), time()) + timedelta(days=1)
    else:
        moment = datetime.combine(read_day(found), clock)
    if zone is None:
        return moment
    return moment.replace(tzinfo=_parse_offset(found["zone"]) if found["zone"] else zone)


def read_day(found: re.Match[str]) -> date:
    """Return the day of a parsed timestamp."""
    return date(int(found["year"]), int(found["month"]), int(found["day"]))


def duckdb_moment(text: str, kind: str) -> str:
    """Return a literal date, time or timestamp as DuckDB reads it.

    DuckDB takes the beginning of a text for a date or a time and ignores the rest: 44 BC would be the
    year 44, and ten in the evening ten in the morning.

    >>> duckdb_moment("0044-03-15 BC", "date"), duckdb_moment("0044-03-15 10:00 BC", "timestamp")
    ('0044-03-15 (BC)', '0044-03-15 (BC) 10:00')

    Raises:
        ValueError: it is not a date or a time of a form that is read here.
    """
    if kind == "time":
        read_time(text)
        return text
    found = (
        _read(_SLASHES.sub(r"\1-\2-", text))
        if kind == "date"
        else _MOMENT.fullmatch(text[:LONGEST])
    )
    if isinstance(found, str):  # infinity, or years that Python lacks
        found = _MOMENT.fullmatch(found)
    if found is None:
        return text  # a word, or a timestamp, which DuckDB reads whole
    day = f"{found['year']}-{found['month']}-{found['day']}{' (BC)' if found['era'] else ''}"
    if kind != "date":
        rest = f"{found['time'] or '00:00'}{found['zone'] or ''}"
        return f"{day} {rest}" if found["era"] else text
    if (found["time"] or "").startswith("24"):
        raise ValueError
    return day


# A timestamp without a time zone, in years that Python supports.
_NOWHERE = re.compile(
    r"\s*(\d{4})-(\d{1,2})-(\d{1,2})(?:[Tt ]\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?)?\s*",
    re.ASCII,
)


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
