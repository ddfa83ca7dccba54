"""What a synthetic table may hold, from the policy and the schema alone: codes, surrogates, rules.

No function here sees a row. Values and bounds are those that the policy declares, or those that were
found privately and paid for.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.engines.declared_schema import KIND_NAMES
from discreet.engines.engine import Column, Kind
from discreet.errors import InvalidHierarchy, UndeclaredDomain
from discreet.formatting import join_names
from discreet.policy.domain import declared_bounds, declared_date_bounds, declared_values
from discreet.policy.hierarchies.calendar import Calendar
from discreet.policy.hierarchies.intervals import Cuts, Intervals
from discreet.policy.hierarchy import Hierarchy, codes, listed_domain
from discreet.policy.model import ColumnPolicy, ColumnRole, TablePolicy
from discreet.policy.rules import DeclaredDependency, DeclaredRule, rules_without
from discreet.release.synthesize.binned_range import (
    BinnedRange,
    bin_dates,
    bin_real_numbers,
    bin_times,
    bin_timestamps,
    bin_whole_numbers,
)
from discreet.release.synthesize.coded_column import SIZED_DECIMAL, CodedColumn
from discreet.release.synthesize.junction_tree import Codes
from discreet.release.synthesize.listed_values import ListedValues, read_listed_values
from discreet.release.synthesize.row_rules import (
    RowRules,
    code_rules,
    rule_content,
    rule_from_content,
)
from discreet.release.synthesize.rules import Rule, resolve_rules
from discreet.release.synthesize.surrogates import (
    SurrogateColumn,
    choose_surrogate,
    is_free_text,
    make_surrogates,
)

_MOST_EDGES = 200  # of a hierarchy; more intervals than that are laid out anew
_MOST_CODES = 1000  # of categories that are whole numbers between bounds
Need = Literal["values", "bounds"]


@dataclass(frozen=True)
class TableDomain:
    """What a synthetic table may hold.

    Attributes:
        columns: The synthesized columns.
        surrogates: The columns whose cells are made up.
        order: The names of all columns of the output, in the source's order.
        declared_rules: What holds in every row, as the policy declares it.
    """

    columns: tuple[CodedColumn, ...]
    surrogates: tuple[SurrogateColumn, ...]
    order: tuple[str, ...]
    declared_rules: tuple[DeclaredRule, ...] = ()

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The declared rules over codes, as the fit takes them."""
        return code_rules(self.declared_rules, self.columns)

    def place(self, name: str) -> int | None:
        """Return the place of a synthesized column, None if there is no such one."""
        return next((i for i, one in enumerate(self.columns) if one.name == name), None)

    def decode(
        self,
        codes: NDArray[np.integer[Any]],
        chance: Generator,
        *,
        units: NDArray[np.integer[Any]] | None = None,
        keys: Mapping[str, NDArray[np.integer[Any]]] | None = None,
    ) -> Any:
        """Return rows of codes as an Arrow table of all columns, with surrogates.

        Guarantee: every declared rule holds in every row.

        Args:
            codes: A row for each row, a column for each synthesized column.
            chance: Where randomness comes from.
            units: The number of the unit of each row, from 0; without it each row is a unit.
            keys: For foreign keys, the number of the key that each row points to.
        """
        made = {
            one.name: one.decode(codes[:, place], chance) for place, one in enumerate(self.columns)
        }
        if self.declared_rules and len(codes):
            named = {one.name: codes[:, place] for place, one in enumerate(self.columns)}
            made = self.row_rules.apply(made, named, chance)
        made |= make_surrogates(self.surrogates, len(codes), chance, units=units, keys=keys)
        return pa.table({name: made[name] for name in self.order})

    @property
    def row_rules(self) -> RowRules:
        """The declared rules, for rows of values."""
        return RowRules(self.declared_rules, {one.name: one for one in self.columns})

    def to_content(self) -> dict[str, Any]:
        """Return all of it in plain values; every one of them is public."""
        return {
            "columns": [one.to_content() for one in self.columns],
            "surrogates": [one.to_content() for one in self.surrogates],
            "order": list(self.order),
            "rules": [rule_content(one) for one in self.declared_rules],
        }

    @staticmethod
    def from_content(content: Mapping[str, Any]) -> TableDomain:
        """Return what `to_content` wrote; raises `ValueError`, `KeyError` or `TypeError` for anything else."""
        columns = tuple(CodedColumn.from_content(one) for one in content["columns"])
        surrogates = tuple(SurrogateColumn.from_content(one) for one in content["surrogates"])
        order = tuple(str(name) for name in content["order"])
        if sorted(order) != sorted(one.name for one in (*columns, *surrogates)):
            raise ValueError("the order does not list each column once")
        rules = tuple(rule_from_content(one) for one in content["rules"])
        return TableDomain(columns, surrogates, order, rules)


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


def table_domain(
    policy: TablePolicy,
    columns: Sequence[Column],
    *,
    found: Mapping[str, FoundDomain] | None = None,
) -> TableDomain:
    """Return what a synthetic table may hold.

    Identifiers, households, foreign keys and free text get surrogates. A weight is synthesized where it
    has bounds, and left out otherwise. Columns that the policy does not list, or leaves out of releases,
    are left out.

    Args:
        policy: What is declared of the table.
        columns: The columns of the source, as its schema or the policy declares them.
        found: Values and bounds that were found privately, by column.

    Raises:
        UndeclaredDomain: The values or bounds of some columns are not declared; all are named.
        InvalidPolicy: A rule does not fit its columns, or no row meets all rules.

    >>> from discreet.policy import parse_policy
    >>> text = "tables: {people: {columns: {age: {role: sensitive, bounds: [0, 120]}}}}"
    >>> domain = table_domain(parse_policy(text).tables["people"], [Column("age", Kind.INTEGER)])
    >>> domain.columns[0].size
    122
    """
    known, implied = found or {}, _implied_values(policy)
    coded: list[CodedColumn] = []
    surrogates: list[SurrogateColumn] = []
    undeclared: list[UndeclaredColumn] = []
    order: list[str] = []
    for column, said in _published_columns(policy, columns):
        planned = _as_declared(column, said)
        if _is_made_up(planned, said, policy):
            references = said.references if said else None
            is_unit = column.name == policy.unit
            surrogates.append(choose_surrogate(planned, is_unit=is_unit, references=references))
        elif said is not None:
            made = _code_column(planned, said, known.get(column.name), implied.get(column.name))
            if isinstance(made, UndeclaredColumn):
                if said.role is not ColumnRole.WEIGHT:
                    undeclared.append(made)
                continue
            coded.append(made)
        order.append(column.name)
    if undeclared:
        raise _undeclared_error(policy.name, undeclared)
    rules = rules_without(policy.rules, set(_all_names(policy)) - set(order))
    domain = TableDomain(tuple(coded), tuple(surrogates), tuple(order), rules)
    # What the rules forbid must be known before anything is paid for.
    resolve_rules(domain.rules, [one.size for one in domain.columns])
    return domain


def undeclared_columns(
    policy: TablePolicy, columns: Sequence[Column]
) -> tuple[UndeclaredColumn, ...]:
    """Return the columns whose values or bounds would have to be found privately.

    Raises:
        UndeclaredDomain: A rule names one of them. It could turn out not to fit what is found, when that
            is paid for already.
    """
    implied = _implied_values(policy)
    tried = [
        _code_column(_as_declared(column, said), said, None, implied.get(column.name))
        for column, said in _published_columns(policy, columns)
        if said is not None
        and said.role is not ColumnRole.WEIGHT
        and not _is_made_up(_as_declared(column, said), said, policy)
    ]
    found = tuple(one for one in tried if isinstance(one, UndeclaredColumn))
    ruled = [one for one in found if one.column.name in _all_names(policy)]
    if ruled:
        raise UndeclaredDomain(
            f"A rule of '{policy.name}' names '{ruled[0].column.name}', whose values are not declared, so that "
            f"it may not fit what is found. {ruled[0].remedy.capitalize()}, or remove the rule.",
            columns=tuple(one.column.name for one in ruled),
        )
    return found


def _all_names(policy: TablePolicy) -> set[str]:
    return {name for rule in policy.rules for name in rule.columns}


def _implied_values(policy: TablePolicy) -> dict[str, tuple[str, ...]]:
    """Return the values of columns that follow from others by a public table."""
    return {
        rule.column: tuple(dict.fromkeys(row[-1] for row in rule.rows))
        for rule in policy.rules
        if isinstance(rule, DeclaredDependency)
    }


def _published_columns(
    policy: TablePolicy, columns: Iterable[Column]
) -> Iterable[tuple[Column, ColumnPolicy | None]]:
    for column in columns:
        said = policy.column(column.name)
        is_listed = said is not None or column.name == policy.unit
        if is_listed and column.name not in policy.release.leave_out:
            yield column, said


def _as_declared(column: Column, said: ColumnPolicy | None) -> Column:
    """Return a column with the kind that questions plan it with: whole numbers may be declared as reals."""
    is_number = said is not None and said.kind == KIND_NAMES[Kind.REAL]
    is_real = is_number and column.kind is Kind.INTEGER
    return Column(column.name, Kind.REAL, "") if is_real else column


def _is_made_up(column: Column, said: ColumnPolicy | None, policy: TablePolicy) -> bool:
    if said is None or column.name == policy.unit or said.role.names_people:
        return True
    is_open = declared_values(said) is None and said.hierarchy is None
    return is_open and (said.references is not None or is_free_text(column))


def _code_column(
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


def _undeclared_error(table: str, columns: Sequence[UndeclaredColumn]) -> UndeclaredDomain:
    by_remedy: dict[str, list[str]] = {}
    for one in columns:
        by_remedy.setdefault(one.remedy, []).append(one.column.name)
    listed = "; ".join(f"{join_names(some)}: {remedy}" for remedy, some in by_remedy.items())
    names = ", ".join(one.column.name for one in columns)
    return UndeclaredDomain(
        f"The values of a synthetic table must be public, and the policy of '{table}' does not declare those "
        f"of {len(columns)} {'column' if len(columns) == 1 else 'columns'}. {listed}. "
        f"Or leave them out: `release: {{leave-out: [{names}]}}`. Or let a share of the price find them with "
        "noise: `--find-domains 0.1`.",
        columns=tuple(one.column.name for one in columns),
    )
