"""Criteria as values: parameters as fields, and what each requires of a class, measures and says."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from discreet.formatting import format_level

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.criteria.histograms import ClassHistograms, Measure

# A level that equals its threshold must not fail by rounding: exp(ln 2) is not always 2.
TOLERANCE = 1e-9
LETTERS = {"alpha": "α", "beta": "β", "delta": "δ"}

# What a missing sensitive value is: unknown, so that it may be any value and protects no one, or a
# value of its own.
Missing = Literal["unknown", "value"]
Need = Literal["order", "hierarchy"]


@dataclass(frozen=True)
class Parameter:
    """What is said of a parameter in the policy's schema, as `Annotated[type, Parameter(…)]`."""

    summary: str
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None


People = Annotated[int, Parameter("The fewest people in a class.", at_least=1)]


@dataclass(frozen=True)
class Criterion:
    """A condition on every class; parameters are the fields of a subclass.

    This class itself is enough for a condition on the number of people, which `least_people` states.
    `is_monotone` says that classes that hold still do when they are merged and every person has one
    row; `is_relative` that classes are compared with the whole table. `sign` stands between a letter
    and what is required of it.
    """

    name: ClassVar[str]
    title: ClassVar[str | None] = None
    sign: ClassVar[str] = "≤"
    is_monotone: ClassVar[bool] = True
    is_relative: ClassVar[bool] = False
    line: int | None = field(default=None, compare=False, kw_only=True)

    @property
    def is_absorbing(self) -> bool:
        """Whether a class that holds still does after any row joins it."""
        return False

    @property
    def is_vacuous(self) -> bool:
        """Whether every table meets it."""
        return False

    def least_people(self, *, has_units: bool) -> int:
        """Return how many people a class needs to hold; `has_units` if people have several rows."""
        del has_units
        return 1

    def check(self) -> None:
        """Refuse parameters that contradict each other.

        Raises:
            ValueError: The sentence says which.
        """

    def describe_requirement(self) -> str:
        """Return what is demanded, as a statement about the criterion's letters."""
        numbers = {name: value for name, value in self.parameters().items() if _is_number(value)}
        return ", ".join(
            f"{LETTERS.get(name, name)} {self.sign} {format_level(value)}"
            for name, value in numbers.items()
        )

    def describe_level(self, level: Any, *, k: int | None) -> str:
        """Return the level a table reaches; `k` is the number of people in its smallest class."""
        del k
        letter = next(name for name, value in self.parameters().items() if _is_number(value))
        return f"{LETTERS.get(letter, letter)} = {format_level(level)}"

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that are stated, as the policy names them, without the column."""
        found = {name: getattr(self, name) for name in parameter_types(type(self))}
        return {
            name: value
            for name, value in found.items()
            if name != "column"
            and value is not None
            and not (name == "missing" and value == "unknown")
        }


@dataclass(frozen=True)
class SensitiveCriterion(Criterion, ABC):
    """A condition on what each class reveals of one sensitive column.

    `needs` says which words of a parameter need an order or a hierarchy of the column's values.
    """

    needs: ClassVar[Mapping[str, Need]] = {}
    column: Annotated[str, Parameter("The sensitive column.")]
    missing: Annotated[
        Missing,
        Parameter("Whether a missing value is unknown, and counts for nothing, or a value."),
    ] = field(default="unknown", kw_only=True)

    @cached_property
    def measure(self) -> Measure:
        """The number per class that the criterion limits."""
        return self.make_measure()

    @abstractmethod
    def make_measure(self) -> Measure:
        """Return the number per class that the criterion limits."""

    @abstractmethod
    def holds(self, groups: ClassHistograms, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which classes meet the criterion, given their scores."""

    def lost_share(self, scores: NDArray[np.float64]) -> NDArray[np.float64] | float:
        """Return the share of a failing class that must go before what is left can be published."""
        del scores
        return 0.0


@dataclass(frozen=True)
class PopulationCriterion(Criterion, ABC):
    """A condition on each class and the part of the population that fits it.

    Its level is `among`, the people of the population, or `chance`, that of being in the table.
    """

    level: ClassVar[Literal["among", "chance"]]

    @property
    def covers_everyone(self) -> bool:
        """Whether people of the population who fit no class make it fail."""
        return False

    @abstractmethod
    def fails(self, people: NDArray[np.int64], among: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which classes fail: `people` are in the table, `among` in the population."""

    @abstractmethod
    def fails_in_parts(self, among: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which classes fail together with each of their parts."""

    def surplus(
        self, people: NDArray[np.int64], among: NDArray[np.int64]
    ) -> NDArray[np.float64] | float:
        """Return how many people must go before what is left of a class can be published."""
        del people, among
        return 0.0


def parameter_types(kind: type[Criterion]) -> dict[str, tuple[Any, Parameter]]:
    """Return the type of each parameter of a criterion and what is said of it, `missing` last.

    >>> from discreet.criteria.specs.t_closeness import TCloseness
    >>> list(parameter_types(TCloseness))
    ['column', 't', 'distance', 'missing']
    """
    hints = get_type_hints(kind, include_extras=True)
    names = [one.name for one in dataclasses.fields(kind) if one.name != "line"]
    found: dict[str, tuple[Any, Parameter]] = {}
    for name in sorted(names, key=lambda name: name == "missing"):
        written, parameter = get_args(hints[name])[:2]
        found[name] = written, parameter
    return found


def number_parameters(kind: type[Criterion]) -> list[str]:
    """Return the parameters of a criterion that are numbers, in order."""
    return [name for name, (written, _) in parameter_types(kind).items() if is_numeric(written)]


def word_parameter(kind: type[Criterion]) -> tuple[str, tuple[str, ...]] | None:
    """Return the parameter that is one of a few words, and them; that of missing values aside.

    >>> from discreet.criteria.specs.t_closeness import TCloseness
    >>> word_parameter(TCloseness)
    ('distance', ('equal', 'ordered', 'hierarchical'))
    """
    for name, (written, _) in parameter_types(kind).items():
        if get_origin(written) is Literal and name != "missing":
            return name, get_args(written)
    return None


def is_within_bounds(criterion: Criterion) -> bool:
    """Return whether parameters are of their types, within bounds, and free of contradiction."""
    for name, (written, stated) in parameter_types(type(criterion)).items():
        value = getattr(criterion, name)
        if get_origin(written) is Literal and value not in get_args(written):
            return False
        if _is_number(value) and not _is_stated_number(value, written, stated):
            return False
    try:
        criterion.check()
    except ValueError:
        return False
    return True


def is_numeric(written: Any) -> bool:
    """Return whether a parameter of this type is a number."""
    if get_origin(written) in (Union, UnionType):
        return any(map(is_numeric, get_args(written)))
    return written in (int, float)


def lost_by_mixture(scores: NDArray[np.float64], bound: float) -> NDArray[np.float64] | float:
    """Return the share of each failing class that must go before its parts can be published.

    Suppose the parts that are published hold. Their union does too, and the class is a mixture of
    it with the share s that went. Distances and largest shares are convex and at most 1, so that
    score <= (1 - s) * bound + s, and s >= (score - bound) / (1 - bound).
    """
    bound += TOLERANCE * 2
    return (scores - bound).clip(0.0) / (1 - bound) * (1 - TOLERANCE) if bound < 1 else 0.0


def _is_stated_number(value: float, written: Any, stated: Parameter) -> bool:
    return (
        math.isfinite(value)
        and (written is not int or isinstance(value, int))
        and (stated.at_least is None or value >= stated.at_least)
        and (stated.above is None or value > stated.above)
        and (stated.at_most is None or value <= stated.at_most)
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float))
