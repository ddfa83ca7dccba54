"""k-anonymity: every class has at least k people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.criteria.criterion import Criterion, People
from discreet.registry import CriterionSpec


@dataclass(frozen=True)
class KAnonymity(Criterion):
    """Every class has at least `k` people (Samarati & Sweeney 1998).

    >>> KAnonymity(5).name
    'k-anonymity'
    """

    name: ClassVar[str] = "k-anonymity"
    sign: ClassVar[str] = "≥"
    k: People

    @property
    def is_absorbing(self) -> bool:
        """Whether a class that holds still does after any row joins it: always."""
        return True

    def least_people(self, *, has_units: bool) -> int:
        """Return `k`."""
        del has_units
        return self.k


SPEC = CriterionSpec(
    KAnonymity,
    summary="Every class has at least k people.",
    option="k",
    option_summary="k-anonymity: people per class.",
    examples=("5",),
    metavar="K",
    position=10,
)
