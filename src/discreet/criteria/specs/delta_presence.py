"""δ-presence: whether a person of the population is in the table stays uncertain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from discreet.criteria.criterion import TOLERANCE, Parameter, PopulationCriterion
from discreet.formatting import format_chance, format_percent
from discreet.registry import CriterionSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class DeltaPresence(PopulationCriterion):
    """The chance of being in the table stays within [`lower`, `upper`] (Nergiz et al. 2007).

    >>> DeltaPresence(lower=0.1, upper=0.5).name
    'delta-presence'
    """

    name: ClassVar[str] = "delta-presence"
    title: ClassVar[str | None] = "δ-presence"
    level: ClassVar[Literal["among", "chance"]] = "chance"
    lower: Annotated[float, Parameter("The smallest chance.", at_least=0, at_most=1)]
    upper: Annotated[float, Parameter("The largest chance.", at_least=0, at_most=1)]

    @property
    def covers_everyone(self) -> bool:
        """Whether people who fit no class make it fail: they are surely not in the table."""
        return self.lower > TOLERANCE

    def check(self) -> None:
        """Refuse bounds in the wrong order."""
        if self.lower > self.upper:
            raise ValueError(f"'lower' {self.lower:g} is above 'upper' {self.upper:g}. Swap them.")

    def fails(self, people: NDArray[np.int64], among: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which classes are in the table with a chance outside the bounds."""
        most, least = (self.upper + TOLERANCE) * among, (self.lower - TOLERANCE) * among
        return (people > most) | (people < least)

    def fails_in_parts(self, among: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which classes have no one of the population: their parts have no one either."""
        return among == 0

    def surplus(
        self, people: NDArray[np.int64], among: NDArray[np.int64]
    ) -> NDArray[np.float64] | float:
        """Return by how many people a class exceeds the upper bound."""
        return people - (self.upper + TOLERANCE) * among

    def describe_requirement(self) -> str:
        """Return the bounds."""
        return f"{format_percent(self.lower)} to {format_percent(self.upper)}"

    def describe_level(self, level: Any, *, k: int | None) -> str:
        """Return the lowest and the highest chance."""
        del k
        lowest, highest = level
        return f"{format_chance(lowest)} to {format_chance(highest)}"


SPEC = CriterionSpec(
    DeltaPresence,
    summary="The chance that a person of the population is in the table stays within limits.",
    option="presence",
    option_summary="Bounds on the chance that a person of the population is in the table.",
    examples=("0.1 0.5",),
    metavar="LOW HIGH",
    hidden=True,
    position=60,
)
