"""A block: how many people there are, what can be said of each, and what was published of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TypeAlias

# Which values of which variables, by their places: {0: (3, 4), 2: (1,)}. Empty: everyone.
Where: TypeAlias = Mapping[int, tuple[int, ...]]
# A record: the place of its value of each variable.
Cell: TypeAlias = tuple[int, ...]


class Statistic(StrEnum):
    """What can be published of a variable within a group."""

    MEAN = "mean"
    MEDIAN = "median"
    SUM = "sum"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True)
class Variable:
    """What is known of each person, and the values it can have: whole numbers, or words."""

    name: str
    values: tuple[int, ...] | tuple[str, ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        """Return the values where they are numbers, nothing where they are words."""
        return tuple(value for value in self.values if isinstance(value, int))


@dataclass(frozen=True)
class CountRange:
    """A number that was published, or the range that it was rounded or suppressed to."""

    low: int
    high: int

    @property
    def is_exact(self) -> bool:
        """Whether it is one number."""
        return self.low == self.high


@dataclass(frozen=True)
class StatisticBounds:
    """A statistic of a variable within a group, between two numbers."""

    statistic: Statistic
    variable: int
    low: Fraction
    high: Fraction


@dataclass(frozen=True)
class CensusGroup:
    """Some of the people, how many they are, and what was published of them."""

    where: Where
    count: CountRange
    facts: tuple[StatisticBounds, ...] = ()


@dataclass(frozen=True)
class Marginal:
    """A cross table of some variables: cells that are not listed are empty."""

    variables: tuple[int, ...]
    cells: Mapping[tuple[int, ...], CountRange]


@dataclass(frozen=True)
class CensusBlock:
    """Everything that was published of a number of people.

    >>> CensusBlock(2, (Variable("sex", ("f", "m")),)).size
    2
    """

    people: int
    variables: tuple[Variable, ...]
    groups: tuple[CensusGroup, ...] = ()
    marginals: tuple[Marginal, ...] = ()
    impossible: tuple[Where, ...] = ()
    label: str = "block"

    @property
    def size(self) -> int:
        """How many different records there could be."""
        size = 1
        for variable in self.variables:
            size *= len(variable.values)
        return size

    @property
    def statistics(self) -> int:
        """How many numbers were published."""
        return sum(1 + len(group.facts) for group in self.groups) + sum(
            len(marginal.cells) for marginal in self.marginals
        )

    def spell(self, cell: Cell) -> str:
        """Return a record as people write it: for the custodian only."""
        return ", ".join(
            f"{variable.name} {variable.values[place]}"
            for variable, place in zip(self.variables, cell, strict=True)
        )
