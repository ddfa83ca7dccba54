"""Dates and timestamps: parts, truncation, intervals and differences, within the years 1 to 9999."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from discreet.answer.expressions import arithmetic
from discreet.answer.expressions.typed import (
    CALENDAR,
    NULL,
    TypedExpression,
    integer_literal,
    make_refusal,
    parenthesize,
    value_domain,
)
from discreet.engines.engine import Kind

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


def parse_date_literal(text: str, what: str) -> TypedExpression:
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
    raise make_refusal(f"The text beside {what} is no date.", "Write it as '2024-01-31'.")


def date_literal(value: dt.date) -> TypedExpression:
    """Return a day that the question itself contains."""
    tree = exp.cast(exp.Literal.string(value.isoformat()), "DATE")
    ordinal = Fraction(value.toordinal())
    return TypedExpression(
        tree, Kind.DATE, low=ordinal, high=ordinal, values=(value,), nullable=False, most=ordinal
    )


def _stamp_literal(value: dt.datetime) -> TypedExpression:
    tree = exp.cast(exp.Literal.string(value.isoformat(" ")), _STAMP)
    return TypedExpression(tree, Kind.TIMESTAMP, nullable=False, most=Fraction(1))


def to_date(typed: TypedExpression) -> TypedExpression:
    """Return a date within the calendar of people; infinities become its ends."""
    if typed.kind is Kind.TIMESTAMP:
        tree = exp.cast(to_timestamp(typed).tree.copy(), "DATE")
        return TypedExpression(tree, Kind.DATE, nullable=typed.nullable, most=_ENDS[1])
    if typed.kind is not Kind.DATE:
        raise make_refusal(
            f"A date is needed here, not a {typed.kind.value} value.",
            "Write CAST(… AS DATE) around a text that holds dates.",
        )
    if typed.most is not None or (typed.low is not None and typed.high is not None):
        return replace(typed, most=_ENDS[1])
    tree = null_outside(typed.tree, date_literal(_FIRST).tree, date_literal(_LAST).tree)
    return replace(typed, tree=tree, most=_ENDS[1])


def to_timestamp(typed: TypedExpression) -> TypedExpression:
    """Return a timestamp without zone, in UTC, within the calendar of people."""
    if typed.kind is Kind.DATE:
        tree = exp.cast(to_date(typed).tree.copy(), _STAMP)
        return TypedExpression(tree, Kind.TIMESTAMP, nullable=typed.nullable, most=_ENDS[1])
    if typed.kind is not Kind.TIMESTAMP:
        raise make_refusal(
            f"A date or timestamp is needed here, not a {typed.kind.value} value.",
            "Write CAST(… AS TIMESTAMP) around a text that holds timestamps.",
        )
    if typed.most is not None:
        return typed
    ends = _stamp_literal(_START).tree, _stamp_literal(_END).tree
    cast = exp.cast(typed.tree.copy(), _STAMP)
    return replace(typed, tree=null_outside(cast, *ends), most=_ENDS[1])


def null_outside(tree: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    """Return `tree` between two ends; LEAST and GREATEST alone would make an end out of NULL."""
    ifs = [
        exp.If(this=exp.LT(this=parenthesize(tree), expression=low.copy()), true=low.copy()),
        exp.If(this=exp.GT(this=parenthesize(tree), expression=high.copy()), true=high.copy()),
    ]
    return exp.Case(ifs=ifs, default=tree.copy())


def extract_date_part(name: str, typed: TypedExpression) -> TypedExpression:
    """Return EXTRACT(name FROM typed) as a whole number."""
    wanted = name.upper().removesuffix("S")
    wanted = _ALIASES.get(wanted, wanted)
    if wanted not in _PARTS:
        raise make_refusal(
            f"EXTRACT of {name.lower()} is not answered.",
            f"Use one of: {', '.join(known.lower() for known in _PARTS)}.",
        )
    if typed.is_null:
        return NULL
    if wanted == "ISODOW":
        # Monday is 1 and Sunday 7, computed from Sunday as 0.
        shifted = arithmetic.remainder_of(
            arithmetic.plus(extract_date_part("dow", typed), integer_literal(6)), integer_literal(7)
        )
        return arithmetic.plus(shifted, integer_literal(1))
    source = to_timestamp(typed) if wanted in _CLOCK else to_date(typed)
    low, high = _PARTS[wanted]
    found = replace(
        integer_literal(1),
        tree=exp.cast(exp.Extract(this=exp.var(wanted), expression=source.tree.copy()), "BIGINT"),
        low=Fraction(low),
        high=Fraction(high),
        values=_part_values(wanted, source),
        nullable=typed.nullable,
        most=Fraction(high),
    )
    return _year_within(found, typed) if wanted == "YEAR" else found


def _part_values(wanted: str, source: TypedExpression) -> tuple[object, ...] | None:
    days = [value for value in value_domain(source) or () if isinstance(value, dt.date)]
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


def _year_within(found: TypedExpression, typed: TypedExpression) -> TypedExpression:
    """Return a year with the bounds that follow from those of its date."""
    if typed.kind is not Kind.DATE or typed.low is None or typed.high is None:
        # All years of the calendar are no useful bounds.
        return replace(found, low=None, high=None)
    first, last = (dt.date.fromordinal(int(end)).year for end in (typed.low, typed.high))
    values = found.values if found.values is not None else tuple(range(first, last + 1))
    return replace(found, low=Fraction(first), high=Fraction(last), values=values)


def truncate_date(unit: str, typed: TypedExpression) -> TypedExpression:
    """Return DATE_TRUNC: a date stays a date."""
    wanted = unit.upper()
    allowed = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE")
    if wanted not in allowed:
        raise make_refusal(
            f"DATE_TRUNC to {unit.lower()} is not answered.",
            f"Use one of: {', '.join(known.lower() for known in allowed)}.",
        )
    if typed.is_null:
        return NULL
    is_date = typed.kind is Kind.DATE
    if is_date and wanted in ("DAY", *_CLOCK):
        return to_date(typed)
    cut = exp.TimestampTrunc(this=to_timestamp(typed).tree.copy(), unit=exp.var(wanted))
    tree = exp.cast(cut, "DATE") if is_date else exp.cast(cut, _STAMP)
    return TypedExpression(tree, typed.kind, nullable=typed.nullable, most=_ENDS[1])


def shift_date(typed: TypedExpression, count: int, unit: str) -> TypedExpression:
    """Return a date or timestamp moved by an interval, no farther than the calendar goes."""
    wanted = unit.upper().removesuffix("S")
    if wanted not in _SPANS:
        raise make_refusal(
            f"An INTERVAL of {unit.lower()} is not answered.",
            f"Use one of: {', '.join(known.lower() for known in _SPANS)}.",
        )
    span, factor = _SPANS[wanted]
    amount = count * factor
    is_date = typed.kind is Kind.DATE and span != "SECOND"
    first, last = _shiftable_range(amount, span)
    if is_date:
        # No clamp to the calendar first: these ends lie within it.
        kept = null_outside(
            typed.tree, date_literal(first.date()).tree, date_literal(last.date()).tree
        )
    else:
        kept = null_outside(
            to_timestamp(typed).tree, _stamp_literal(first).tree, _stamp_literal(last).tree
        )
    step = exp.Interval(this=exp.Literal.string(str(abs(amount))), unit=exp.var(span))
    node = exp.Add if amount >= 0 else exp.Sub
    tree = exp.cast(node(this=kept, expression=step), "DATE" if is_date else _STAMP)
    kind = Kind.DATE if is_date else Kind.TIMESTAMP
    return TypedExpression(tree, kind, nullable=typed.nullable, most=_ENDS[1])


def _shiftable_range(amount: int, span: str) -> tuple[dt.datetime, dt.datetime]:
    """Return the first and last moment that can be moved by so much within the calendar."""
    first, last = _START, _END
    try:
        return (
            (first, _shift_datetime(last, -amount, span))
            if amount >= 0
            else (_shift_datetime(first, -amount, span), last)
        )
    except (OverflowError, ValueError):
        raise make_refusal(
            "This INTERVAL leads out of the years 1 to 9999 from every date.", "Use a shorter one."
        ) from None


def _shift_datetime(value: dt.datetime, amount: int, span: str) -> dt.datetime:
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


def days_between(start: TypedExpression, end: TypedExpression) -> TypedExpression:
    """Return how many days `end` is after `start`."""
    a, b = to_date(start), to_date(end)
    low, high = _date_range(start), _date_range(end)
    reach = high[0] - low[1], high[1] - low[0]
    is_known = _ENDS not in (low, high)
    difference = exp.DateDiff(this=b.tree.copy(), expression=a.tree.copy(), unit=exp.var("DAY"))
    return replace(
        integer_literal(1),
        tree=exp.cast(difference, "BIGINT"),
        low=reach[0] if is_known else None,
        high=reach[1] if is_known else None,
        values=None,
        nullable=a.nullable or b.nullable,
        most=max(abs(reach[0]), abs(reach[1])),
    )


def _date_range(typed: TypedExpression) -> tuple[Fraction, Fraction]:
    if typed.kind is Kind.DATE and typed.low is not None and typed.high is not None:
        return typed.low, typed.high
    return _ENDS


def date_difference(unit: str, start: TypedExpression, end: TypedExpression) -> TypedExpression:
    """Return DATE_DIFF: how many days, months or years begin after `start` and up to `end`."""
    wanted = unit.upper().removesuffix("S")
    if wanted not in ("DAY", "MONTH", "YEAR"):
        raise make_refusal(
            f"DATE_DIFF in {unit.lower()} is not answered.", "Use 'day', 'month' or 'year'."
        )
    if start.is_null or end.is_null:
        return NULL
    if wanted == "DAY":
        return days_between(start, end)
    years = arithmetic.minus(extract_date_part("year", end), extract_date_part("year", start))
    if wanted == "YEAR":
        return years
    months = arithmetic.minus(extract_date_part("month", end), extract_date_part("month", start))
    return arithmetic.plus(arithmetic.times(years, integer_literal(12)), months)
