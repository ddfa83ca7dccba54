"""δ-disclosure: how far each value's share in a class is from the table's, on a log scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from discreet.criteria.criterion import TOLERANCE, Missing, Parameter, SensitiveCriterion
from discreet.registry import CriterionSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.criteria.histograms import ClassHistograms, Measure, Overall


@dataclass(frozen=True)
class DeltaDisclosure(SensitiveCriterion):
    """Every value's log share changes by less than `delta` (Brickell & Shmatikov 2008).

    >>> DeltaDisclosure("diagnosis", delta=1.5).name
    'delta-disclosure'
    """

    name: ClassVar[str] = "delta-disclosure"
    title: ClassVar[str | None] = "δ-disclosure"
    sign: ClassVar[str] = "<"
    is_relative: ClassVar[bool] = True
    delta: Annotated[float, Parameter("The largest change of the logarithm.", above=0)]

    def make_measure(self) -> Measure:
        """Return the largest change."""
        return disclosure_measure(missing=self.missing)

    def holds(self, groups: ClassHistograms, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which classes change no value's share much."""
        del groups
        return scores < self.delta * (1 - TOLERANCE)


def disclosure_measure(*, missing: Missing = "unknown") -> Measure:
    """Return the measure of `delta_disclosure`."""
    from discreet.criteria.measures import measure_distance

    return measure_distance("delta_disclosure", delta_disclosure, missing=missing)


def delta_disclosure(groups: ClassHistograms, overall: Overall) -> NDArray[np.float64]:
    """Return the largest |ln(p / q)| of a value (Brickell & Shmatikov 2008, definition 3).

    A class that lacks a value of the table excludes that value for its people: infinite.
    """
    import numpy as np

    change = np.abs(np.log(groups.shares / overall.shares[groups.codes]))
    lacking = groups.lengths < np.count_nonzero(overall.shares)
    return np.where(lacking, np.inf, np.maximum.reduceat(change, groups.first))


SPEC = CriterionSpec(
    DeltaDisclosure,
    summary="The logarithm of every value's share changes by less than delta.",
    option="disclosure",
    option_summary="δ-disclosure: how far the log of a value's share may change.",
    examples=("1.5", "diagnosis=1.5"),
    hidden=True,
    position=80,
)
