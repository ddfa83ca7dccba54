"""Dates moved by the same number of days for all rows of a person, on the engine."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from discreet.arrow import ArrowArray
from discreet.engines.engine import Column, Kind, Table
from discreet.errors import UnsuitableValues
from discreet.formatting import format_count
from discreet.measure.encode import comparable_value
from discreet.policy.hierarchies.values import text_of
from discreet.release.deidentify.keys import SecretKey
from discreet.release.deidentify.kinds import DateShift
from discreet.release.deidentify.replace import Change, load_replacements
from discreet.sql import build

_ALIAS = "person"
# "No end", "not yet": moved, these would show everyone's shift.
KEPT = (dt.date.min, dt.date.max)
# Nothing but a date, or a date and a time: other text could hold a second date that stays.
_ISO = (
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}"
    "([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?( ?(Z|[+-][0-9]{2}(:?[0-9]{2})?))?)?$"
)


def shifts_of(values: ArrowArray, *, shift: DateShift, key: SecretKey) -> ArrowArray:
    """Return how many days the dates of each person move: 1 to `days`, back or forth, never 0."""
    secret = key.derive(f"date-shift {shift.days}", shift.domain)
    found = [
        int.from_bytes(hmac.digest(secret, text.encode(), hashlib.sha256), "big") % (2 * shift.days)
        for text in text_of(values).to_pylist()
    ]
    moved = [number - shift.days + (number >= shift.days) for number in found]
    return pa.array(moved, pa.int32())


def shift_dates(
    query: exp.Select,
    table: Table,
    names: Sequence[str],
    *,
    unit: Column,
    days: int,
    change: Change,
) -> exp.Select:
    """Return `query`, made by `replace_values` of `table`, with the named columns moved.

    Args:
        query: The query, in which the table is called `t`.
        table: The table the query reads.
        names: Columns of dates, timestamps, or texts that are all ISO dates.
        unit: The column that names the person.
        days: How far a date may move at most.
        change: From people to the days that their dates move, such as `shifts_of`.
    """
    columns = [column for column in table.columns if column.name in names]
    _refuse_unsuitable(table, columns, unit=unit, days=days)
    shifts = load_replacements(table.engine, table.relation, unit, change)
    by = build.column("replacement", of=_ALIAS)
    moved = {column.name: _shift_value(column, by) for column in columns}
    selected = [
        build.alias_as(moved[item.alias], item.alias) if item.alias in moved else item
        for item in query.expressions
    ]
    joined = exp.Join(
        this=build.aliased_table(shifts, _ALIAS),
        side="LEFT",
        on=exp.EQ(this=comparable_value(unit, of="t"), expression=build.column("value", of=_ALIAS)),
    )
    return query.select(*selected, append=False).join(joined)


def _shift_value(column: Column, days: exp.Expr) -> exp.Expr:
    value = build.column(column.name, of="t")
    day = _day_of_value(column, of="t")
    if column.kind is Kind.TIMESTAMP:
        one_day = exp.Interval(this=build.text("1"), unit=exp.var("DAY"))
        later: exp.Expr = exp.Add(
            this=value, expression=exp.Mul(this=days.copy(), expression=one_day)
        )
    else:
        later = exp.Add(this=day.copy(), expression=days.copy())
    if column.kind is Kind.TEXT:
        clock = exp.Substring(this=value.copy(), start=build.number(11))
        later = exp.DPipe(this=exp.cast(exp.paren(later), "text"), expression=clock)
    return exp.case().when(_is_kept(day), value.copy()).else_(later)


def _day_of_value(column: Column, *, of: str | None = None) -> exp.Expr:
    value = build.column(column.name, of=of)
    if column.kind is Kind.DATE:
        return value
    if column.kind is Kind.TIMESTAMP:
        return exp.cast(value, "date")
    start = exp.Substring(this=value, start=build.number(1), length=build.number(10))
    return exp.TryCast(this=start, to=exp.DataType.build("date"))


def _is_kept(day: exp.Expr) -> exp.Expr:
    return exp.In(this=day.copy(), expressions=[_date_literal(kept) for kept in KEPT])


def _date_literal(day: dt.date) -> exp.Expr:
    return exp.cast(build.text(day.isoformat()), "date")


def _refuse_unsuitable(table: Table, columns: Sequence[Column], *, unit: Column, days: int) -> None:
    for column in columns:
        if column.kind not in (Kind.DATE, Kind.TIMESTAMP, Kind.TEXT):
            raise UnsuitableValues(
                f"Column '{column.name}' holds no dates but {column.kind}s. Only dates, timestamps "
                "and ISO texts (2024-02-29) can be shifted: remove it, or convert it first."
            )
    checks = [
        check for column in columns for check in _refusal_conditions(column, unit=unit, days=days)
    ]
    counts = [
        build.alias_as(
            build.sum_integers(exp.case().when(is_wrong, build.number(1)).else_(build.number(0))),
            f"c{index}",
        )
        for index, (is_wrong, _) in enumerate(checks)
    ]
    found = table.engine.run(build.select(*counts, source=table.relation.copy())).to_pylist()[0]
    for index, (_, message) in enumerate(checks):
        if found[f"c{index}"]:
            count = format_count(found[f"c{index}"], "row has", "rows have")
            raise UnsuitableValues(f"{count} {message}")


def _refusal_conditions(column: Column, *, unit: Column, days: int) -> list[tuple[exp.Expr, str]]:
    """Return conditions that no row may meet, each with what to say about the rows that do."""
    value, day = build.column(column.name), _day_of_value(column)
    known = exp.not_(build.is_null(value))
    found: list[tuple[exp.Expr, str]] = []
    if column.kind is Kind.TEXT:
        is_iso = exp.RegexpLike(this=value.copy(), expression=build.text(_ISO))
        wrong = exp.or_(exp.not_(is_iso), build.is_null(day.copy()))
        message = (
            f"a text in column '{column.name}' that is no ISO date such as 2024-02-29. "
            "Correct them, or remove the column."
        )
        found.append((exp.and_(known.copy(), wrong), message))
    # One day more than a shift, so that no date is moved onto one that stays as it is.
    room = dt.timedelta(days + 1)
    first, last = dt.date.min + room, dt.date.max - room
    early = exp.LT(this=day.copy(), expression=_date_literal(first))
    late = exp.GT(this=day.copy(), expression=_date_literal(last))
    message = (
        f"a date in column '{column.name}' that would leave the years 1 to 9999. Write "
        "9999-12-31 for 'no end', which stays as it is, or make such dates missing."
    )
    found.append((exp.and_(exp.not_(_is_kept(day)), exp.or_(early, late)), message))
    message = (
        f"a date in column '{column.name}' but no person in '{unit.name}', so that no shift "
        "applies. Fill in the person, or leave these rows out."
    )
    found.append((exp.and_(known.copy(), build.is_null(build.column(unit.name))), message))
    return found
