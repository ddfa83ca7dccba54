"""The unknown is each person's values: for few people of whom too much could be true to list it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from discreet.attacks.census.block import Cell, CensusBlock, Where

LARGEST_CODE = 2**60  # that the solver's whole numbers hold with room to add


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
