"""What is public about a column: its range or its list of values, in an order that can be halved."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any, Protocol

from sqlglot import exp

from discreet.engines.engine import Column, Kind, Table
from discreet.errors import WrongUsage
from discreet.policy import model
from discreet.sql import build

MOST_WORDS = 1000  # a longer list of values is no longer common knowledge
REAL_STEPS = 1024  # a range of reals is cut into so many parts


class ColumnDomain(Protocol):
    """The `size` values that a column may have, by their places 0 … size - 1."""

    @property
    def column(self) -> str:
        """The column's name."""
        ...

    @property
    def size(self) -> int:
        """How many values there are."""
        ...

    def between(self, start: int, stop: int) -> exp.Expr:
        """Return the condition that the value is at a place from `start` to before `stop`."""
        ...

    def value(self, place: int) -> Any:
        """Return the value at a place."""
        ...


@dataclass(frozen=True)
class NumberDomain:
    """Numbers from `low` on in equal steps."""

    column: str
    low: Fraction
    step: Fraction
    size: int

    def between(self, start: int, stop: int) -> exp.Expr:
        """Return `low <= column < high`; the ends of the range go without saying."""
        return _range_condition(
            self.column,
            _number_literal(self.low + start * self.step) if start > 0 else None,
            _number_literal(self.low + stop * self.step) if stop < self.size else None,
        )

    def value(self, place: int) -> Any:
        """Return the number at a place."""
        number = self.low + place * self.step
        return int(number) if number.denominator == 1 else float(number)


@dataclass(frozen=True)
class DateDomain:
    """Dates from `low` on, day by day."""

    column: str
    low: dt.date
    size: int

    def between(self, start: int, stop: int) -> exp.Expr:
        """Return `low <= column < high`; the ends of the range go without saying."""
        return _range_condition(
            self.column,
            _date_literal(self.value(start)) if start > 0 else None,
            _date_literal(self.value(stop)) if stop < self.size else None,
        )

    def value(self, place: int) -> dt.date:
        """Return the day at a place."""
        return self.low + dt.timedelta(days=place)


@dataclass(frozen=True)
class WordDomain:
    """A list of values."""

    column: str
    values: tuple[Any, ...]

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.values)

    def between(self, start: int, stop: int) -> exp.Expr:
        """Return `column IN (…)`, or `=` for one value."""
        wanted = [_value_literal(value) for value in self.values[start:stop]]
        place = build.column(self.column)
        if len(wanted) == 1:
            return exp.EQ(this=place, expression=wanted[0])
        return exp.In(this=place, expressions=wanted)

    def value(self, place: int) -> Any:
        """Return the value at a place."""
        return self.values[place]


def make_range(column: str, low: Any, high: Any, *, kind: Kind = Kind.INTEGER) -> ColumnDomain:
    """Return the domain of an ordered column from `low` to `high`, both included.

    >>> zips = make_range("zip", 0, 99_999)
    >>> zips.size, zips.between(0, 50_000).sql()
    (100000, '"zip" < 50000')
    """
    if kind in (Kind.DATE, Kind.TIMESTAMP):
        first, last = _to_date(low), _to_date(high)
        return DateDomain(column, first, max(1, (last - first).days + 1))
    start, end = Fraction(str(low)), Fraction(str(high))
    if end < start:
        raise WrongUsage(f"The range of '{column}' ends before it begins.")
    if kind is Kind.INTEGER:
        start = Fraction(floor(start))
        return NumberDomain(column, start, Fraction(1), floor(end - start) + 1)
    step = (end - start) / REAL_STEPS or Fraction(1)
    return NumberDomain(column, start, step, REAL_STEPS + 1)


def column_domains(
    table: Table, *, names: Sequence[str], policy: model.TablePolicy | None = None
) -> list[ColumnDomain]:
    """Return what is known of the named columns, those that are most likely to cut a crowd in half first.

    The policy's bounds and values are taken where there are any; else the table's own, which an
    outsider has from a census or a look at the form. Columns of many words are left out.
    """
    found = [
        column_domain(table, column, policy=policy)
        for column in table.columns
        if column.name in names
    ]
    known = [domain for domain in found if domain is not None and domain.size > 1]
    # Dates of birth are spread more evenly than amounts, and both can be cut where a word cannot.
    kinds = (DateDomain, NumberDomain, WordDomain)
    return sorted(known, key=lambda domain: (kinds.index(type(domain)), -domain.size))


def column_domain(
    table: Table, column: Column, *, policy: model.TablePolicy | None = None
) -> ColumnDomain | None:
    """Return what is known of one column, or None when it has too many words."""
    said = (
        next((item for item in policy.columns if item.name == column.name), None)
        if policy
        else None
    )
    if said is not None and said.values:
        return WordDomain(
            column.name, tuple(_parse_value(value, column.kind) for value in said.values)
        )
    if said is not None and said.bounds and column.kind.is_ordered:
        return make_range(column.name, *said.bounds, kind=column.kind)
    if column.kind in (Kind.INTEGER, Kind.DECIMAL, Kind.REAL, Kind.DATE, Kind.TIMESTAMP):
        return _own_range(table, column)
    return _own_words(table, column)


def _own_range(table: Table, column: Column) -> ColumnDomain | None:
    place = build.column(column.name)
    ends = [exp.Min(this=place), exp.Max(this=place.copy())]
    query = build.select(
        *(build.alias_as(end, name) for end, name in zip(ends, "ab", strict=True)),
        source=table.relation.copy(),
    )
    found = table.engine.run(query).to_pylist()[0]
    low, high = found["a"], found["b"]
    return None if low is None else make_range(column.name, low, high, kind=column.kind)


def _own_words(table: Table, column: Column) -> ColumnDomain | None:
    place = build.column(column.name)
    query = build.select(build.alias_as(place, "v"), source=table.relation.copy()).distinct()
    found = table.engine.run(
        build.select(build.column("v"), source=build.subquery(query, "d")).limit(MOST_WORDS + 2)
    )
    values = [value for value in found.column(0).to_pylist() if value is not None]
    if not values or len(values) > MOST_WORDS:
        return None
    return WordDomain(column.name, tuple(sorted(values)))


def _parse_value(value: str, kind: Kind) -> Any:
    if kind is Kind.BOOLEAN:
        return value.lower() in ("true", "t", "1", "yes")
    return int(value) if kind is Kind.INTEGER else value


def _range_condition(column: str, low: exp.Expr | None, high: exp.Expr | None) -> exp.Expr:
    place = build.column(column)
    ends: list[exp.Expr] = []
    if low is not None:
        ends.append(exp.GTE(this=place, expression=low))
    if high is not None:
        ends.append(exp.LT(this=place.copy(), expression=high))
    if not ends:  # every value that there is, but not a missing one
        ends.append(exp.Not(this=build.is_null(place)))
    return build.all_of(ends)


def _number_literal(value: Fraction) -> exp.Expr:
    text = str(value.numerator) if value.denominator == 1 else repr(float(value))
    literal = exp.Literal.number(text.removeprefix("-"))
    return exp.Neg(this=literal) if value < 0 else literal


def _date_literal(value: dt.date) -> exp.Expr:
    return exp.cast(build.text(value.isoformat()), "DATE")


def _value_literal(value: Any) -> exp.Expr:
    if isinstance(value, bool):
        return exp.true() if value else exp.false()
    if isinstance(value, (int, float, Decimal)):
        return _number_literal(Fraction(str(value)))
    if isinstance(value, dt.datetime):
        return exp.cast(build.text(value.isoformat(sep=" ")), "TIMESTAMP")
    return _date_literal(value) if isinstance(value, dt.date) else build.text(str(value))


def column_equals(column: str, value: Any) -> exp.Expr:
    """Return `column = value`, or `column IS NULL`.

    >>> print(column_equals("name", "O'Hara").sql())
    "name" = 'O''Hara'
    """
    place = build.column(column)
    if value is None:
        return build.is_null(place)
    return exp.EQ(this=place, expression=_value_literal(value))


def _to_date(value: Any) -> dt.date:
    if isinstance(value, dt.datetime):
        return value.date()
    return value if isinstance(value, dt.date) else dt.date.fromisoformat(str(value)[:10])
