"""The codes of a declared column, from the policy and the schema alone.

No function here sees a row. Values and bounds are those that the policy declares, or those that were
found privately and paid for.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from discreet.domain.binned_range import (
    BinnedRange,
    bin_dates,
    bin_real_numbers,
    bin_times,
    bin_timestamps,
    bin_whole_numbers,
)
from discreet.domain.coded_column import SIZED_DECIMAL, CodedColumn, Codes
from discreet.domain.listed_values import ListedValues, read_listed_values
from discreet.engines.declared_schema import KIND_NAMES
from discreet.engines.engine import Column, Kind
from discreet.errors import InvalidHierarchy, UndeclaredDomain
from discreet.formatting import join_names
from discreet.policy.domain import declared_bounds, declared_date_bounds, declared_values
from discreet.policy.hierarchies.calendar import Calendar
from discreet.policy.hierarchies.intervals import Cuts, Intervals
from discreet.policy.hierarchy import Hierarchy, codes, listed_domain
from discreet.policy.model import ColumnPolicy

_MOST_EDGES = 200  # of a hierarchy; more intervals than that are laid out anew
_MOST_CODES = 1000  # of categories that are whole numbers between bounds
Need = Literal["values", "bounds"]


@dataclass(frozen=True)
class FoundDomain:
    """The values or bounds of a column that were found privately and paid for.

    Attributes:
        values: Values that enough people have; all others share a code.
        bounds: The smallest and the largest value: two numbers, dates or timestamps.
    """

    values: tuple[str, ...] | None = None
    bounds: tuple[Any, Any] | None = None


@dataclass(frozen=True)
class UndeclaredColumn:
    """A column whose domain the policy does not declare: what would have to be found, and why."""

    column: Column
    need: Need
    remedy: str


def column_as_declared(column: Column, said: ColumnPolicy | None) -> Column:
    """Return a column with the kind that questions plan it with: whole numbers may be declared as reals."""
    is_number = said is not None and said.kind == KIND_NAMES[Kind.REAL]
    is_real = is_number and column.kind is Kind.INTEGER
    return Column(column.name, Kind.REAL, "") if is_real else column


def code_column(
    column: Column,
    said: ColumnPolicy,
    found: FoundDomain | None,
    implied: tuple[str, ...] | None,
) -> CodedColumn | UndeclaredColumn:
    """Return how a column is coded, or what is missing for it."""
    values = _listed_texts(said)
    if values is not None:
        listed = read_listed_values(values, _kind_of_values(column), column.type)
        if listed is None:
            kind = KIND_NAMES.get(column.kind, column.kind.value)
            return UndeclaredColumn(
                column,
                "values",
                f"some of its `values` are no {kind}, or the same one; correct them",
            )
        return _with_levels(column, replace(listed, is_scale=said.is_ordered), said.hierarchy)
    coding = _public_coding(column) or _bounded_coding(column, said, found)
    if coding is not None:
        return _with_levels(column, coding, said.hierarchy)
    if implied is not None:
        listed = read_listed_values(implied, _kind_of_values(column), column.type)
        if listed is not None:
            return CodedColumn(column.name, listed.kind, listed)
    if found is not None and found.values is not None and column.kind in (Kind.TEXT, Kind.OTHER):
        listed = read_listed_values(found.values, Kind.TEXT, column.type)
        if listed is not None:
            return CodedColumn(column.name, Kind.TEXT, replace(listed, has_other=True))
    return UndeclaredColumn(column, *_find_remedy(column, said))


def _listed_texts(said: ColumnPolicy) -> tuple[str, ...] | None:
    values = declared_values(said)
    if values is not None:
        return values
    if said.hierarchy is not None:
        listed = listed_domain(said.hierarchy)
        if listed is not None:
            return tuple(listed.to_pylist())
    labels = tuple(dict.fromkeys(label for _, label in said.written.labels))
    return labels or None


def _kind_of_values(column: Column) -> Kind:
    return Kind.TEXT if column.kind is Kind.OTHER else column.kind


def _public_coding(column: Column) -> ListedValues | BinnedRange | None:
    """Return the codes of kinds whose values are known to all."""
    if column.kind is Kind.BOOLEAN:
        return ListedValues(Kind.BOOLEAN, (False, True), type_name=column.type)
    return bin_times(column.type) if column.kind is Kind.TIME else None


def _bounded_coding(
    column: Column, said: ColumnPolicy, found: FoundDomain | None
) -> ListedValues | BinnedRange | None:
    low, high = _choose_bounds(column, said, found) or (None, None)
    if low is None or high is None:
        return None
    if column.kind in (Kind.DATE, Kind.TIMESTAMP):
        # Weeks do not nest in months, which a calendar has.
        bins = bin_dates if column.kind is Kind.DATE else bin_timestamps
        has_weeks = not isinstance(said.hierarchy, Calendar)
        return bins(low, high, has_weeks=has_weeks, type_name=column.type)
    edges = _hierarchy_edges(said.hierarchy, low, high)
    if column.kind is Kind.INTEGER and not said.is_ordered and high - low < _MOST_CODES:
        values = tuple(range(math.ceil(low), math.floor(high) + 1))
        return ListedValues(Kind.INTEGER, values, type_name=column.type, is_scale=False)
    if column.kind is Kind.INTEGER:
        return bin_whole_numbers(low, high, edges=edges, type_name=column.type)
    scale = SIZED_DECIMAL.fullmatch(column.type)
    digits = int(scale[2]) if scale else max(_decimals_of(low), _decimals_of(high))
    return bin_real_numbers(
        low, high, kind=column.kind, digits=digits, edges=edges, type_name=column.type
    )


def _choose_bounds(
    column: Column, said: ColumnPolicy, found: FoundDomain | None
) -> tuple[Any, Any] | None:
    """Return declared bounds, or those that were found."""
    if column.kind.is_number:
        bounds = declared_bounds(said)
        if bounds is None and isinstance(said.hierarchy, Cuts):
            cuts = said.hierarchy.levels[0]
            bounds = cuts[0], cuts[-1]
        if bounds is None and found is not None and found.bounds is not None:
            low, high = found.bounds
            bounds = Decimal(str(low)), Decimal(str(high))
        return bounds
    if column.kind not in (Kind.DATE, Kind.TIMESTAMP):
        return None
    ends = declared_date_bounds(said) or (found.bounds if found else None)
    if ends is None:
        return None
    low, high = ends
    if column.kind is Kind.DATE:
        return _day_of(low), _day_of(high)
    return _moment_of(low, dt.time.min), _moment_of(high, dt.time.max)


def _day_of(end: dt.date) -> dt.date:
    return end.date() if isinstance(end, dt.datetime) else end


def _moment_of(end: dt.date, time: dt.time) -> dt.datetime:
    """Return a moment; a day stands for all of its times."""
    return end if isinstance(end, dt.datetime) else dt.datetime.combine(end, time)


def _decimals_of(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _hierarchy_edges(hierarchy: Hierarchy | None, low: Decimal, high: Decimal) -> list[Decimal]:
    """Return where the finest intervals of a hierarchy begin, so that bins lie within them."""
    if isinstance(hierarchy, Cuts):
        return list(hierarchy.levels[0])
    if not isinstance(hierarchy, Intervals):
        return []
    step, origin = hierarchy.steps[0], hierarchy.origin
    if (high - low) / step > _MOST_EDGES:
        return []
    first = ((low - origin) / step).to_integral_value("ROUND_FLOOR")
    count = int((high - low) / step) + 2
    return [origin + (first + place) * step for place in range(count)]


def _with_levels(
    column: Column, coding: ListedValues | BinnedRange, hierarchy: Hierarchy | None
) -> CodedColumn:
    kind = coding.kind
    if hierarchy is None:
        return CodedColumn(column.name, kind, coding)
    firsts, lasts = coding.representatives()
    count = coding.size
    try:
        both = codes(hierarchy, pa.concat_arrays([firsts, lasts]))
    except InvalidHierarchy:
        if isinstance(coding, ListedValues):
            raise
        return CodedColumn(column.name, kind, coding)  # a rule that does not cover the bounds
    levels: list[Codes] = []
    for level in reversed(both[1:-1]):
        # A bin that lies in two intervals has no one coarser code.
        if (level[:count] != level[count:]).any():
            continue
        _, groups = np.unique(level[:count], return_inverse=True)
        size = int(groups.max()) + 1
        if 1 < size < count:
            levels.append(np.append(groups, size).astype(np.intp))
    return CodedColumn(column.name, kind, coding, tuple(levels))


def _find_remedy(column: Column, said: ColumnPolicy) -> tuple[Need, str]:
    is_dated = column.kind in (Kind.DATE, Kind.TIMESTAMP)
    if "bounds" in said.drafted and (is_dated or column.kind.is_number):
        return "bounds", "`bounds` are `drafted`, so change the word to `public` if they are"
    if column.kind.is_number:
        return "bounds", "write `bounds: [lowest, highest]`, or `values: […]`"
    if is_dated:
        return "bounds", "write `bounds`, such as `bounds: [2020-01-01, 2024-12-31]`"
    if "values" in said.drafted:
        return "values", "`values` are `drafted`, so change the word to `public` if they are"
    return "values", "write `values: […]`, or a hierarchy of the kind `tree` or `file`"


def undeclared_error(
    table: str, columns: Sequence[UndeclaredColumn], *, purpose: str, alternatives: str
) -> UndeclaredDomain:
    """Return the error that names all columns whose domain is missing, with the remedy of each.

    Args:
        table: The table.
        columns: What is missing.
        purpose: Whose values must be public, such as `a synthetic table`.
        alternatives: What else helps than to declare them; whole sentences.
    """
    by_remedy: dict[str, list[str]] = {}
    for one in columns:
        by_remedy.setdefault(one.remedy, []).append(one.column.name)
    listed = "; ".join(f"{join_names(some)}: {remedy}" for remedy, some in by_remedy.items())
    return UndeclaredDomain(
        f"The values of {purpose} must be public, and the policy of '{table}' does not declare those "
        f"of {len(columns)} {'column' if len(columns) == 1 else 'columns'}. {listed}. {alternatives}",
        columns=tuple(one.column.name for one in columns),
    )
