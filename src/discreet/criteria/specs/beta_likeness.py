"""β-likeness: how much each value's share in a class exceeds the table's.

Relative, not absolute, change: a rare value that becomes ten times as likely is seen, where
t-closeness would hide it. Every kernel returns one number per class; a table's level is the largest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from discreet.criteria.criterion import TOLERANCE, Missing, Parameter, SensitiveCriterion
from discreet.registry import CriterionSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.criteria.histograms import ClassHistograms, Measure, Overall

Likeness = Literal["basic", "enhanced"]


@dataclass(frozen=True)
class BetaLikeness(SensitiveCriterion):
    """No value's share rises by more than `beta` relative to the table (Cao & Karras 2012).

    >>> BetaLikeness("diagnosis", beta=2, kind="enhanced").name
    'beta-likeness'
    """

    name: ClassVar[str] = "beta-likeness"
    title: ClassVar[str | None] = "β-likeness"
    is_relative: ClassVar[bool] = True
    beta: Annotated[float, Parameter("The largest relative gain.", above=0)]
    kind: Annotated[
        Likeness, Parameter("Whether the gain of frequent values is limited further.")
    ] = "basic"

    def make_measure(self) -> Measure:
        """Return the measure of its kind."""
        return likeness_measure(self.kind, missing=self.missing)

    def holds(self, groups: ClassHistograms, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which classes make no value much more likely."""
        del groups
        return scores <= self.beta + TOLERANCE


def likeness_measure(kind: Likeness, *, missing: Missing = "unknown") -> Measure:
    """Return the measure of a kind."""
    from discreet.criteria.measures import measure_distance

    kernels = {"basic": basic_beta, "enhanced": enhanced_beta}
    return measure_distance(f"{kind}_beta", kernels[kind], missing=missing)


def basic_beta(groups: ClassHistograms, overall: Overall) -> NDArray[np.float64]:
    """Return the largest relative gain (p - q) / q of a value (Cao & Karras 2012, definition 2)."""
    import numpy as np

    return np.maximum.reduceat(_relative_gains(groups, overall), groups.first)


def enhanced_beta(groups: ClassHistograms, overall: Overall) -> NDArray[np.float64]:
    """Return the largest relative gain, infinite where one exceeds -ln q (ibid., definition 3).

    The enhanced bound min(β, -ln q) also keeps frequent values from reaching certainty, for every β.
    """
    import numpy as np

    gains = _relative_gains(groups, overall)
    caps = -np.log(overall.shares[groups.codes])
    # The tolerance keeps a gain that equals its cap from failing by rounding.
    broken = gains > caps + 1e-12
    return np.maximum.reduceat(np.where(broken, np.inf, gains), groups.first)


def _relative_gains(groups: ClassHistograms, overall: Overall) -> NDArray[np.float64]:
    shares = overall.shares[groups.codes]
    return (groups.shares - shares).clip(0.0) / shares


SPEC = CriterionSpec(
    BetaLikeness,
    summary="No value's share in a class exceeds its share in the table by more than beta, relatively.",
    option="beta",
    option_summary="β-likeness: how far a value's share may rise, relatively.",
    examples=("2", "diagnosis=enhanced:2"),
    hidden=True,
    position=70,
)
