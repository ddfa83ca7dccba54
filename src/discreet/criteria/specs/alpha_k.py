"""(α, k)-anonymity: large classes in which no value is too frequent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from discreet.criteria.criterion import (
    TOLERANCE,
    Parameter,
    People,
    SensitiveCriterion,
    lost_by_mixture,
)
from discreet.formatting import format_level
from discreet.registry import CriterionSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.criteria.criterion import Missing
    from discreet.criteria.histograms import ClassHistograms, Measure


@dataclass(frozen=True)
class AlphaK(SensitiveCriterion):
    """Classes of at least `k` people in which no value exceeds the share `alpha` (Wong et al. 2006).

    >>> AlphaK("diagnosis", alpha=0.5, k=5).name
    'alpha-k'
    """

    name: ClassVar[str] = "alpha-k"
    title: ClassVar[str | None] = "(α, k)-anonymity"
    alpha: Annotated[
        float, Parameter("The largest share of one value in a class.", above=0, at_most=1)
    ]
    k: People

    @property
    def is_vacuous(self) -> bool:
        """Whether one value may be that of all."""
        return self.alpha >= 1

    def least_people(self, *, has_units: bool) -> int:
        """Return `k`."""
        del has_units
        return self.k

    def make_measure(self) -> Measure:
        """Return the largest share of one value."""
        return confidence_measure(missing=self.missing)

    def holds(self, groups: ClassHistograms, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which classes are large enough and have no value that is too frequent."""
        return (scores <= self.alpha + TOLERANCE) & (groups.sizes >= self.k)

    def lost_share(self, scores: NDArray[np.float64]) -> NDArray[np.float64] | float:
        """Return the share that must go: a largest share is convex."""
        return lost_by_mixture(scores, self.alpha)

    def describe_requirement(self) -> str:
        """Return both conditions."""
        return f"α ≤ {format_level(self.alpha)}, k ≥ {format_level(self.k)}"

    def describe_level(self, level: Any, *, k: int | None) -> str:
        """Return both levels."""
        return f"α = {format_level(level)}, k = {format_level(k)}"


def guessing_confidence(groups: ClassHistograms) -> NDArray[np.float64]:
    """Return the chance of guessing right with each class's most frequent value."""
    return groups.largest / groups.sizes


def confidence_measure(*, missing: Missing = "unknown") -> Measure:
    """Return the measure of `guessing_confidence`."""
    from discreet.criteria.measures import measure_values

    return measure_values("confidence", guessing_confidence, all_missing=0.0, missing=missing)


SPEC = CriterionSpec(
    AlphaK,
    summary="Classes of at least k people in which no value exceeds the share alpha.",
    option="alpha",
    option_summary="(α,k): the largest share of one value in a class, with --k.",
    examples=("0.5", "diagnosis=0.5"),
    shared=("k",),
    hidden=True,
    position=50,
)
