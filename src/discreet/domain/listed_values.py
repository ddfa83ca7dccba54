"""Columns whose possible values are listed: categories, codes, booleans."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

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
from discreet.engines.engine import Kind
from discreet.sql import build
from discreet.sql.search import match_cases, place_in_list

# What stands in a synthetic cell for a value that is not listed, where such values have a code.
OTHER = "*"
# From so many texts on, engines look them up in their own way.
_MANY = 16
_SINGLE = ("FLOAT", "FLOAT4", "REAL")  # types of four bytes, in which 0.1 is another number


def read_declared_value(text: str, kind: Kind) -> object | None:
    """Return a value that a policy writes as one of its column's kind, None if it is none.

    >>> read_declared_value("007", Kind.INTEGER), read_declared_value("7 %", Kind.INTEGER)
    (7, None)
    """
    try:
        match kind:
            case Kind.INTEGER:
                return int(text)
            case Kind.REAL | Kind.DECIMAL:
                number = float(Decimal(text.strip()))
                return number if np.isfinite(number) else None
            case Kind.BOOLEAN:
                return {"true": True, "false": False}.get(text.strip().lower())
            case Kind.DATE:
                return dt.date.fromisoformat(text)
            case Kind.TIMESTAMP:
                return dt.datetime.fromisoformat(text).replace(tzinfo=None)
            case Kind.TIME:
                return dt.time.fromisoformat(text).replace(tzinfo=None)
            case _:
                return text
    except (ValueError, InvalidOperation, OverflowError):
        return None


def number_of(value: Any) -> float:
    """Return a number as it is, a date as days and a moment as seconds since 1970, a time as seconds."""
    if isinstance(value, dt.datetime):
        return (value - dt.datetime(1970, 1, 1)).total_seconds()  # noqa: DTZ001 -- without zone, as cells are
    if isinstance(value, dt.date):
        return float((value - dt.date(1970, 1, 1)).days)
    if isinstance(value, dt.time):
        return value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6
    return float(value)


@dataclass(frozen=True)
class ListedValues:
    """Values by their places in a list.

    Attributes:
        kind: What the values are.
        values: The values, as Python has them.
        has_other: Whether all values that are not listed share a code, after the listed ones.
            Otherwise they count as missing.
        type_name: The engine's type of the column.
        is_scale: Whether numbers lie on a scale; otherwise they are codes of categories.
    """

    kind: Kind
    values: tuple[Any, ...]
    has_other: bool = False
    type_name: str = ""
    is_scale: bool = True

    @property
    def size(self) -> int:
        """How many codes there are, without that of missing values."""
        return len(self.values) + self.has_other

    @property
    def is_ordered(self) -> bool:
        """Whether neighbors in the list are neighbors on a scale."""
        is_scale = self.is_scale and self.kind.is_ordered and not self.has_other
        return is_scale and list(self.values) == sorted(self.values)

    def code(self, cell: exp.Expr, *, missing: int) -> exp.Expr:
        """Return the code of a cell; `missing` where there is no value, or none that is listed."""
        value = comparable_cell(cell, self.kind, self.type_name)
        if self.kind is Kind.BOOLEAN:
            literals = [build.number(place) for place in range(len(self.values))]
            ifs = [
                exp.If(this=_truth_condition(value, is_true=bool(one)), true=code)
                for one, code in zip(self.values, literals, strict=True)
            ]
            return exp.Case(ifs=ifs, default=build.number(missing))
        rest = build.number(len(self.values) if self.has_other else missing)
        found = self._find_place(value, rest)
        is_missing = missing_condition(value, self.kind)
        return exp.Case(ifs=[exp.If(this=is_missing, true=build.number(missing))], default=found)

    def _find_place(self, value: exp.Expr, rest: exp.Expr) -> exp.Expr:
        if not self.values:  # where no value was found that enough people have
            return rest
        if self.kind in (Kind.TEXT, Kind.OTHER) and len(self.values) >= _MANY:
            place = place_in_list(value.copy(), self.values)
            return exp.Coalesce(this=place, expressions=[rest])
        places = {self._as_stored(one): place for place, one in enumerate(self.values)}
        if self.kind is Kind.REAL and not self.type_name:
            # A server may hold numbers in four bytes without saying so.
            most = float(np.finfo(np.float32).max)
            single = {float(np.float32(one)): places[one] for one in places if abs(one) <= most}
            places = single | places
        order = sorted(places, key=_sort_key)
        literals = [value_literal(one, self.kind) for one in order]
        return match_cases(value, literals, [places[one] for one in order], rest)

    def _as_stored(self, value: Any) -> Any:
        """Return a value as a column of its type holds it."""
        is_single = self.kind is Kind.REAL and self.type_name.upper() in _SINGLE
        return float(np.float32(value)) if is_single else value

    def encode(self, values: ArrowArray, *, missing: int) -> NDArray[np.int32]:
        """Return the codes of values in Python, as `code` does on an engine."""
        rest = len(self.values) if self.has_other else missing
        found = pc.index_in(
            _cast_values(values, self.kind), value_set=self.stored_values, skip_nulls=True
        )
        codes = pc.fill_null(found, rest).to_numpy(zero_copy_only=False).astype(np.int32)
        is_null = values.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
        return np.where(is_null, np.int32(missing), codes)

    @cached_property
    def stored_values(self) -> ArrowArray:
        """The values as a column of their type holds them: in four bytes 0.1 is another number."""
        return pa.array(
            [self._as_stored(one) for one in self.values], _COMPARED.get(self.kind, pa.string())
        )

    def decode(self, codes: NDArray[np.integer[Any]], chance: Generator) -> ArrowArray:  # noqa: ARG002 -- one shape with BinnedRange
        """Return the value of each code."""
        values = [*self.values, OTHER] if self.has_other else list(self.values)
        return pa.array(values, _COMPARED.get(self.kind, pa.string())).take(pa.array(codes))

    def representatives(self) -> tuple[ArrowArray, ArrowArray]:
        """Return the first and the last value of each code: here they are one."""
        values = [*self.values, None] if self.has_other else list(self.values)
        listed = pa.array(values, _COMPARED.get(self.kind, pa.string()))
        return listed, listed

    @cached_property
    def ends(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Each value twice, as a number, day or second, as bins have two ends; None for text."""
        if not self.kind.is_ordered or self.has_other:
            return None
        numbers = np.array([number_of(one) for one in self.values], float)
        return numbers, numbers

    def find_code(self, value: object) -> int:
        """Return the code of a value, -1 if it is not listed."""
        return self.values.index(value) if value in self.values else -1

    def bins_of(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the place of each number, day or second in the list; -1 where it is not there."""
        known = np.array([number_of(one) for one in self.values], float)
        order = np.argsort(known, kind="stable")
        places = np.clip(np.searchsorted(known[order], numbers), 0, len(known) - 1)
        return np.where(known[order][places] == numbers, order[places], -1)

    def to_content(self) -> dict[str, Any]:
        """Return all of it in plain values."""
        kept = [
            one if isinstance(one, (bool, int, float, str)) else one.isoformat()
            for one in self.values
        ]
        flags = {"other": self.has_other, "categories": not self.is_scale}
        return {"values": kept, **{name: True for name, is_set in flags.items() if is_set}}

    @staticmethod
    def from_content(content: dict[str, Any], kind: Kind, type_name: str) -> ListedValues:
        """Return what `to_content` wrote; raises `ValueError` for anything else."""
        values = content["values"]
        is_text = kind in (Kind.DATE, Kind.TIMESTAMP, Kind.TIME)
        read = [read_declared_value(str(one), kind) if is_text else one for one in values]
        wanted = _PYTHON.get(kind, str)
        if not all(
            type(one) in wanted if isinstance(wanted, tuple) else isinstance(one, wanted)
            for one in read
        ):
            raise ValueError("a value is not of its column's kind")
        if len(set(values)) != len(values):
            raise ValueError("a value is listed twice")
        has_other, is_scale = bool(content.get("other")), not content.get("categories")
        return ListedValues(kind, tuple(read), has_other, type_name, is_scale)


_COMPARED = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INTEGER: pa.int64(),
    Kind.REAL: pa.float64(),
    Kind.DECIMAL: pa.float64(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
    Kind.TIME: pa.time64("us"),
}
_PYTHON: dict[Kind, Any] = {
    Kind.BOOLEAN: (bool,),
    Kind.INTEGER: (int,),
    Kind.REAL: (int, float),
    Kind.DECIMAL: (int, float),
    Kind.DATE: dt.date,
    Kind.TIMESTAMP: dt.datetime,
    Kind.TIME: dt.time,
}


def read_listed_values(
    texts: Sequence[str], kind: Kind, type_name: str = ""
) -> ListedValues | None:
    """Return the values that a policy lists, None if one of them is not of the kind or is there twice."""
    read = [read_declared_value(text, kind) for text in texts]
    if any(one is None for one in read) or len(set(read)) < len(read):
        return None
    return ListedValues(kind, tuple(read), type_name=type_name)


def _sort_key(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _truth_condition(value: exp.Expr, *, is_true: bool) -> exp.Expr:
    return exp.Is(this=exp.Paren(this=value.copy()), expression=exp.Boolean(this=is_true))


def _cast_values(values: ArrowArray, kind: Kind) -> ArrowArray:
    wanted = _COMPARED.get(kind, pa.string())
    if pa.types.is_timestamp(values.type) and kind is Kind.TIMESTAMP:
        return values.cast(wanted, safe=False)
    return values.cast(wanted)
