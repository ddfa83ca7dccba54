"""The solver's input: unknown people, and published numbers as conditions on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.census.block import (
    Cell,
    CensusBlock,
    CensusGroup,
    Statistic,
    StatisticBounds,
    Where,
)

MOST_ON_THE_WAY = 2_000_000  # records that are looked at before what is impossible is left out
LARGEST_CODE = 2**60  # that the solver's whole numbers hold with room to add


class Encoding(Protocol):
    """Unknown people in a solver's model: OR-Tools ships types that do not say much."""

    name: str
    model: Any

    def weigh(self, where: Where, variable: int | None, weights: Sequence[int]) -> Any:
        """Return the sum over people of `where` of the weight of their value, 1 without a variable."""
        ...

    def record(self, cell: Cell) -> Any:
        """Return how many people have this record."""
        ...

    def read(self, value: Callable[[Any], int]) -> Counter[Cell]:
        """Return the people that the solver found."""
        ...


def add_published_statistics(encoding: Encoding, block: CensusBlock) -> None:
    """Add every published number of `block` to the model; marginals' empty cells are the encoding's."""
    for group in block.groups:
        count = encoding.weigh(group.where, None, ())
        _add_bounds(encoding.model, count, group.count.low, group.count.high)
        for fact in group.facts:
            _add_fact(encoding, block, group, fact)
    for marginal in block.marginals:
        for cell, held in marginal.cells.items():
            where = {
                variable: (place,) for variable, place in zip(marginal.variables, cell, strict=True)
            }
            _add_bounds(encoding.model, encoding.weigh(where, None, ()), held.low, held.high)


def _add_fact(
    encoding: Encoding, block: CensusBlock, group: CensusGroup, fact: StatisticBounds
) -> None:
    numbers = block.variables[fact.variable].numbers
    model, where = encoding.model, group.where

    def weigh(weights: Sequence[int]) -> Any:
        return encoding.weigh(where, fact.variable, weights)

    match fact.statistic:
        case Statistic.MEAN:
            # The mean is at least low exactly when value - low adds up to at least 0.
            low, high = fact.low, fact.high
            model.add(weigh([low.denominator * n - low.numerator for n in numbers]) >= 0)
            model.add(weigh([high.denominator * n - high.numerator for n in numbers]) <= 0)
        case Statistic.SUM:
            _add_bounds(model, weigh(numbers), -(-fact.low // 1), fact.high // 1)
        case Statistic.MIN:
            model.add(weigh([int(n < fact.low) for n in numbers]) == 0)
            model.add(weigh([int(n <= fact.high) for n in numbers]) >= 1)
        case Statistic.MAX:
            model.add(weigh([int(n > fact.high) for n in numbers]) == 0)
            model.add(weigh([int(n >= fact.low) for n in numbers]) >= 1)
        case Statistic.MEDIAN:
            _add_median(encoding, group, fact, numbers)


def _add_median(
    encoding: Encoding, group: CensusGroup, fact: StatisticBounds, numbers: Sequence[int]
) -> None:
    """Say where the middle lies: the value at which the running count passes half of the group."""
    model, size = encoding.model, group.count.low
    running: list[Any] = []
    for place in range(len(numbers)):
        at = encoding.weigh(
            group.where, fact.variable, [int(i == place) for i in range(len(numbers))]
        )
        upto = model.new_int_var(0, size, "")
        model.add(upto == at + (running[-1] if running else 0))
        running.append(upto)
    # Of an even number the two in the middle count, of an odd number the one does twice.
    middles = [
        _value_at_rank(model, running, numbers, rank) for rank in ((size - 1) // 2, size // 2)
    ]
    doubled = sum(middles)
    _add_bounds(model, doubled, -(-2 * fact.low // 1), 2 * fact.high // 1)


def _value_at_rank(model: Any, running: Sequence[Any], numbers: Sequence[int], rank: int) -> Any:
    """Return the value of the person `rank` from below: it rises while the running count is no larger."""
    steps: list[Any] = [numbers[0]]
    for place, upto in enumerate(running[:-1]):
        is_beyond = model.new_bool_var("")
        model.add(upto <= rank).only_enforce_if(is_beyond)
        model.add(upto > rank).only_enforce_if(~is_beyond)
        steps.append((numbers[place + 1] - numbers[place]) * is_beyond)
    return sum(steps)


def _add_bounds(model: Any, expression: Any, low: int, high: int) -> None:
    if low == high:
        model.add(expression == low)
    else:
        model.add(expression >= low)
        model.add(expression <= high)


class CellEncoding:
    """A count for every record that is possible; no two solutions are the same people in other order."""

    name = "cells"

    def __init__(self, block: CensusBlock, cells: NDArray[np.int32]) -> None:
        from ortools.sat.python import cp_model

        self.model: Any = cp_model.CpModel()
        self._sum: Any = cp_model.LinearExpr.weighted_sum
        self._cells = cells
        self._counts = [self.model.new_int_var(0, block.people, "") for _ in range(len(cells))]
        self._places = {tuple(map(int, cell)): place for place, cell in enumerate(cells)}
        self.model.add(sum(self._counts) == block.people)

    def weigh(self, where: Where, variable: int | None, weights: Sequence[int]) -> Any:
        """Return the sum over people of `where` of the weight of their value, 1 without a variable."""
        chosen = np.flatnonzero(matches(self._cells, where))
        if variable is None:
            given = np.ones(len(chosen), dtype=np.int64)
        else:
            given = np.array(weights, dtype=np.int64)[self._cells[chosen, variable]]
        chosen, given = chosen[given != 0], given[given != 0]
        return self._sum([self._counts[place] for place in chosen], given.tolist())

    def record(self, cell: Cell) -> Any:
        """Return how many people have this record."""
        return self._counts[self._places[cell]]

    def read(self, value: Callable[[Any], int]) -> Counter[Cell]:
        """Return the people that the solver found."""
        found = {cell: value(self._counts[place]) for cell, place in self._places.items()}
        return Counter({cell: count for cell, count in found.items() if count})


def possible_cells(block: CensusBlock, *, most: int) -> NDArray[np.int32] | None:
    """Return every record that the empty groups and cells leave possible; None if there are too many.

    Records are built variable by variable, and whatever is already impossible grows no further.
    """
    cells = np.zeros((1, 0), dtype=np.int32)
    for last, variable in enumerate(block.variables):
        width = len(variable.values)
        if len(cells) * width > MOST_ON_THE_WAY:
            return None
        values = np.tile(np.arange(width, dtype=np.int32), len(cells))
        cells = np.column_stack([np.repeat(cells, width, axis=0), values])
        cells = cells[_is_possible(block, cells, last)]
    return cells if len(cells) <= most else None


def matches(cells: NDArray[np.int32], where: Where) -> NDArray[np.bool_]:
    """Return which records are in a group."""
    found = np.ones(len(cells), dtype=np.bool_)
    for variable, places in where.items():
        found &= np.isin(cells[:, variable], places)
    return found


def _is_possible(block: CensusBlock, cells: NDArray[np.int32], last: int) -> NDArray[np.bool_]:
    """Return which records nothing that ends with the variable `last` excludes."""
    possible = np.ones(len(cells), dtype=np.bool_)
    for where in (*block.impossible, *(g.where for g in block.groups if g.count.high == 0)):
        if where and max(where) == last:
            possible &= ~matches(cells, where)
    for marginal in block.marginals:
        if max(marginal.variables) == last:
            listed = [cell for cell, held in marginal.cells.items() if held.high > 0]
            possible &= _is_listed(cells, marginal.variables, listed, block)
    return possible


def _is_listed(
    cells: NDArray[np.int32],
    variables: Sequence[int],
    listed: Sequence[tuple[int, ...]],
    block: CensusBlock,
) -> NDArray[np.bool_]:
    if not listed:
        return np.zeros(len(cells), dtype=np.bool_)
    widths = [len(block.variables[variable].values) for variable in variables]
    wanted = np.ravel_multi_index(np.array(listed, dtype=np.int64).T, widths)
    held = np.ravel_multi_index(cells[:, list(variables)].T.astype(np.int64), widths)
    return np.isin(held, wanted)


class PersonEncoding:
    """The values of each person, who stand in ascending order, so that no solution comes twice."""

    name = "persons"

    def __init__(self, block: CensusBlock) -> None:
        from ortools.sat.python import cp_model

        self.model: Any = cp_model.CpModel()
        self._cp: Any = cp_model
        self._block = block
        self._people = [
            [self.model.new_int_var(0, len(v.values) - 1, "") for v in block.variables]
            for _ in range(block.people)
        ]
        self._members: dict[tuple[tuple[int, tuple[int, ...]], ...], list[Any]] = {}
        self._order_people()
        self._exclude_impossible()

    def weigh(self, where: Where, variable: int | None, weights: Sequence[int]) -> Any:
        """Return the sum over people of `where` of the weight of their value, 1 without a variable."""
        if variable is None:
            return sum(self._members_of(where))
        if set(weights) <= {0, 1}:
            chosen = tuple(place for place, weight in enumerate(weights) if weight)
            allowed = where.get(variable, chosen)
            both = tuple(place for place in chosen if place in allowed)
            return sum(self._members_of({**where, variable: both}))
        return sum(
            self._weight_variable(person, is_member, variable, weights)
            for person, is_member in zip(self._people, self._members_of(where), strict=True)
        )

    def record(self, cell: Cell) -> Any:
        """Return how many people have this record."""
        return sum(self._members_of({variable: (place,) for variable, place in enumerate(cell)}))

    def read(self, value: Callable[[Any], int]) -> Counter[Cell]:
        """Return the people that the solver found."""
        return Counter(tuple(value(place) for place in person) for person in self._people)

    def _order_people(self) -> None:
        widths = [len(variable.values) for variable in self._block.variables]
        codes: list[Any] = []
        for person in self._people:
            code: Any = 0
            for place, width in zip(person, widths, strict=True):
                code = code * width + place
            codes.append(code)
        for one, other in pairwise(codes):
            self.model.add(one <= other)

    def _exclude_impossible(self) -> None:
        """Leave only what marginals list, and nothing that is impossible."""
        for person in self._people:
            for marginal in self._block.marginals:
                columns = [person[variable] for variable in marginal.variables]
                listed = [cell for cell, held in marginal.cells.items() if held.high > 0]
                self.model.add_allowed_assignments(columns, listed)
        for where in self._block.impossible:
            for is_member in self._members_of(where):
                self.model.add(is_member == 0)

    def _members_of(self, where: Where) -> list[Any]:
        """Return for each person whether they are in a group."""
        key = tuple(sorted(where.items()))
        if key not in self._members:
            self._members[key] = [
                self._membership_variable(person, where) for person in self._people
            ]
        return self._members[key]

    def _membership_variable(self, person: Sequence[Any], where: Where) -> Any:
        parts = [
            self._is_among(person[variable], places, len(self._block.variables[variable].values))
            for variable, places in where.items()
        ]
        if len(parts) == 1:
            return parts[0]
        is_member = self.model.new_bool_var("")
        # All parts hold, or at least one does not: the solver may not choose.
        self.model.add_bool_and(parts).only_enforce_if(is_member)
        self.model.add_bool_or([~part for part in parts]).only_enforce_if(~is_member)
        if not parts:
            self.model.add(is_member == 1)
        return is_member

    def _is_among(self, place: Any, places: Sequence[int], width: int) -> Any:
        is_among = self.model.new_bool_var("")
        others = [other for other in range(width) if other not in set(places)]
        for chosen, holds in ((list(places), is_among), (others, ~is_among)):
            domain = self._cp.Domain.from_values(chosen)
            self.model.add_linear_expression_in_domain(place, domain).only_enforce_if(holds)
        return is_among

    def _weight_variable(
        self, person: Sequence[Any], is_member: Any, variable: int, weights: Sequence[int]
    ) -> Any:
        low, high = min(0, *weights), max(0, *weights)
        weight, counted = (self.model.new_int_var(low, high, "") for _ in range(2))
        self.model.add_element(person[variable], list(weights), weight)
        self.model.add(counted == weight).only_enforce_if(is_member)
        self.model.add(counted == 0).only_enforce_if(~is_member)
        return counted
