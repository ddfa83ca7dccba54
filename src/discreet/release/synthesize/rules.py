"""Public rules that hold in every synthetic row: dependencies, orders, sums, impossible combinations.

All of them are declared, never learned. A column that others determine is dropped and derived; what is
left are structural zeros: combinations of codes of a few columns that no row may have.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidPolicy
from discreet.release.synthesize.junction_tree import Codes, Columns, Floats

Cells = NDArray[np.bool_]
Rows = NDArray[np.int32]

Number = TypeVar("Number", np.bool_, np.intp)

# The most combinations of codes that one rule may range over.
LARGEST_RULE = 1 << 24
# How many codes are tried before a set of rules counts as contradictory.
_MOST_TRIALS = 100_000
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class DependencyRule:
    """A column is a function of others.

    Attributes:
        column: The place of the column.
        determinants: The places of the columns that it depends on.
        codes: Its code for each combination of their codes: one axis for each of them.
    """

    column: int
    determinants: Columns
    codes: Codes


@dataclass(frozen=True)
class OrderRule:
    """One column is never above another one.

    Attributes:
        lower: The place of the column that is never above.
        upper: The place of the other one.
        lower_positions: Where each code of `lower` stands; NaN for a code that may stand with any other.
        upper_positions: Where each code of `upper` stands.
        is_strict: Whether they are never equal either.
    """

    lower: int
    upper: int
    lower_positions: Floats
    upper_positions: Floats
    is_strict: bool = False


@dataclass(frozen=True)
class ImpossibleRule:
    """Combinations of codes that no row has.

    Attributes:
        columns: The places of the columns.
        cells: Whether a combination is impossible: one axis for each of them.
    """

    columns: Columns
    cells: Cells


@dataclass(frozen=True)
class SumRule:
    """A column is the sum of others; where one of them is missing, it is missing.

    Attributes:
        column: The place of the sum.
        parts: The places of what is added.
        totals: The number that each code of `column` stands for; NaN for a missing one.
        values: For each of `parts`, the number that each of its codes stands for.
    """

    column: int
    parts: Columns
    totals: Floats
    values: tuple[Floats, ...]


Rule = DependencyRule | OrderRule | ImpossibleRule | SumRule


@dataclass(frozen=True)
class RuleSystem:
    """Rules as they are applied.

    Attributes:
        sizes: How many codes each column has.
        places: The columns that are fitted, in order.
        derivations: The other columns, as functions of fitted ones.
        zeros: What is impossible among fitted columns; columns are places in the table.
    """

    sizes: tuple[int, ...]
    places: Columns
    derivations: tuple[DependencyRule, ...] = ()
    zeros: tuple[ImpossibleRule, ...] = ()

    @property
    def fitted_zeros(self) -> list[ImpossibleRule]:
        """What is impossible, with columns as places among the fitted ones."""
        rank = {place: number for number, place in enumerate(self.places)}
        return [
            ImpossibleRule(tuple(rank[one] for one in each.columns), each.cells)
            for each in self.zeros
        ]

    def derive(self, rows: Rows) -> Rows:
        """Return rows of all columns for rows of the fitted ones."""
        if len(self.places) == len(self.sizes):
            return rows
        whole = np.zeros((len(rows), len(self.sizes)), np.int32)
        whole[:, list(self.places)] = rows
        for one in self.derivations:
            whole[:, one.column] = one.codes[tuple(whole[:, each] for each in one.determinants)]
        return whole


def shift_rule(rule: Rule, by: int) -> Rule:
    """Return a rule about columns that stand so many places further back."""

    def shift(columns: Columns) -> Columns:
        return tuple(one + by for one in columns)

    match rule:
        case DependencyRule():
            moved = shift(rule.determinants)
            return replace(rule, column=rule.column + by, determinants=moved)
        case OrderRule():
            return replace(rule, lower=rule.lower + by, upper=rule.upper + by)
        case ImpossibleRule():
            return replace(rule, columns=shift(rule.columns))
        case SumRule():
            return replace(rule, column=rule.column + by, parts=shift(rule.parts))


def has_impossible(rows: Rows, zeros: Iterable[ImpossibleRule]) -> Cells:
    """Return which rows have an impossible combination."""
    found = np.zeros(len(rows), bool)
    for one in zeros:
        found |= one.cells[tuple(rows[:, column] for column in one.columns)]
    return found


def resolve_rules(
    rules: Iterable[Rule], sizes: Sequence[int], *, target: int | None = None
) -> RuleSystem:
    """Return which columns are fitted, how the others follow from them, and what is impossible.

    The target is always fitted.

    Raises:
        InvalidPolicy: A rule ranges over too many combinations, or no row meets all rules.
    """
    system = _Resolution(tuple(sizes), target)
    for rule in rules:
        system.add(rule)
    places = tuple(place for place in range(len(sizes)) if place not in system.derivations)
    found = RuleSystem(
        tuple(sizes),
        places,
        tuple(system.derivations[column] for column in sorted(system.derivations)),
        tuple(one for one in system.zeros if one.cells.any()),
    )
    find_possible_row(found.fitted_zeros, [sizes[place] for place in places])
    return found


def find_possible_row(zeros: Sequence[ImpossibleRule], sizes: Sequence[int]) -> Rows:
    """Return a row that has no impossible combination.

    Raises:
        InvalidPolicy: There is none, or none was found soon.
    """
    row = np.zeros(len(sizes), np.int32)
    columns = sorted({column for one in zeros for column in one.columns})
    trials = 0
    options: list[list[int]] = []
    while len(options) < len(columns):
        known = set(columns[: len(options) + 1])
        column = columns[len(options)]
        options.append(_possible_codes(row, column, known, zeros, sizes[column]))
        while options and not options[-1]:
            options.pop()
        trials += 1
        if not options or trials > _MOST_TRIALS:
            fault = (
                "The rules contradict each other: no row was found that meets all of them. "
                "Remove or correct a rule."
            )
            raise InvalidPolicy([fault])
        row[columns[len(options) - 1]] = options[-1].pop()
    return row


def _possible_codes(
    row: Rows, column: int, known: set[int], zeros: Iterable[ImpossibleRule], size: int
) -> list[int]:
    """Return codes of `column` that are possible with the earlier columns of `row`, the first one last."""
    possible = np.ones(size, bool)
    for one in zeros:
        if column not in one.columns:
            continue
        place = tuple(
            slice(None) if each == column or each not in known else row[each]
            for each in one.columns
        )
        kept = [each for each in one.columns if each == column or each not in known]
        axes = tuple(axis for axis, each in enumerate(kept) if each != column)
        possible &= ~one.cells[place].all(axis=axes)
    return np.nonzero(possible)[0][::-1].tolist()


@dataclass
class _Resolution:
    """Rules, resolved one after the other."""

    sizes: tuple[int, ...]
    target: int | None
    derivations: dict[int, DependencyRule] = field(default_factory=dict[int, DependencyRule])
    zeros: list[ImpossibleRule] = field(default_factory=list[ImpossibleRule])

    def add(self, rule: Rule) -> None:
        """Resolve one more rule."""
        match rule:
            case OrderRule():
                self._forbid_cells((rule.lower, rule.upper), _order_cells(rule))
            case ImpossibleRule():
                self._forbid_cells(rule.columns, rule.cells)
            case DependencyRule():
                self._derive_column(rule.column, rule.determinants, rule.codes)
            case SumRule():
                self._add_up(rule)

    def _forbid_cells(self, columns: Columns, cells: Cells) -> None:
        self.zeros.append(ImpossibleRule(*self._express_array(columns, cells)))

    def _derive_column(self, column: int, determinants: Columns, codes: Codes) -> None:
        """Derive `column`, or forbid what differs if it has to be fitted; -1 where there is no code."""
        if not self._can_derive(column, determinants):
            columns = (column, *determinants)
            self._check_size(columns)
            own = np.arange(self.sizes[column]).reshape(-1, *([1] * codes.ndim))
            self._forbid_cells(columns, codes[None] != own)
            return
        if (codes < 0).any():
            self._forbid_cells(determinants, codes < 0)
        new = DependencyRule(column, *self._express_array(determinants, np.maximum(codes, 0)))
        self.derivations[column] = new
        self.zeros = [
            ImpossibleRule(*self._express_array(one.columns, one.cells)) for one in self.zeros
        ]
        self.derivations = {
            place: DependencyRule(place, *self._express_array(one.determinants, one.codes))
            for place, one in self.derivations.items()
        }

    def _can_derive(self, column: int, determinants: Columns) -> bool:
        if column == self.target or column in self.derivations:
            return False
        behind = (
            self.derivations[one].determinants if one in self.derivations else (one,)
            for one in determinants
        )
        return all(column not in some for some in behind)

    def _add_up(self, rule: SumRule) -> None:
        """Derive the sum; where it has to be fitted and is never missing, one of its parts."""
        columns = (rule.column, *rule.parts)
        if len(set(columns)) < len(columns):
            raise InvalidPolicy(["A rule adds up a column twice. Name each column once."])
        numbers = dict(zip(columns, (rule.totals, *rule.values), strict=True))
        choices = columns[:1] if np.isnan(rule.totals).any() else columns
        column = next(
            (one for one in choices if self._can_derive(one, _drop_column(columns, one))),
            rule.column,
        )
        others = _drop_column(columns, column)
        self._check_size(others)
        is_part = column != rule.column
        signed = [
            -numbers[one] if is_part and one in rule.parts else numbers[one] for one in others
        ]
        wanted = np.asarray(reduce(np.add.outer, signed))
        codes = _nearest_codes(wanted, numbers[column])
        if is_part:  # a sum that is not missing has no missing part
            codes[np.isnan(wanted)] = -1
        self._derive_column(column, others, codes)

    def _express_array(
        self, columns: Columns, array: NDArray[Number]
    ) -> tuple[Columns, NDArray[Number]]:
        """Return an array over `columns` as one over columns that are fitted, in order."""
        derived = {one: self.derivations[one] for one in columns if one in self.derivations}
        behind = [one for rule in derived.values() for one in rule.determinants]
        new = tuple(sorted({*columns, *behind} - set(derived)))
        self._check_size(new)
        axes = np.ix_(*(np.arange(self.sizes[one]) for one in new))
        grids: dict[int, Codes] = dict(zip(new, axes, strict=True))
        for column, rule in derived.items():
            grids[column] = rule.codes[tuple(grids[one] for one in rule.determinants)]
        found = array[tuple(grids[one] for one in columns)]
        return new, np.broadcast_to(found, [self.sizes[one] for one in new]).copy()

    def _check_size(self, columns: Iterable[int]) -> None:
        if math.prod(self.sizes[one] for one in columns) > LARGEST_RULE:
            fault = (
                f"A rule ranges over more than {LARGEST_RULE:,} combinations of values. "
                "Give its columns wider steps or fewer values."
            )
            raise InvalidPolicy([fault])


def _order_cells(rule: OrderRule) -> Cells:
    lower, upper = rule.lower_positions[:, None], rule.upper_positions[None, :]
    return lower >= upper if rule.is_strict else lower > upper


def _drop_column(columns: Columns, column: int) -> Columns:
    return tuple(one for one in columns if one != column)


def _nearest_codes(wanted: Floats, numbers: Floats) -> Codes:
    """Return the code of each number, -1 where there is none; NaN is the code of NaN."""
    known = np.nonzero(~np.isnan(numbers))[0]
    missing = np.nonzero(np.isnan(numbers))[0]
    codes = np.full(wanted.shape, -1, np.intp)
    if len(missing):
        codes[np.isnan(wanted)] = missing[0]
    if len(known):
        order = known[np.argsort(numbers[known], kind="stable")]
        ascending = numbers[order]
        filled = np.nan_to_num(wanted)
        above = np.clip(np.searchsorted(ascending, filled), 0, len(order) - 1)
        below = np.maximum(above - 1, 0)
        is_below = np.abs(ascending[below] - filled) < np.abs(ascending[above] - filled)
        place = np.where(is_below, below, above)
        margin = _TOLERANCE * max(1.0, float(np.abs(ascending).max()))
        is_there = ~np.isnan(wanted) & (np.abs(ascending[place] - filled) <= margin)
        codes[is_there] = order[place[is_there]]
    return codes
