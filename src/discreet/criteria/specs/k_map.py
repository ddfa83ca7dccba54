"""k-map: every class has at least k people in the population."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from discreet.criteria.criterion import People, PopulationCriterion
from discreet.registry import CriterionSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class KMap(PopulationCriterion):
    """Every class has at least `k` people in the population table (Sweeney 2002).

    >>> KMap(5).name
    'k-map'
    """

    name: ClassVar[str] = "k-map"
    sign: ClassVar[str] = "≥"
    level: ClassVar[Literal["among", "chance"]] = "among"
    k: People

    @property
    def is_absorbing(self) -> bool:
        """Whether a class that holds still does after any row joins it: always."""
        return True

    def fails(self, people: NDArray[np.int64], among: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which classes have too few people in the population."""
        del people
        return among < self.k

    def fails_in_parts(self, among: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which classes fail: a part has fewer people still."""
        return among < self.k


SPEC = CriterionSpec(
    KMap,
    summary="Every class has at least k people in the population.",
    option="k_map",
    option_summary="People of the population per class.",
    examples=("20",),
    hidden=True,
    position=20,
)
