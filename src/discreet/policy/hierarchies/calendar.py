"""Dates made coarser: day, month, quarter, year, decade."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc
from discreet.errors import InvalidHierarchy
from discreet.policy.hierarchies.values import is_text
from discreet.policy.hierarchy import edge_labels, missing_values

# Weeks do not nest in months or years, so they are left out.
Period = Literal["day", "month", "quarter", "year", "decade"]
PERIODS: tuple[Period, ...] = get_args(Period)

_ISO = r"^(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})(?:[T ][0-9:.,]+ ?(?:Z|[+-][0-9:]+)?)?$"
_DAYS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


@dataclass(frozen=True)
class Calendar:
    """Ever longer periods: `1967-09-21`, `1967-09`, `1967-Q3`, `1967`, `1960s`.

    Reads dates, timestamps, and text that begins with an ISO date.

    >>> Calendar(("year",)).generalize(pa.array(["1967-09-21"]), 1).to_pylist()
    ['1967']
    """

    periods: tuple[Period, ...]

    def __post_init__(self) -> None:
        """Refuse unknown periods and periods that do not get longer."""
        ranks = [PERIODS.index(period) for period in self.periods if period in PERIODS]
        if not ranks or len(ranks) < len(self.periods):
            raise InvalidHierarchy(f"A calendar is made of: {', '.join(PERIODS)}.")
        if any(coarse <= fine for fine, coarse in pairwise(ranks)):
            raise InvalidHierarchy(
                f"Periods must get longer from level to level, in this order: {', '.join(PERIODS)}."
            )

    @property
    def height(self) -> int:
        """One level per period, and `*`."""
        return len(self.periods) + 1

    def generalize(self, values: ArrowArray, level: int) -> ArrowArray:
        """Return the period that each date falls into."""
        edge = edge_labels(values, level, height=self.height)
        if edge is not None:
            return edge
        days = _read(values)
        if days.is_other.any():
            missed = values.filter(pa.array(days.is_other))
            raise missing_values(missed, of=values, where="The hierarchy")
        period = self.periods[level - 1]
        numbers, inverse = np.unique(_number_periods(days, period), return_inverse=True)
        labels = pa.array([period_label(int(number), period) for number in numbers], pa.string())
        return labels.take(pa.array(inverse.astype(np.int64), mask=days.is_null))

    def misses(self, values: ArrowArray) -> ArrowArray:
        """Return the values that are no dates."""
        return values.filter(pa.array(_read(values).is_other))

    def to_yaml_value(self) -> dict[str, Any]:
        """Return `{calendar: [month, year]}`."""
        return {"calendar": list(self.periods)}


@dataclass(frozen=True)
class _Days:
    year: NDArray[np.int64]
    month: NDArray[np.int64]
    day: NDArray[np.int64]
    is_null: NDArray[np.bool_]
    is_other: NDArray[np.bool_]


def _read(values: ArrowArray) -> _Days:
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _read(values.cast(kind.value_type))
    is_null = values.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        year, month, day = (_to_integers(part(values)) for part in (pc.year, pc.month, pc.day))
        return _Days(year, month, day, is_null, np.zeros(len(values), np.bool_))
    if not is_text(kind):
        nothing = np.zeros(len(values), np.int64)
        return _Days(nothing, nothing, nothing, is_null, ~is_null)
    fields = pc.extract_regex(values.cast(pa.string()), _ISO)
    year, month, day = (
        _to_integers(pc.struct_field(fields, name).cast(pa.int64()))
        for name in ("year", "month", "day")
    )
    is_leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    in_month = np.where(month <= 12, _DAYS[np.minimum(month, 12)], 0) + (is_leap & (month == 2))
    return _Days(year, month, day, is_null, ~is_null & ~((day >= 1) & (day <= in_month)))


def _to_integers(numbers: ArrowArray) -> NDArray[np.int64]:
    return pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False).astype(np.int64)


def _number_periods(days: _Days, period: Period) -> NDArray[np.int64]:
    """Return one number per period, from which `period_label` makes its name."""
    months = days.year * 12 + days.month - 1
    match period:
        case "day":
            return months * 31 + days.day - 1
        case "month":
            return months
        case "quarter":
            return months // 3
        case "year":
            return days.year
        case "decade":
            return days.year // 10


def period_label(number: int, period: Period) -> str:
    """Return the name of a period by its number since the year 0; each month has 31 days here.

    >>> period_label(1967 * 4 + 2, "quarter"), period_label(196, "decade")
    ('1967-Q3', '1960s')
    """
    match period:
        case "day":
            return f"{period_label(number // 31, 'month')}-{number % 31 + 1:02d}"
        case "month":
            return f"{number // 12:04d}-{number % 12 + 1:02d}"
        case "quarter":
            return f"{number // 4:04d}-Q{number % 4 + 1}"
        case "year":
            return f"{number:04d}"
        case "decade":
            return f"{number * 10:04d}s"
