"""Dates as people write them: days, and the periods that labels such as `1967-Q3` stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from discreet.arrow import ArrowArray
from discreet.policy.hierarchies.values import text_of

_EPOCH = date(1970, 1, 1).toordinal()
_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: number for number, name in enumerate(_NAMES, start=1)}
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ]\d{1,2}:.*)?")
_SLASHED = re.compile(r"(\d{1,2})[/.-](\d{1,2})[/.-](\d{2}|\d{4})")
_YEAR_FIRST = re.compile(r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})")
_NAMED = re.compile(r"(?:(\d{1,2})[ -])?([A-Za-z]{3,9})[. -]*(?:(\d{1,2}),? )?(\d{4})")
_MONTH = re.compile(r"(\d{4})[-/](\d{1,2})|(\d{1,2})[/.](\d{4})")
_QUARTER = re.compile(r"(\d{4})[- ]?Q([1-4])|Q([1-4])[-/ ](\d{4})", re.IGNORECASE)
_YEAR = re.compile(r"\d{4}")
_DECADE = re.compile(r"(\d{3}0)'?s")


def read_days(
    values: ArrowArray, *, beside: ArrowArray | None = None
) -> NDArray[np.float64] | None:
    """Return texts as days since 1970, or None when one of them is no date; NULL is NaN.

    Whether 9/7 is in September or July is read from `values` and `beside` together, as is the
    century of a year of two digits: the last one that is not later than what is written in full.

    >>> import pyarrow as pa
    >>> read_days(pa.array(["9/7/67", "9/21/1968"])).tolist()
    [-847.0, -467.0]
    """
    texts: list[str | None] = text_of(values).to_pylist()
    others: list[str | None] = [] if beside is None else text_of(beside).to_pylist()
    form = _form_of([text for text in (*texts, *others) if text is not None])
    days = [np.nan if text is None else _parse_day(text.strip(), form) for text in texts]
    return None if any(day is None for day in days) else np.array(days, np.float64)


def read_period(text: str) -> tuple[float, float] | None:
    """Return the first day of a date or period and the first day after it, or None.

    >>> read_period("1967-Q3"), read_period("1960s")
    ((-915.0, -823.0), (-3653.0, 0.0))
    """
    text = text.strip()
    if found := _DECADE.fullmatch(text):
        return _month_span(int(found[1]), 1, 120)
    if _YEAR.fullmatch(text):
        return _month_span(int(text), 1, 12)
    if found := _QUARTER.fullmatch(text):
        year, quarter = (found[1], found[2]) if found[1] else (found[4], found[3])
        return _month_span(int(year), int(quarter) * 3 - 2, 3)
    if found := _MONTH.fullmatch(text):
        year, month = (found[1], found[2]) if found[1] else (found[4], found[3])
        return _month_span(int(year), int(month), 1)
    if (found := _NAMED.fullmatch(text)) and not (found[1] or found[3]):
        return _month_span(int(found[4]), _MONTHS.get(found[2][:3].lower(), 0), 1)
    day = _parse_day(text, _form_of([text]))
    return None if day is None else (day, day + 1)


def _form_of(texts: Sequence[str]) -> tuple[bool, int]:
    """Return whether the day comes first in texts like 9/7/67, and the latest year there is."""
    slashed = [found for text in texts if (found := _SLASHED.fullmatch(text.strip()))]
    is_day_first = any(int(found[1]) > 12 for found in slashed)
    # Points stand between days and months where the day comes first, unless a month would be 13.
    if not is_day_first and slashed and all("." in found[0] for found in slashed):
        is_day_first = all(int(found[2]) <= 12 for found in slashed)
    years = [int(found[3]) for found in slashed if len(found[3]) == 4]
    years += _full_years(texts)
    return is_day_first, max(years, default=2029)


def _full_years(texts: Iterable[str]) -> list[int]:
    found = (_ISO.fullmatch(text.strip()) or _YEAR_FIRST.fullmatch(text.strip()) for text in texts)
    return [int(one[1]) for one in found if one]


def _parse_day(text: str, form: tuple[bool, int]) -> float | None:
    if found := _ISO.fullmatch(text) or _YEAR_FIRST.fullmatch(text):
        return _day_number(int(found[1]), int(found[2]), int(found[3]))
    if found := _SLASHED.fullmatch(text):
        is_day_first, latest = form
        month, day = (found[2], found[1]) if is_day_first else (found[1], found[2])
        year = int(found[3])
        if len(found[3]) == 2:
            year = latest - (latest - year) % 100
        return _day_number(year, int(month), int(day))
    if (found := _NAMED.fullmatch(text)) and (found[1] or found[3]):
        month = _MONTHS.get(found[2][:3].lower(), 0)
        return _day_number(int(found[4]), month, int(found[1] or found[3]))
    return None


def _day_number(year: int, month: int, day: int) -> float | None:
    try:
        return float(date(year, month, day).toordinal() - _EPOCH)
    except ValueError:
        return None


def _month_span(year: int, month: int, count: int) -> tuple[float, float] | None:
    if not 1 <= month <= 12:
        return None
    after = year * 12 + month - 1 + count
    start, end = _day_number(year, month, 1), _day_number(after // 12, after % 12 + 1, 1)
    return None if start is None or end is None else (start, end)
