"""How the values of a column make parts of a table, and which parts a comparison can reach."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Protocol

from sqlglot import exp

from discreet.engines.engine import Kind
from discreet.policy.answer_model import Parts
from discreet.policy.hierarchies.calendar import Period, period_label

Span = tuple[float, float]  # numbers of parts, both ends included, perhaps infinite
_LONGEST = 200  # characters of a text that names a part


@dataclass(frozen=True)
class Area:
    """Some parts: those with a number within `spans`, and those with one of `labels`."""

    spans: tuple[Span, ...] = ()
    labels: frozenset[str] = frozenset()


class Scale(Protocol):
    """How the values of a column make parts."""

    def area(self, op: type[exp.Expr], constant: exp.Expr) -> Area | None:
        """Return the parts of values for which `value op constant` can be true."""
        ...


def scale_of(parts: Parts, kind: Kind | None) -> Scale | None:
    """Return how a column of `kind` makes parts, None where no predicate selects its parts."""
    if parts != "value":
        is_date = kind is Kind.DATE
        return PeriodScale(parts, is_date) if is_date or kind is Kind.TIMESTAMP else None
    match kind:
        case Kind.TEXT:
            return LabelScale(_text_label)
        case Kind.BOOLEAN:
            return LabelScale(_boolean_label)
        case Kind.INTEGER:
            return IntegerScale()
        case Kind.DATE:
            return PeriodScale("day", is_date=True)
        case _:  # engines compare fractions in types of their own choice: 0.1 may be several values
            return None


@dataclass(frozen=True)
class LabelScale:
    """Each value is a part, and only equality selects one."""

    read: Callable[[exp.Expr], str | None]

    def area(self, op: type[exp.Expr], constant: exp.Expr) -> Area | None:
        """Return the parts of values for which `value op constant` can be true."""
        word = self.read(constant)
        return None if word is None or op is not exp.EQ else Area(labels=frozenset({f"={word}"}))


def _boolean_label(node: exp.Expr) -> str | None:
    return ("true" if node.this else "false") if isinstance(node, exp.Boolean) else None


def _text_label(node: exp.Expr) -> str | None:
    """Return what all texts have in common that any engine takes for equal to that of `node`.

    Equality depends on the column's collation and type: capitals, accents and trailing blanks may
    not count, nor may the dashes of a UUID. Texts that might be equal are in one part.
    """
    if not isinstance(node, exp.Literal) or not node.is_string or len(node.name) > _LONGEST:
        return None
    letters = unicodedata.normalize("NFKD", node.name.casefold())
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
    word = " ".join(bare.casefold().split())
    dense = re.sub(r"[{}\- ]", "", word)
    return dense if re.fullmatch(r"[0-9a-f]{32}", dense) else word


@dataclass(frozen=True)
class IntegerScale:
    """Each whole number is a part."""

    def area(self, op: type[exp.Expr], constant: exp.Expr) -> Area | None:
        """Return the parts of values for which `value op constant` can be true."""
        is_negative = isinstance(constant, exp.Neg)
        node = constant.this if is_negative else constant
        # Beyond 64 bits some engines compare as floats, which are equal to many whole numbers.
        if not isinstance(node, exp.Literal) or node.is_string:
            return None
        if not re.fullmatch(r"[0-9]{1,18}", node.name):
            return None
        number = -int(node.name) if is_negative else int(node.name)
        return _comparison_area(op, number, before=number - 1, after=number + 1)


def _comparison_area(op: type[exp.Expr], number: int, *, before: int, after: int) -> Area:
    """Return the parts of a comparison with a value in part `number`.

    `before` is the part of the largest smaller value, `after` that of the smallest larger one.
    """
    spans: dict[type[exp.Expr], Span] = {
        exp.EQ: (number, number),
        exp.LT: (-math.inf, before),
        exp.LTE: (-math.inf, number),
        exp.GT: (after, math.inf),
        exp.GTE: (number, math.inf),
    }
    return Area((spans[op],))


_TIMESTAMP_PATTERN = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T]([01][0-9]|2[0-3])(:[0-5][0-9]){2})?"
)
_WITHOUT_ZONE = (exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ)


@dataclass(frozen=True)
class PeriodScale:
    """Each day, month, quarter, year or decade is a part; timestamps are in UTC."""

    period: Period
    is_date: bool

    def area(self, op: type[exp.Expr], constant: exp.Expr) -> Area | None:
        """Return the parts of values for which `value op constant` can be true."""
        moment = self._read_timestamp(constant)
        if moment is None:
            return None
        day = moment.date()
        is_midnight = moment == datetime.combine(day, datetime.min.time())
        before = day - timedelta(1) if is_midnight and day > date.min else day
        after = day + timedelta(1) if self.is_date and day < date.max else day
        return _comparison_area(
            op,
            self._period_number(day),
            before=self._period_number(before),
            after=self._period_number(after),
        )

    def function_area(
        self, op: type[exp.Expr], function: exp.Expr, constant: exp.Expr
    ) -> Area | None:
        """Return the parts of values for which `function(value) op constant` can be true."""
        if _is_cast(function, to=(exp.DType.DATE,)):
            return PeriodScale(self.period, is_date=True).area(op, constant)
        is_year = isinstance(function, exp.Year) or (
            isinstance(function, exp.Extract) and function.name.upper() == "YEAR"
        )
        if op is not exp.EQ or not is_year:
            return None
        year = constant.name if isinstance(constant, exp.Literal) and constant.is_int else ""
        if not re.fullmatch(r"[1-9][0-9]{3}", year):
            return None
        first, last = date(int(year), 1, 1), date(int(year), 12, 31)
        return Area(((self._period_number(first), self._period_number(last)),))

    def _read_timestamp(self, node: exp.Expr) -> datetime | None:
        """Return a date or time of day without time zone and fractions, which engines round."""
        is_whole_day = self.is_date or _is_cast(node, to=(exp.DType.DATE,))
        node = node.this if _is_cast(node, to=_WITHOUT_ZONE) else node
        if not isinstance(node, exp.Literal) or not node.is_string:
            return None
        is_short = len(node.name) == len("2026-01-01")
        if not _TIMESTAMP_PATTERN.fullmatch(node.name) or (is_whole_day and not is_short):
            return None
        try:
            return datetime.fromisoformat(node.name)
        except ValueError:  # 30 February
            return None

    def _period_number(self, day: date) -> int:
        match self.period:
            case "day":
                return day.toordinal()
            case "month":
                return day.year * 12 + day.month - 1
            case "quarter":
                return day.year * 4 + (day.month - 1) // 3
            case "year":
                return day.year
            case "decade":
                return day.year // 10

    def label(self, number: int) -> str:
        """Return the name of the part with this number."""
        if self.period == "day":
            return date.fromordinal(number).isoformat()
        return period_label(number, self.period)


def _is_cast(node: exp.Expr, *, to: tuple[exp.DType, ...]) -> bool:
    """Return whether `node` is a plain CAST to one of these types, without a precision or format."""
    if type(node) is not exp.Cast or node.to.this not in to:
        return False
    return not node.to.expressions and not node.args.get("format")
