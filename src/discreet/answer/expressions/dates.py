"""Dates and timestamps: parts, truncation, intervals and differences, within the years 1 to 9999."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.answer.expressions import arithmetic
from discreet.answer.expressions.typed import (
    CALENDAR,
    NULL,
    Typed,
    domain,
    inner,
    integer,
    refused,
)
from discreet.engines.engine import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_STAMP = exp.DataType.Type.TIMESTAMPNTZ
_FIRST, _LAST = CALENDAR
# Engines read timestamps without zone; so does this module.
_START, _END = dt.datetime.min, dt.datetime.max  # noqa: DTZ901
_ENDS = Fraction(_FIRST.toordinal()), Fraction(_LAST.toordinal())
_FORM = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?))?")
_PARTS: Mapping[str, tuple[int, int]] = {
    "YEAR": (1, 9999),
    "QUARTER": (1, 4),
    "MONTH": (1, 12),
    "WEEK": (1, 53),
    "DAY": (1, 31),
    "DOY": (1, 366),
    "DOW": (0, 6),
    "ISODOW": (1, 7),
    "HOUR": (0, 23),
    "MINUTE": (0, 59),
}
_ALIASES = {
    "DAYOFWEEK": "DOW",
    "WEEKDAY": "DOW",
    "DAYOFYEAR": "DOY",
    "DAYOFMONTH": "DAY",
    "WEEKOFYEAR": "WEEK",
}
_CLOCK = ("HOUR", "MINUTE", "SECOND")
_SPANS: Mapping[str, tuple[str, int]] = {
    "DAY": ("DAY", 1),
    "WEEK": ("DAY", 7),
    "MONTH": ("MONTH", 1),
    "QUARTER": ("MONTH", 3),
    "YEAR": ("MONTH", 12),
    "HOUR": ("SECOND", 3600),
    "MINUTE": ("SECOND", 60),
    "SECOND": ("SECOND", 1),
}


def read(text: str, what: str) -> Typed:
    """Return a date or timestamp that the question writes as text, or refuse it."""
    found = _FORM.fullmatch(text.strip())
    try:
        if found and found[2] is None:
            return date_literal(dt.date.fromisoformat(found[1]))
        if found:
            moment_ = dt.datetime.fromisoformat(f"{found[1]} {found[2]}")
            return _stamp_literal(moment_)
    except ValueError:
        pass  # such as the 30th of February
    raise refused(f"The text beside {what} is no date.", "Write it as '2024-01-31'.")


def date_literal(value: dt.date) -> Typed:
    """Return a day that the question itself contains."""
    tree = exp.cast(exp.Literal.string(value.isoformat()), "DATE")
    ordinal = Fraction(value.toordinal())
    return Typed(
        tree, Kind.DATE, low=ordinal, high=ordinal, values=(value,), nullable=False, most=ordinal
    )


def _stamp_literal(value: dt.datetime) -> Typed:
    tree = exp.cast(exp.Literal.string(value.isoformat(" ")), _STAMP)
    return Typed(tree, Kind.TIMESTAMP, nullable=False, most=Fraction(1))


def day(typed: Typed) -> Typed:
    """Return a date within the calendar of people; infinities become its ends."""
    if typed.kind is Kind.TIMESTAMP:
        tree = exp.cast(moment(typed).tree.copy(), "DATE")
        return Typed(tree, Kind.DATE, nullable=typed.nullable, most=_ENDS[1])
    if typed.kind is not Kind.DATE:
        raise refused(
            f"A date is needed here, not a {typed.kind.value} value.",
            "Write CAST(… AS DATE) around a text that holds dates.",
        )
    if typed.most is not None or (typed.low is not None and typed.high is not None):
        return replace(typed, most=_ENDS[1])
    tree = within(typed.tree, date_literal(_FIRST).tree, date_literal(_LAST).tree)
    return replace(typed, tree=tree, most=_ENDS[1])


def moment(typed: Typed) -> Typed:
    """Return a timestamp without zone, in UTC, within the calendar of people."""
    if typed.kind is Kind.DATE:
        tree = exp.cast(day(typed).tree.copy(), _STAMP)
        return Typed(tree, Kind.TIMESTAMP, nullable=typed.nullable, most=_ENDS[1])
    if typed.kind is not Kind.TIMESTAMP:
        raise refused(
            f"A date or timestamp is needed here, not a {typed.kind.value} value.",
            "Write CAST(… AS TIMESTAMP) around a text that holds timestamps.",
        )
    if typed.most is not None:
        return typed
    ends = _stamp_literal(_START).tree, _stamp_literal(_END).tree
    cast = exp.cast(typed.tree.copy(), _STAMP)
    return replace(typed, tree=within(cast, *ends), most=_ENDS[1])


def within(tree: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    """Return `tree` between two ends; LEAST and GREATEST alone would make an end out of NULL."""
    ifs = [
        exp.If(this=exp.LT(this=inner(tree), expression=low.copy()), true=low.copy()),
        exp.If(this=exp.GT(this=inner(tree), expression=high.copy()), true=high.copy()),
    ]
    return exp.Case(ifs=ifs, default=tree.copy())


def part(name: str, typed: Typed) -> Typed:
    """Return EXTRACT(name FROM typed) as a whole number."""
    wanted = name.upper().removesuffix("S")
    wanted = _ALIASES.get(wanted, wanted)
    if wanted not in _PARTS:
        raise refused(
            f"EXTRACT of {name.lower()} is not answered.",
            f"Use one of: {', '.join(known.lower() for known in _PARTS)}.",
        )
    if typed.is_null:
        return NULL
    if wanted == "ISODOW":
        # Monday is 1 and Sunday 7, computed from Sunday as 0.
        shifted = arithmetic.rest(arithmetic.plus(part("dow", typed), integer(6)), integer(7))
        return arithmetic.plus(shifted, integer(1))
    source = moment(typed) if wanted in _CLOCK else day(typed)
    low, high = _PARTS[wanted]
    found = replace(
        integer(1),
        tree=exp.cast(exp.Extract(this=exp.var(wanted), expression=source.tree.copy()), "BIGINT"),
        low=Fraction(low),
        high=Fraction(high),
        values=_part_values(wanted, source),
        nullable=typed.nullable,
        most=Fraction(high),
    )
    return _year_within(found, typed) if wanted == "YEAR" else found


def _part_values(wanted: str, source: Typed) -> tuple[object, ...] | None:
    days = [value for value in domain(source) or () if isinstance(value, dt.date)]
    if days:
        return tuple(sorted({_part_of(value, wanted) for value in days}))
    low, high = _PARTS[wanted]
    return None if wanted == "YEAR" else tuple(range(low, high + 1))


def _part_of(value: dt.date, wanted: str) -> int:
    compute: Mapping[str, Callable[[], int]] = {
        "YEAR": lambda: value.year,
        "QUARTER": lambda: (value.month + 2) // 3,
        "MONTH": lambda: value.month,
        "WEEK": lambda: value.isocalendar()[1],
        "DAY": lambda: value.day,
        "DOY": lambda: value.timetuple().tm_yday,
        "DOW": lambda: value.isoweekday() % 7,
    }
    return compute[wanted]() if wanted in compute else 0


def _year_within(found: Typed, typed: Typed) -> Typed:
    """Return a year with the bounds that those of its date tell."""
    if typed.kind is not Kind.DATE or typed.low is None or typed.high is None:
        # All years of the calendar are no bounds that anybody wants.
        return replace(found, low=None, high=None)
    first, last = (dt.date.fromordinal(int(end)).year for end in (typed.low, typed.high))
    values = found.values if found.values is not None else tuple(range(first, last + 1))
    return replace(found, low=Fraction(first), high=Fraction(last), values=values)


def truncate(unit: str, typed: Typed) -> Typed:
    """Return DATE_TRUNC: a date stays a date."""
    wanted = unit.upper()
    allowed = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE")
    if wanted not in allowed:
        raise refused(
            f"DATE_TRUNC to {unit.lower()} is not answered.",
            f"Use one of: {', '.join(known.lower() for known in allowed)}.",
        )
    if typed.is_null:
        return NULL
    is_date = typed.kind is Kind.DATE
    if is_date and wanted in ("DAY", *_CLOCK):
        return day(typed)
    cut = exp.TimestampTrunc(this=moment(typed).tree.copy(), unit=exp.var(wanted))
    tree = exp.cast(cut, "DATE") if is_date else exp.cast(cut, _STAMP)
    return Typed(tree, typed.kind, nullable=typed.nullable, most=_ENDS[1])


def shift(typed: Typed, count: int, unit: str) -> Typed:
    """Return a date or timestamp moved by an interval, no farther than the calendar goes."""
    wanted = unit.upper().removesuffix("S")
    if wanted not in _SPANS:
        raise refused(
            f"An INTERVAL of {unit.lower()} is not answered.",
            f"Use one of: {', '.join(known.lower() for known in _SPANS)}.",
        )
    span, factor = _SPANS[wanted]
    amount = count * factor
    is_date = typed.kind is Kind.DATE and span != "SECOND"
    first, last = _reachable(amount, span)
    if is_date:
        # No clamp to the calendar first: these ends lie within it.
        kept = within(typed.tree, date_literal(first.date()).tree, date_literal(last.date()).tree)
    else:
        kept = within(moment(typed).tree, _stamp_literal(first).tree, _stamp_literal(last).tree)
    step = exp.Interval(this=exp.Literal.string(str(abs(amount))), unit=exp.var(span))
    node = exp.Add if amount >= 0 else exp.Sub
    tree = exp.cast(node(this=kept, expression=step), "DATE" if is_date else _STAMP)
    kind = Kind.DATE if is_date else Kind.TIMESTAMP
    return Typed(tree, kind, nullable=typed.nullable, most=_ENDS[1])


def _reachable(amount: int, span: str) -> tuple[dt.datetime, dt.datetime]:
    """Return the first and last moment that can be moved by so much within the calendar."""
    first, last = _START, _END
    try:
        return (
            (first, _moved(last, -amount, span))
            if amount >= 0
            else (_moved(first, -amount, span), last)
        )
    except (OverflowError, ValueError):
        raise refused(
            "This INTERVAL leads out of the years 1 to 9999 from every date.", "Use a shorter one."
        ) from None


def _moved(value: dt.datetime, amount: int, span: str) -> dt.datetime:
    if span == "MONTH":
        months = value.year * 12 + value.month - 1 + amount
        if amount >= 0:
            return value.replace(year=months // 12, month=months % 12 + 1, day=1)
        # The last moment of a month: where the other month is shorter, engines take its last day.
        following = value.replace(year=(months + 1) // 12, month=(months + 1) % 12 + 1, day=1)
        return (
            following.replace(hour=0, minute=0, second=0, microsecond=0) - dt.timedelta.resolution
        )
    unit = dt.timedelta(days=1) if span == "DAY" else dt.timedelta(seconds=1)
    return value + amount * unit


def days_between(start: Typed, end: Typed) -> Typed:
    """Return how many days `end` is after `start`."""
    a, b = day(start), day(end)
    low, high = _span(start), _span(end)
    reach = high[0] - low[1], high[1] - low[0]
    is_known = _ENDS not in (low, high)
    difference = exp.DateDiff(this=b.tree.copy(), expression=a.tree.copy(), unit=exp.var("DAY"))
    return replace(
        integer(1),
        tree=exp.cast(difference, "BIGINT"),
        low=reach[0] if is_known else None,
        high=reach[1] if is_known else None,
        values=None,
        nullable=a.nullable or b.nullable,
        most=max(abs(reach[0]), abs(reach[1])),
    )


def _span(typed: Typed) -> tuple[Fraction, Fraction]:
    if typed.kind is Kind.DATE and typed.low is not None and typed.high is not None:
        return typed.low, typed.high
    return _ENDS


def difference(unit: str, start: Typed, end: Typed) -> Typed:
    """Return DATE_DIFF: how many days, months or years begin after `start` and up to `end`."""
    wanted = unit.upper().removesuffix("S")
    if wanted not in ("DAY", "MONTH", "YEAR"):
        raise refused(
            f"DATE_DIFF in {unit.lower()} is not answered.", "Use 'day', 'month' or 'year'."
        )
    if start.is_null or end.is_null:
        return NULL
    if wanted == "DAY":
        return days_between(start, end)
    years = arithmetic.minus(part("year", end), part("year", start))
    if wanted == "YEAR":
        return years
    months = arithmetic.minus(part("month", end), part("month", start))
    return arithmetic.plus(arithmetic.times(years, integer(12)), months)
