"""Columns of numbers, dates and times: bins of a public range, found by arithmetic."""

from __future__ import annotations

import datetime as dt
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.random import Generator
from numpy.typing import NDArray
from sqlglot import exp

from discreet.arrow import ArrowArray, pc
from discreet.domain.cell_expressions import (
    comparable_cell,
    missing_condition,
    value_literal,
)
from discreet.domain.listed_values import number_of
from discreet.engines.engine import Kind
from discreet.sql import build
from discreet.sql.search import search_cases

Unit = Literal["whole", "real", "minute", "hour", "day", "month"]
# Whole numbers up to so many have a code each; more, and real numbers, are put into about so many bins.
# Every code costs: a wide column takes its share of the budget from all others.
MOST_NUMBERS, BINS = 400, 100
# Dates and times have the finest period with at most so many codes.
MOST_PERIODS = 400
_WEEK = 7
_MONTHS = (1, 3, 12, 120)  # month, quarter, year, decade
_FARTHEST = {"whole": 2**62, "real": 1e300}
_SECONDS = {"minute": 60, "hour": 3600, "day": 86_400}
_EPOCH = dt.date(1970, 1, 1)
_DAY = 86_400
_TIME_WIDTH = 15  # minutes
_MOST_DIGITS = 15
_NEAR_ZERO = 3  # decades below the width of a bin in which small numbers are kept apart


@dataclass(frozen=True)
class RangePart:
    """Bins of equal width from `low` up to, but not including, `high`; the last may be narrower."""

    low: float
    high: float
    width: float

    @property
    def bins(self) -> int:
        """How many bins there are."""
        if isinstance(self.low, int) and isinstance(self.width, int):
            return int(-((self.low - self.high) // self.width))
        return max(1, math.ceil((self.high - self.low) / self.width - 1e-9))


@dataclass(frozen=True)
class BinnedRange:
    """Bins between two bounds, both within; what is beyond counts as the bound.

    Attributes:
        kind: What the values are.
        unit: What the bins are counted in. Dates and times are counted in whole units: months since
            the year 0, days, hours or minutes since 1970, or of the day.
        low: The smallest value.
        high: The largest value.
        parts: The bins, in order and without gaps.
        digits: The decimals of real numbers; more where a bin is narrower.
        type_name: The engine's type of the column.
    """

    kind: Kind
    unit: Unit
    low: Any
    high: Any
    parts: tuple[RangePart, ...]
    digits: int = 0
    type_name: str = ""

    is_ordered = True

    @cached_property
    def size(self) -> int:
        """How many bins there are."""
        return sum(part.bins for part in self.parts)

    @cached_property
    def starts(self) -> NDArray[Any]:
        """The first unit of each bin, and the end of the last one."""
        made: list[float] = []
        for part in self.parts:
            made += [part.low + place * part.width for place in range(part.bins)]
        kind = np.float64 if self.unit == "real" else np.int64
        return np.array([*made, self.parts[-1].high], kind)

    # -- on an engine

    def code(self, cell: exp.Expr, *, missing: int) -> exp.Expr:
        """Return the bin of a cell; `missing` where there is no value."""
        value = comparable_cell(cell, self.kind, self.type_name)
        none = exp.If(this=missing_condition(value, self.kind), true=build.number(missing))
        if self.unit in _FARTHEST:
            return exp.Case(ifs=[none], default=self._search_parts(value))
        if self.kind is Kind.TIME:  # 24:00, which some engines have, counts as the last minute
            minutes = exp.Least(this=self._count_units(value), expressions=[build.number(1439)])
            return exp.Case(ifs=[none], default=self._search_parts(minutes))
        low, high = (value_literal(end, self.kind) for end in (self.low, self.high))
        below = exp.If(this=exp.LTE(this=value.copy(), expression=low), true=build.number(0))
        above = exp.GTE(this=value.copy(), expression=high)
        last = exp.If(this=above, true=build.number(self.size - 1))
        units = self._count_units(value)
        return exp.Case(ifs=[none, below, last], default=self._search_parts(units))

    def _search_parts(self, value: exp.Expr) -> exp.Expr:
        firsts = np.cumsum([0, *(part.bins for part in self.parts)])
        kind = Kind.REAL if self.unit == "real" else Kind.INTEGER
        leaves = [
            _bin_within(value, part, int(first), kind)
            for part, first in zip(self.parts, firsts, strict=False)
        ]
        if self.unit == "whole":
            leaves[0] = _clamp_bin(value, exp.LTE, self.low, 0, leaves[0])
            leaves[-1] = _clamp_bin(value, exp.GTE, self.high, self.size - 1, leaves[-1])
        starts = [value_literal(part.low, kind) for part in self.parts[1:]]
        return search_cases(value, starts, leaves)

    def _count_units(self, value: exp.Expr) -> exp.Expr:
        """Return a date or time within the bounds as whole units."""
        if self.unit == "month":
            return _add_terms(
                _multiply_units(_extract_part("YEAR", value), 12), _extract_part("MONTH", value), -1
            )
        if self.kind is Kind.TIME:
            days = None
        else:
            day = value if self.kind is Kind.DATE else exp.cast(value.copy(), "DATE")
            days = exp.cast(
                exp.DateDiff(
                    this=day.copy(),
                    expression=value_literal(_EPOCH, Kind.DATE),
                    unit=exp.var("DAY"),
                ),
                "BIGINT",
            )
        if self.unit == "day" and days is not None:
            return days
        hours = _extract_part("HOUR", value)
        hours = hours if days is None else _add_terms(_multiply_units(days, 24), hours)
        return (
            hours
            if self.unit == "hour"
            else _add_terms(_multiply_units(hours, 60), _extract_part("MINUTE", value))
        )

    # -- in Python

    def encode(self, values: ArrowArray, *, missing: int) -> NDArray[np.int32]:
        """Return the bins of values in Python, as `code` does on an engine."""
        is_null = values.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
        units = self._units_of(values)
        codes = self._bins_of(units)
        return np.where(is_null, np.int32(missing), codes.astype(np.int32))

    def _units_of(self, values: ArrowArray) -> NDArray[Any]:
        if self.unit == "real":
            numbers = pc.fill_null(values.cast(pa.float64()), 0.0)
            return np.nan_to_num(numbers.to_numpy(zero_copy_only=False), nan=0.0)
        if self.unit == "whole":
            numbers = pc.fill_null(values, 0)
            if pa.types.is_signed_integer(numbers.type):
                cells = numbers.to_numpy(zero_copy_only=False).astype(np.int64)
                return np.clip(cells, self.low, self.high)
            return np.array(
                [min(max(one, self.low), self.high) for one in numbers.to_pylist()], np.int64
            )
        low, high = _second_of(self.low), _second_of(self.high)
        seconds = np.clip(_seconds_of(values, self.kind), low, high)
        if self.unit != "month":
            return seconds // _SECONDS[self.unit]
        months = (seconds // _DAY).astype("datetime64[D]").astype("datetime64[M]")
        return months.astype(np.int64) + 1970 * 12

    def _bins_of(self, units: NDArray[Any]) -> NDArray[np.int64]:
        if self.unit != "real":
            places = np.searchsorted(self.starts[:-1], units, side="right") - 1
            return np.clip(places, 0, self.size - 1).astype(np.int64)
        lows = np.array([part.low for part in self.parts])
        firsts = np.cumsum([0, *(part.bins for part in self.parts)])
        widths = np.array([part.width for part in self.parts])
        counts = np.array([part.bins for part in self.parts])
        places = np.clip(np.searchsorted(lows, units, side="right") - 1, 0, len(lows) - 1)
        with np.errstate(over="ignore", invalid="ignore"):
            inside = np.floor((units - lows[places]) / widths[places])
        is_first = (units < lows[places] + widths[places]) | (counts[places] == 1)
        inside = np.where(is_first, 0, np.minimum(inside, counts[places] - 1))
        return firsts[places] + inside.astype(np.int64)

    def decode(self, codes: NDArray[np.integer[Any]], chance: Generator) -> ArrowArray:
        """Return a value of each bin, drawn evenly from it."""
        if self.unit == "real":
            return pa.array(self._draw_reals(codes.astype(np.int64), chance))
        firsts, ends = self._value_edges
        drawn = chance.integers(firsts[codes], ends[codes])
        return _from_counts(drawn, self.kind)

    def representatives(self) -> tuple[ArrowArray, ArrowArray]:
        """Return the first and the last value of each bin."""
        if self.unit == "real":
            last = np.nextafter(self.starts[1:], -np.inf)
            return pa.array(self.starts[:-1]), pa.array(np.maximum(last, self.starts[:-1]))
        firsts, ends = self._value_edges
        return _from_counts(firsts, self.kind), _from_counts(ends - 1, self.kind)

    @cached_property
    def _value_edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each bin its first whole value and the one after its last: numbers, days or seconds."""
        if self.unit == "whole":
            return self.starts[:-1], self.starts[1:]
        if self.unit == "month":
            months = (self.starts - 1970 * 12).astype("datetime64[M]").astype("datetime64[D]")
            edges = months.astype(np.int64) * (1 if self.kind is Kind.DATE else _DAY)
        else:
            edges = self.starts * (1 if self.kind is Kind.DATE else _SECONDS[self.unit])
        scale = _DAY if self.kind is Kind.DATE else 1
        low, high = _second_of(self.low) // scale, _second_of(self.high) // scale
        return np.maximum(edges[:-1], low), np.minimum(edges[1:], high + 1)

    @cached_property
    def ends(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The first and the last number of each bin: numbers, days, or seconds."""
        if self.unit == "real":
            last = np.nextafter(self.starts[1:], -np.inf)
            return self.starts[:-1], np.minimum(
                np.maximum(last, self.starts[:-1]), float(self.high)
            )
        firsts, ends = self._value_edges
        return firsts.astype(float), (ends - 1).astype(float)

    def find_code(self, value: Any) -> int:
        """Return the bin of a value, -1 beyond the bounds."""
        return int(self.bins_of(np.array([number_of(value)]))[0])

    def bins_of(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the bin of each number, day or second; -1 beyond the bounds."""
        firsts, lasts = self.ends
        found = np.clip(np.searchsorted(firsts, numbers, side="right") - 1, 0, self.size - 1)
        return np.where((numbers < firsts[0]) | (numbers > lasts[-1]), -1, found)

    def _draw_reals(self, codes: NDArray[np.int64], chance: Generator) -> NDArray[np.float64]:
        starts, ends = self.starts[:-1][codes], self.starts[1:][codes]
        ends = np.minimum(ends, float(self.high))
        drawn = starts + chance.random(len(codes)) * (ends - starts)
        for other in ((starts + ends) / 2, starts):
            drawn = np.where(self._bins_of(drawn) == codes, drawn, other)
        spread = np.maximum(ends - starts, 1e-18)
        digits = np.maximum(self.digits, 2 - np.floor(np.log10(spread))).astype(np.int64)
        if (
            self.kind is Kind.DECIMAL and "(" in self.type_name
        ):  # such a column holds no more of them
            digits[:] = self.digits
        # Rounding may lead over an edge: then down, then up, then not at all.
        result = drawn
        for rounding in (np.ceil, np.floor, np.rint):
            rounded = drawn.copy()
            for one in np.unique(digits[digits <= _MOST_DIGITS]):
                some = digits == one
                rounded[some] = rounding(drawn[some] * 10.0**one) / 10.0**one
            result = np.where(self._bins_of(rounded) == codes, rounded, result)
        return result

    # -- as content

    def to_content(self) -> dict[str, Any]:
        """Return all of it in plain values."""
        low, high = (
            end if isinstance(end, (int, float)) else end.isoformat()
            for end in (self.low, self.high)
        )
        parts = [[part.low, part.high, part.width] for part in self.parts]
        return {"unit": self.unit, "bounds": [low, high], "parts": parts, "digits": self.digits}

    @staticmethod
    def from_content(content: dict[str, Any], kind: Kind, type_name: str) -> BinnedRange:
        """Return what `to_content` wrote; raises `ValueError` for anything else."""
        unit: Unit = content["unit"]
        low, high = (_read_end(end, kind) for end in content["bounds"])
        number = float if unit == "real" else int
        parts = tuple(RangePart(*(number(one) for one in part)) for part in content["parts"])
        found = BinnedRange(kind, unit, low, high, parts, int(content["digits"]), type_name)
        is_whole = all(part.low < part.high and part.width > 0 for part in parts)
        has_gap = any(a.high != b.low for a, b in pairwise(parts))
        if unit not in _UNITS[kind] or not parts or not is_whole or has_gap or found.size > 2**20:
            raise ValueError("its bins are not those of a range")
        if not low <= high or (unit == "whole" and not -(2**63) <= low <= high < 2**63):
            raise ValueError("its bounds are not those of numbers")
        return found


_UNITS: dict[Kind, tuple[str, ...]] = {
    Kind.INTEGER: ("whole",),
    Kind.REAL: ("real",),
    Kind.DECIMAL: ("real",),
    Kind.DATE: ("day", "month"),
    Kind.TIMESTAMP: ("minute", "hour", "day", "month"),
    Kind.TIME: ("minute",),
}


def _read_end(written: Any, kind: Kind) -> Any:
    match kind:
        case Kind.DATE:
            return dt.date.fromisoformat(written)
        case Kind.TIMESTAMP:
            return dt.datetime.fromisoformat(written)
        case Kind.TIME:
            return dt.time.fromisoformat(written)
        case Kind.INTEGER:
            return int(written)
        case _:
            return float(written)


# -- public ranges


def bin_whole_numbers(
    low: Decimal, high: Decimal, *, edges: Iterable[Decimal] = (), type_name: str = ""
) -> BinnedRange | None:
    """Return the codes of whole numbers between two bounds, None if there is none.

    Up to 400 numbers have a code each. More are put into about 100 bins whose width is 1, 2 or 5
    times a power of ten; both bounds and 0 have a bin of their own, and numbers near 0 narrow ones.
    `edges` are those of a hierarchy, which bins then keep to.
    """
    farthest = int(_FARTHEST["whole"])
    first = max(-farthest, math.ceil(low))
    last = min(farthest, math.floor(high))
    if first > last:
        return None
    if last - first < MOST_NUMBERS:
        parts = (RangePart(first, last + 1, 1),)
    else:
        kept = sorted({math.ceil(one) for one in edges if first < one <= last})
        parts = tuple(
            _divide_range(
                Decimal(first), Decimal(last), [Decimal(one) for one in kept], is_whole=True
            )
        )
    return BinnedRange(Kind.INTEGER, "whole", first, last, parts, type_name=type_name)


def bin_real_numbers(
    low: Decimal,
    high: Decimal,
    *,
    kind: Kind,
    digits: int,
    edges: Iterable[Decimal] = (),
    type_name: str = "",
) -> BinnedRange:
    """Return about 100 bins of the numbers between two bounds, laid out as those of whole numbers."""
    farthest = Decimal(_FARTHEST["real"])
    first, last = max(-farthest, low), min(farthest, high)
    kept = sorted({one for one in edges if first < one < last})
    parts = tuple(_divide_range(first, last, kept, is_whole=False))
    return BinnedRange(kind, "real", float(first), float(last), parts, digits, type_name)


def bin_dates(
    low: dt.date, high: dt.date, *, has_weeks: bool = True, type_name: str = ""
) -> BinnedRange:
    """Return days, or weeks, months, quarters, years or decades where these would be too many."""
    first, last = (low - _EPOCH).days, (high - _EPOCH).days
    for width in (1, _WEEK) if has_weeks else (1,):
        part = RangePart(first, last + 1, width)
        if part.bins <= MOST_PERIODS:
            return BinnedRange(Kind.DATE, "day", low, high, (part,), type_name=type_name)
    part = _divide_months(low, high)
    return BinnedRange(Kind.DATE, "month", low, high, (part,), type_name=type_name)


def bin_timestamps(
    low: dt.datetime, high: dt.datetime, *, has_weeks: bool = True, type_name: str = ""
) -> BinnedRange:
    """Return minutes, hours, days or weeks, or months and longer where these would be too many."""
    first, last = _second_of(low), _second_of(high)
    units: list[tuple[Unit, int]] = [("minute", 1), ("hour", 1), ("day", 1), ("day", _WEEK)]
    for unit, width in units if has_weeks else units[:-1]:
        part = RangePart(first // _SECONDS[unit], last // _SECONDS[unit] + 1, width)
        if part.bins <= MOST_PERIODS:
            return BinnedRange(Kind.TIMESTAMP, unit, low, high, (part,), type_name=type_name)
    part = _divide_months(low, high)
    return BinnedRange(Kind.TIMESTAMP, "month", low, high, (part,), type_name=type_name)


def bin_times(type_name: str = "") -> BinnedRange:
    """Return the quarters of the hours of a day."""
    part = RangePart(0, 24 * 60, _TIME_WIDTH)
    ends = dt.time.min, dt.time(23, 59, 59, 999_999)
    return BinnedRange(Kind.TIME, "minute", *ends, (part,), type_name=type_name)


def _divide_months(low: dt.date, high: dt.date) -> RangePart:
    first, last = (day.year * 12 + day.month - 1 for day in (low, high))
    made = [
        RangePart(first // width * width, last // width * width + width, width) for width in _MONTHS
    ]
    return next((part for part in made if part.bins <= MOST_PERIODS), made[-1])


def _divide_range(
    first: Decimal, last: Decimal, kept: Sequence[Decimal], *, is_whole: bool
) -> Iterable[RangePart]:
    """Yield the bins of a range: each bound and 0 alone, and equal widths between."""
    zero: list[Decimal] = [Decimal(0)] if first < 0 < last else []
    points = sorted({first, last, *zero})
    width = _round_width((last - first) / BINS, is_whole=is_whole) if last > first else Decimal(1)
    for place, point in enumerate(points):
        if place:
            cuts = [one for one in kept if points[place - 1] < one < point]
            if not cuts:
                cuts = _lay_out_edges(points[place - 1], point, width, is_whole=is_whole)
            yield from _join_cuts(points[place - 1], point, cuts, width, is_whole=is_whole)
        low = int(point) if is_whole else float(point)
        end = low + 1 if is_whole else _next_number(low)
        yield RangePart(low, end, 1 if is_whole else end - low)


def _lay_out_edges(low: Decimal, high: Decimal, width: Decimal, *, is_whole: bool) -> list[Decimal]:
    """Return where widths change: the multiples of the width at both ends, and 1-2-5 steps near 0."""
    near = [
        width * step / 10**power for power in range(1, _NEAR_ZERO + 1) for step in (1, 2, 5)
    ] + [width]
    near = sorted({one for one in near if not is_whole or one == int(one)})
    if low == 0:
        cuts = [one for one in near if one < high]
    elif high == 0:
        cuts = sorted(-one for one in near if -one > low)
    else:
        cuts = []
    first = (low / width).to_integral_value("ROUND_FLOOR") * width + width
    return sorted({*cuts, first}) if low < first < high else cuts


def _join_cuts(
    low: Decimal, high: Decimal, cuts: Sequence[Decimal], width: Decimal, *, is_whole: bool
) -> Iterable[RangePart]:
    """Yield the bins between two points that have their own, which end at each of `cuts`."""
    edges = [low, *cuts, high]
    for number, (start, end) in enumerate(pairwise(edges)):
        if is_whole:
            begin, until = int(start) + (number == 0), int(end)
            if begin < until:
                yield RangePart(begin, until, min(int(width), until - begin))
            continue
        begin = _next_number(float(start)) if number == 0 else float(start)
        if begin < float(end):
            yield RangePart(begin, float(end), min(float(width), float(end) - begin))


def _next_number(number: float) -> float:
    """Return the next larger number, but none so small that a processor may take it for 0.

    >>> _next_number(0.0) == sys.float_info.min, _next_number(1.0)
    (True, 1.0000000000000002)
    """
    return (
        max(math.nextafter(number, math.inf), sys.float_info.min)
        if number >= 0
        else min(math.nextafter(number, math.inf), -sys.float_info.min)
    )


def _round_width(width: Decimal, *, is_whole: bool) -> Decimal:
    """Return the next larger 1, 2 or 5 times a power of ten."""
    power = Decimal(10) ** width.adjusted()
    rounded = next(power * step for step in (1, 2, 5, 10) if power * step >= width)
    return max(Decimal(1), rounded) if is_whole else rounded


# -- expressions


def _bin_within(value: exp.Expr, part: RangePart, first: int, kind: Kind) -> exp.Expr:
    """Return the code of a value that lies in `part`, whose first bin has the code `first`."""
    if part.bins == 1:
        return build.number(first)
    low, width = value_literal(part.low, kind), value_literal(part.width, kind)
    if kind is Kind.INTEGER:
        distance = exp.Sub(this=exp.cast(value.copy(), "BIGINT"), expression=low)
        place = (
            distance
            if part.width == 1
            else exp.IntDiv(this=exp.Paren(this=distance), expression=width)
        )
        return _add_terms(exp.cast(exp.Paren(this=place), "INT"), first)
    # The first bin by comparison: next to 0 a quotient could be smaller than any double.
    second = value_literal(part.low + part.width, kind)
    distance = exp.Sub(this=value.copy(), expression=low)
    quotient = exp.Div(this=exp.Paren(this=distance), expression=width)
    place = exp.cast(exp.Floor(this=quotient), "INT")
    place = exp.Least(this=place, expressions=[build.number(part.bins - 1)])
    is_first = exp.LT(this=value.copy(), expression=second)
    return exp.Case(
        ifs=[exp.If(this=is_first, true=build.number(first))], default=_add_terms(place, first)
    )


def _clamp_bin(
    value: exp.Expr, node: type[exp.Binary], end: int, code: int, inside: exp.Expr
) -> exp.Expr:
    if isinstance(inside, exp.Literal):
        return inside
    is_beyond = node(this=value.copy(), expression=value_literal(end, Kind.INTEGER))
    return exp.Case(ifs=[exp.If(this=is_beyond, true=build.number(code))], default=inside)


def _extract_part(part: str, value: exp.Expr) -> exp.Expr:
    return exp.cast(exp.Extract(this=exp.var(part), expression=value.copy()), "BIGINT")


def _multiply_units(value: exp.Expr, factor: int) -> exp.Expr:
    return exp.Paren(this=exp.Mul(this=value, expression=build.number(factor)))


def _add_terms(value: exp.Expr, *others: exp.Expr | int) -> exp.Expr:
    for other in others:
        term = value_literal(other, Kind.INTEGER) if isinstance(other, int) else other
        value = exp.Paren(this=exp.Add(this=value, expression=term))
    return value


# -- moments


def _second_of(moment: dt.date | dt.time) -> int:
    """Return the second of a moment since 1970, or of the day."""
    if isinstance(moment, dt.time):
        return moment.hour * 3600 + moment.minute * 60 + moment.second
    days = (dt.date(moment.year, moment.month, moment.day) - _EPOCH).days
    if not isinstance(moment, dt.datetime):
        return days * _DAY
    return days * _DAY + _second_of(moment.time())


def _seconds_of(values: ArrowArray, kind: Kind) -> NDArray[np.int64]:
    if kind is Kind.DATE:
        days = pc.fill_null(values.cast(pa.date32()).cast(pa.int32()), 0)
        return days.to_numpy(zero_copy_only=False).astype(np.int64) * _DAY
    wanted = pa.time64("us") if kind is Kind.TIME else pa.timestamp("us")
    micros = pc.fill_null(values.cast(wanted, safe=False).cast(pa.int64()), 0)
    return micros.to_numpy(zero_copy_only=False) // 1_000_000


def _from_counts(counts: NDArray[np.int64], kind: Kind) -> ArrowArray:
    """Return whole numbers, days or seconds as values of `kind`."""
    if kind is Kind.DATE:
        return pa.array(counts.astype(np.int32), pa.int32()).cast(pa.date32())
    numbers = pa.array(counts, pa.int64())
    if kind is Kind.TIMESTAMP:
        return numbers.cast(pa.timestamp("s")).cast(pa.timestamp("us"))
    return pa.array(counts * 1_000_000).cast(pa.time64("us")) if kind is Kind.TIME else numbers
