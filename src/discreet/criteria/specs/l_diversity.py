"""l-diversity: how many well-represented sensitive values each class has.

Machanavajjhala, Gehrke, Kifer & Venkitasubramaniam 2006 (entropy, recursive), and the simpler
distinct and probabilistic kinds. Every kernel returns one number per class; the level of a table is
that of its worst class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from discreet.criteria.criterion import (
    TOLERANCE,
    Missing,
    Parameter,
    SensitiveCriterion,
    lost_by_mixture,
)
from discreet.formatting import format_level
from discreet.registry import CriterionSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.criteria.histograms import ClassHistograms, Measure

DiversityKind = Literal["distinct", "probabilistic", "entropy", "recursive"]


@dataclass(frozen=True)
class LDiversity(SensitiveCriterion):
    """Every class has `l` well-represented values (Machanavajjhala et al. 2006).

    `c` belongs to the recursive kind only.

    >>> LDiversity("diagnosis", l=3, kind="entropy").name
    'l-diversity'
    """

    name: ClassVar[str] = "l-diversity"
    sign: ClassVar[str] = "≥"
    l: Annotated[float, Parameter("How many values are well represented.", at_least=1)]
    kind: Annotated[DiversityKind, Parameter("What well represented means.")] = "distinct"
    c: Annotated[float | None, Parameter("The factor of the recursive kind.", above=0)] = None

    @property
    def is_absorbing(self) -> bool:
        """Whether a class that holds still does after any row joins it: distinct values only."""
        return self.kind == "distinct"

    @property
    def is_vacuous(self) -> bool:
        """Whether one value is enough."""
        return self.l <= 1 and not (self.kind == "recursive" and self.c is not None and self.c < 1)

    def least_people(self, *, has_units: bool) -> int:
        """Return `l`, rounded up: n people with a row each have at most n values."""
        return 1 if has_units else math.ceil(self.l - TOLERANCE)

    def check(self) -> None:
        """Refuse `c` without the recursive kind, and that kind without it."""
        if self.kind == "recursive" and self.c is None:
            raise ValueError("kind 'recursive' needs 'c', the factor of (c,l)-diversity.")
        if self.kind == "recursive" and self.l % 1:
            raise ValueError("kind 'recursive' needs a whole number 'l'.")
        if self.kind != "recursive" and self.c is not None:
            raise ValueError(
                f"'c' belongs to kind 'recursive', not to '{self.kind}', which has one number."
            )

    def make_measure(self) -> Measure:
        """Return the measure of its kind."""
        depth = int(self.l) if self.kind == "recursive" else None
        return diversity_measure(self.kind, depth, missing=self.missing)

    def holds(self, groups: ClassHistograms, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which classes have enough values."""
        del groups
        if self.kind == "recursive":
            return scores < (self.c or 0.0) * (1 - TOLERANCE)
        return scores >= self.l * (1 - TOLERANCE)

    def lost_share(self, scores: NDArray[np.float64]) -> NDArray[np.float64] | float:
        """Return the share that must go: a largest share is convex."""
        if self.kind != "probabilistic":
            return 0.0
        return lost_by_mixture(1 / scores.clip(TOLERANCE), 1 / self.l)

    def describe_requirement(self) -> str:
        """Return l, and c where there is one."""
        if self.c is None:
            return f"l ≥ {format_level(self.l)}"
        return f"c = {format_level(self.c)}, l = {format_level(self.l)}"

    def describe_level(self, level: Any, *, k: int | None) -> str:
        """Return l, or the bound of c."""
        if self.kind != "recursive":
            return super().describe_level(level, k=k)
        return "no c is enough" if math.isinf(level) else f"holds for c > {format_level(level)}"


def distinct(groups: ClassHistograms) -> NDArray[np.float64]:
    """Return the number of different values in each class."""
    return groups.lengths.astype(float)


def probabilistic(groups: ClassHistograms) -> NDArray[np.float64]:
    """Return the largest l such that no value can be guessed with a chance above 1/l."""
    return groups.sizes / groups.largest


def entropy(groups: ClassHistograms) -> NDArray[np.float64]:
    """Return exp(H) of each class's values: the number of equally likely values it is worth."""
    import numpy as np

    return np.exp(-np.add.reduceat(groups.shares * np.log(groups.shares), groups.first))


def recursive(groups: ClassHistograms, l: int) -> NDArray[np.float64]:
    """Return the bound that c must exceed for each class to be recursively (c, l)-diverse.

    With r1 >= r2 >= … the counts of a class's values, r1 < c (r_l + … + r_m) must hold. The bound is
    infinite for a class with fewer than l values.
    """
    import numpy as np

    summed = np.concatenate([[0], np.cumsum(groups.descending)])
    ends = groups.starts[1:]
    tail = summed[ends] - summed[np.minimum(groups.first + l - 1, ends)]
    with np.errstate(divide="ignore"):
        return np.where(tail > 0, groups.largest / tail, np.inf)


def diversity_measure(
    kind: str, depth: int | None = None, *, missing: Missing = "unknown"
) -> Measure:
    """Return the measure of a kind; the recursive one has a depth, its l."""
    from discreet.criteria.measures import measure_values

    if depth is None:
        kernels = {"distinct": distinct, "probabilistic": probabilistic, "entropy": entropy}
        return measure_values(
            kind, kernels[kind], all_missing=0.0, missing=missing, is_worst_when_small=True
        )
    # All values are missing: no value is well represented.
    return measure_values(
        f"{kind}_{depth}",
        lambda groups: recursive(groups, depth),
        all_missing=math.inf,
        missing=missing,
    )


SPEC = CriterionSpec(
    LDiversity,
    summary="Every class has l well-represented values of a sensitive column.",
    option="l",
    option_summary="l-diversity: 3, or diagnosis=entropy:3.",
    examples=("3", "diagnosis=entropy:3", "recursive:3:2"),
    metavar="L",
    position=30,
)
