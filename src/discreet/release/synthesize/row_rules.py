"""Declared rules, as rules over codes for the fit, and as what holds in every row of values.

Codes are coarse: two dates of one bin may stand in the wrong order although their codes do not. So rows are
drawn by rules over codes first, then put right within their bins, and checked as anyone could check them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc
from discreet.domain.coded_column import CodedColumn
from discreet.domain.listed_values import ListedValues, number_of, read_declared_value
from discreet.engines.engine import Kind
from discreet.errors import InvalidPolicy
from discreet.policy.rules import (
    DeclaredDependency,
    DeclaredImpossible,
    DeclaredOrder,
    DeclaredRule,
    DeclaredSum,
    ValueCondition,
    rule_value,
)
from discreet.policy.rules_schema import read_condition
from discreet.release.synthesize.rules import DependencyRule, ImpossibleRule, OrderRule, Rule

Values = dict[str, ArrowArray]
Mask = NDArray[np.bool_]


def code_rules(
    declared: Sequence[DeclaredRule], columns: Sequence[CodedColumn]
) -> tuple[Rule, ...]:
    """Return rules over the codes of columns.

    Raises:
        InvalidPolicy: A rule does not fit the columns that it names; every such rule is listed.
    """
    named = {column.name: (place, column) for place, column in enumerate(columns)}
    found: list[Rule] = []
    faults: list[str] = []
    for rule in declared:
        try:
            found += _code_rule(rule, named)
        except _Misfit as fault:
            line = "" if rule.line is None else f"line {rule.line}: "
            faults.append(f"policy: {line}rule '{next(iter(rule_value(rule)))}': {fault}")
    try:
        found += _code_orders([one for one in declared if isinstance(one, DeclaredOrder)], named)
    except _Misfit as fault:
        faults.append(f"policy: rule 'order': {fault}")
    if faults:
        raise InvalidPolicy(faults)
    return tuple(found)


class _Misfit(Exception):
    """A rule that does not fit its columns; says why."""


Named = Mapping[str, tuple[int, CodedColumn]]


def _code_rule(rule: DeclaredRule, named: Named) -> list[Rule]:
    missing = [name for name in rule.columns if name not in named]
    if missing:
        raise _Misfit(
            f"'{missing[0]}' is not synthesized, so that no rule can hold for it. Remove the rule."
        )
    match rule:
        case DeclaredDependency():
            return [_code_dependency(rule, named)]
        case DeclaredImpossible():
            masks = [
                _meets_condition(named[name][1], condition) for name, condition in rule.conditions
            ]
            places = tuple(named[name][0] for name in rule.columns)
            return [ImpossibleRule(places, np.asarray(reduce(np.logical_and.outer, masks)))]
        case DeclaredSum():
            return [_code_sum(rule, named)]
        case DeclaredOrder():
            return []  # all orders together


def _code_dependency(rule: DeclaredDependency, named: Named) -> Rule:
    place, column = named[rule.column]
    sources = [named[name] for name in rule.determinants]
    for _, source in sources:
        ends = source.coding.ends
        if ends is not None and (ends[0] != ends[1]).any():
            raise _Misfit(f"'{source.name}' has bins, not values. Give it `values`.")
    codes = np.full([source.size for _, source in sources], column.missing, np.intp)
    for row in rule.rows:
        cell = tuple(
            _code_of(source, text) for (_, source), text in zip(sources, row[:-1], strict=True)
        )
        codes[cell] = _code_of(column, row[-1])
    return DependencyRule(place, tuple(place for place, _ in sources), codes)


def _code_of(column: CodedColumn, text: str) -> int:
    """Return the code of a value that a rule writes."""
    value = read_declared_value(text, column.kind)
    code = -1 if value is None else int(column.coding.find_code(value))
    if code < 0:
        raise _Misfit(f"'{text}' is no value of '{column.name}'. Correct it, or declare it there.")
    return code


def _meets_condition(column: CodedColumn, condition: ValueCondition) -> Mask:
    """Return which codes a condition meets, wholly or in part."""
    met = np.zeros(column.size, bool)
    if condition.is_missing:
        met[column.missing] = True
    for text in condition.values:
        met[_code_of(column, text)] = True
    if condition.below is None and condition.above is None:
        return met
    firsts, lasts = _number_ends(column)
    inside = np.ones(column.coding.size, bool)
    if condition.below is not None:
        inside &= firsts < _read_limit(condition.below, column)
    if condition.above is not None:
        inside &= lasts > _read_limit(condition.above, column)
    met[: column.coding.size] |= inside
    return met


def _number_ends(column: CodedColumn) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    ends = column.coding.ends
    if ends is None:
        raise _Misfit(f"'{column.name}' has no order. Name a column of numbers or dates.")
    return ends


def _read_limit(text: str, column: CodedColumn) -> float:
    kind = Kind.REAL if column.kind.is_number else column.kind
    value = read_declared_value(text, kind)
    if value is None:
        raise _Misfit(f"'{text}' cannot be compared with '{column.name}'.")
    return number_of(value)


def _code_sum(rule: DeclaredSum, named: Named) -> Rule:
    """Return the sum as a function of its parts: the bin of the sum of their middles."""
    place, total = named[rule.total]
    parts = [named[name] for name in rule.parts]
    for _, column in (named[rule.total], *parts):
        if not column.kind.is_number or column.coding.ends is None:
            raise _Misfit(f"'{column.name}' is no column of numbers.")
    if not _can_add([column for _, column in parts], total):
        raise _Misfit(
            f"sums of {', '.join(rule.parts)} have more decimals than '{rule.total}' holds. "
            "Give it the kind of its parts."
        )
    ends = [_number_ends(column) for _, column in parts]
    lows, highs = (_add_up([one[side] for one in ends]) for side in (0, 1))
    if isinstance(total.coding, ListedValues):
        if (lows != highs).any():
            raise _Misfit(f"'{rule.total}' has `values`. Give it `bounds`, as its parts have bins.")
        inner = total.coding.bins_of(lows)
    else:
        first, last = _number_ends(total)[0][0], _number_ends(total)[1][-1]
        middle = np.clip((lows + highs) / 2, first, last)
        middle = np.floor(middle) if total.kind is Kind.INTEGER else middle
        inner = np.where((lows > last) | (highs < first), -1, total.coding.bins_of(middle))
    codes = np.full([column.size for _, column in parts], total.missing, np.intp)
    codes[tuple(slice(0, column.coding.size) for _, column in parts)] = inner
    return DependencyRule(place, tuple(place for place, _ in parts), codes)


def _add_up(numbers: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.asarray(reduce(np.add.outer, numbers))


def _can_add(parts: Iterable[CodedColumn], total: CodedColumn) -> bool:
    """Whether the sum of the parts always is a value of the total's type."""
    if total.kind is Kind.REAL or total.arrow_type == pa.float64():
        return True
    held = 0 if total.kind is Kind.INTEGER else total.arrow_type.scale
    for part in parts:
        if part.kind is Kind.REAL or part.arrow_type == pa.float64():
            return False
        if part.kind is Kind.DECIMAL and part.arrow_type.scale > held:
            return False
    return True


def _code_orders(orders: Sequence[DeclaredOrder], named: Named) -> list[Rule]:
    """Return each pair of columns that follows from orders, as one order over codes."""
    known = [one for one in orders if all(name in named for name in one.columns)]
    found: list[Rule] = []
    for lower, upper in sorted(_close_orders(known)):
        (low_place, low), (high_place, high) = named[lower], named[upper]
        is_number = low.kind.is_number and high.kind.is_number
        if not is_number and (low.kind is not high.kind or low.kind is Kind.TEXT):
            raise _Misfit(
                f"'{lower}' and '{upper}' cannot be compared: they are of different kinds."
            )
        firsts, lasts = _number_ends(low)[0], _number_ends(high)[1]
        found.append(
            OrderRule(low_place, high_place, np.append(firsts, np.nan), np.append(lasts, np.nan))
        )
    return found


def _close_orders(orders: Iterable[DeclaredOrder]) -> set[tuple[str, str]]:
    """Return all pairs of a lower and an upper column."""
    pairs = {
        (lower, upper)
        for one in orders
        for place, lower in enumerate(one.columns)
        for upper in one.columns[place + 1 :]
    }
    while True:
        more = {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs
        if not more:
            break
        pairs |= more
    if any(lower == upper for lower, upper in pairs):
        raise _Misfit("the orders form a circle. Remove one of them.")
    return pairs


# -- values


@dataclass(frozen=True)
class RowRules:
    """The declared rules of a table, for its rows of values."""

    declared: tuple[DeclaredRule, ...]
    columns: Mapping[str, CodedColumn]

    def apply(
        self, values: Values, codes: Mapping[str, NDArray[np.integer[Any]]], chance: Generator
    ) -> Values:
        """Return values that meet every rule: changed within their bins, or whole rows drawn again.

        Raises:
            InvalidPolicy: No row meets all rules.
        """
        if not self.declared:
            return values
        made = self._put_in_order(dict(values), codes, chance)
        for rule in self.declared:
            if isinstance(rule, DeclaredSum):
                made = self._add_parts(rule, made, codes)
            elif isinstance(rule, DeclaredDependency):
                made[rule.column] = self._look_up(rule, made)
        broken = self.find_broken(made)
        if not broken.any():
            return made
        whole = np.flatnonzero(~broken)
        if not len(whole):
            raise InvalidPolicy(
                [
                    "The rules contradict each other: no row meets all of them. Remove or correct a rule."
                ]
            )
        places = np.arange(len(broken))
        places[broken] = chance.choice(whole, int(broken.sum()))
        return {name: cells.take(pa.array(places)) for name, cells in made.items()}

    def find_broken(self, values: Mapping[str, ArrowArray]) -> Mask:
        """Return which rows break a rule, judged by their values alone."""
        broken = np.zeros(len(next(iter(values.values()))), bool)
        for rule in self.declared:
            match rule:
                case DeclaredOrder():
                    for lower, upper in zip(rule.columns, rule.columns[1:], strict=False):
                        broken |= self._numbers_of(values, lower) > self._numbers_of(values, upper)
                case DeclaredImpossible():
                    met = [
                        self._cells_meeting(values[name], name, one)
                        for name, one in rule.conditions
                    ]
                    broken |= np.logical_and.reduce(met)
                case DeclaredDependency():
                    broken |= _find_differences(values[rule.column], self._look_up(rule, values))
                case DeclaredSum():
                    broken |= _find_differences(values[rule.total], self._sum_of(rule, values))
        return broken

    def _numbers_of(self, values: Mapping[str, ArrowArray], name: str) -> NDArray[np.float64]:
        return numbers_of(values[name], self.columns[name].kind)

    def _cells_meeting(self, cells: ArrowArray, name: str, condition: ValueCondition) -> Mask:
        column = self.columns[name]
        met = np.zeros(len(cells), bool)
        if condition.is_missing:
            met |= cells.is_null().to_numpy(zero_copy_only=False)
        if condition.values:
            wanted = [read_declared_value(text, column.kind) for text in condition.values]
            listed = pa.array(wanted).cast(cells.type)
            met |= pc.is_in(cells, value_set=listed).to_numpy(zero_copy_only=False)
        if condition.below is not None or condition.above is not None:
            numbers = numbers_of(cells, column.kind)
            inside = ~np.isnan(numbers)
            if condition.below is not None:
                inside &= numbers < _read_limit(condition.below, column)
            if condition.above is not None:
                inside &= numbers > _read_limit(condition.above, column)
            met |= inside
        return met

    def _look_up(self, rule: DeclaredDependency, values: Mapping[str, ArrowArray]) -> ArrowArray:
        """Return what follows from the cells that decide."""
        column = self.columns[rule.column]
        sizes = [self.columns[name].size for name in rule.determinants]
        flat = np.full(int(np.prod(sizes)), len(rule.rows), np.int64)
        for number, row in enumerate(rule.rows):
            cell = [
                _code_of(self.columns[name], text)
                for name, text in zip(rule.determinants, row[:-1], strict=True)
            ]
            flat[np.ravel_multi_index(cell, sizes)] = number
        codes = [self.columns[name].encode(values[name]) for name in rule.determinants]
        results = [read_declared_value(row[-1], column.kind) for row in rule.rows]
        table = pa.array([*results, None]).cast(column.arrow_type)
        return table.take(pa.array(flat[np.ravel_multi_index(codes, sizes)]))

    def _sum_of(self, rule: DeclaredSum, values: Mapping[str, ArrowArray]) -> ArrowArray:
        kind = self.columns[rule.total].arrow_type
        return reduce(pc.add, [values[name].cast(kind) for name in rule.parts]).cast(kind)

    def _add_parts(
        self, rule: DeclaredSum, values: Values, codes: Mapping[str, NDArray[np.integer[Any]]]
    ) -> Values:
        """Return the sum, and parts that are moved within their bins where it would leave its bounds."""
        firsts, lasts = _number_ends(self.columns[rule.total])
        numbers = np.array([self._numbers_of(values, name) for name in rule.parts])
        ends = [self._bin_ends(name, codes[name]) for name in rule.parts]
        for side, is_beyond, limit in (
            (0, numbers.sum(axis=0) > lasts[-1], lasts[-1]),
            (1, numbers.sum(axis=0) < firsts[0], firsts[0]),
        ):
            toward = np.array([one[side] for one in ends])
            room = (numbers - toward).sum(axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.clip((limit - toward.sum(axis=0)) / room, 0, 1)
            moved = toward + np.trunc((numbers - toward) * share)
            numbers = np.where(is_beyond & np.isfinite(share), moved, numbers)
            for place, name in enumerate(rule.parts):
                if is_beyond.any():
                    values[name] = self._from_numbers(name, numbers[place])
        values[rule.total] = self._sum_of(rule, values)
        return values

    def _put_in_order(
        self, values: Values, codes: Mapping[str, NDArray[np.integer[Any]]], chance: Generator
    ) -> Values:
        """Return values of which none is above one that it must not exceed, drawn again within their bins."""
        pairs = _close_orders(one for one in self.declared if isinstance(one, DeclaredOrder))
        broken = np.zeros(len(next(iter(values.values()))), bool)
        for lower, upper in pairs:
            broken |= self._numbers_of(values, lower) > self._numbers_of(values, upper)
        if not broken.any():
            return values
        rows = np.flatnonzero(broken)
        names = sorted({name for pair in pairs for name in pair})
        names.sort(key=lambda name: sum(upper == name for _, upper in pairs))
        ends = {name: self._bin_ends(name, codes[name][rows]) for name in names}
        drawn: dict[str, NDArray[np.float64]] = {}
        for name in names:
            lows = [ends[name][0], *(drawn[low] for low, upper in pairs if upper == name)]
            highs = [ends[name][1], *(ends[high][1] for lower, high in pairs if lower == name)]
            low, high = np.fmax.reduce(lows), np.fmin.reduce(highs)
            low = np.where(np.isnan(ends[name][0]), np.nan, low)
            spread = np.maximum(high - low, 0)
            if self.columns[name].kind in (Kind.REAL, Kind.DECIMAL):
                drawn[name] = np.minimum(low + np.round(chance.random(len(rows)) * spread, 2), high)
            else:
                drawn[name] = low + np.floor(chance.random(len(rows)) * (spread + 1))
            numbers = self._numbers_of(values, name)
            numbers[rows] = drawn[name]
            values[name] = self._from_numbers(name, numbers)
        return values

    def _bin_ends(
        self, name: str, codes: NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        first, last = _number_ends(self.columns[name])
        return np.append(first, np.nan)[codes], np.append(last, np.nan)[codes]

    def _from_numbers(self, name: str, numbers: NDArray[np.float64]) -> ArrowArray:
        column = self.columns[name]
        return cells_of_numbers(numbers, column.kind).cast(column.arrow_type)


def numbers_of(cells: ArrowArray, kind: Kind) -> NDArray[np.float64]:
    """Return cells as numbers, days or seconds; NaN where there is none."""
    match kind:
        case Kind.DATE:
            cells = cells.cast(pa.int32())
        case Kind.TIMESTAMP | Kind.TIME:
            wanted = pa.timestamp("us") if kind is Kind.TIMESTAMP else pa.time64("us")
            seconds = pc.divide(cells.cast(wanted).cast(pa.int64()).cast(pa.float64()), 1e6)
            return pc.fill_null(seconds, np.nan).to_numpy(zero_copy_only=False)
        case _:
            pass
    return pc.fill_null(cells.cast(pa.float64()), np.nan).to_numpy(zero_copy_only=False).copy()


def cells_of_numbers(numbers: NDArray[np.float64], kind: Kind) -> ArrowArray:
    """Return numbers, days or seconds as cells; NaN is a missing one."""
    is_null = np.isnan(numbers)
    if kind in (Kind.REAL, Kind.DECIMAL):
        return pa.array(numbers, mask=is_null)
    whole = np.where(is_null, 0, numbers).astype(np.int64)
    match kind:
        case Kind.DATE:
            return pa.array(whole.astype(np.int32), pa.int32(), mask=is_null).cast(pa.date32())
        case Kind.TIMESTAMP:
            return pa.array(whole * 1_000_000, mask=is_null).cast(pa.timestamp("us"))
        case Kind.TIME:
            return pa.array(whole * 1_000_000, mask=is_null).cast(pa.time64("us"))
        case _:
            return pa.array(whole, mask=is_null)


def _find_differences(left: ArrowArray, right: ArrowArray) -> Mask:
    """Return where two columns do not have the same cell; two missing ones are the same."""
    both = pc.and_(left.is_null(), right.is_null())
    same = pc.or_(pc.fill_null(pc.equal(left, right), False), both)
    return ~same.to_numpy(zero_copy_only=False)


# -- content


def rule_content(rule: DeclaredRule) -> dict[str, Any]:
    """Return a rule in plain values, without a file beside it."""
    if isinstance(rule, DeclaredDependency):
        rows = [list(row) for row in rule.rows]
        return {"dependency": {"from": list(rule.determinants), "to": rule.column, "rows": rows}}
    return dict(rule_value(rule))


def rule_from_content(content: Mapping[str, Any]) -> DeclaredRule:
    """Return what `rule_content` wrote; raises `ValueError`, `KeyError` or `TypeError` for anything else."""
    ((name, value),) = content.items()
    match name:
        case "order":
            return DeclaredOrder(tuple(str(one) for one in value))
        case "sum":
            return DeclaredSum(str(value["total"]), tuple(str(one) for one in value["parts"]))
        case "never":
            return DeclaredImpossible(
                tuple((str(column), read_condition(one)) for column, one in value.items())
            )
        case "dependency":
            rows = tuple(tuple(str(one) for one in row) for row in value["rows"])
            return DeclaredDependency(str(value["to"]), tuple(value["from"]), rows)
        case _:
            raise ValueError("there is no such rule")
