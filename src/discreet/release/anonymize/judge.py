"""The criteria for a search: which groups of combinations may be published."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.criteria.criterion import Criterion, PopulationCriterion, SensitiveCriterion
from discreet.criteria.histograms import Overall

if TYPE_CHECKING:
    from discreet.release.anonymize.frequencies import Frequencies


@dataclass(frozen=True)
class Judge:
    """The criteria of one table, tested on any grouping of its combinations.

    Its criteria are those of `measure`, so that what is enforced is what is measured afterwards.
    `columns[i]` is the sensitive column of the histogram at i, `overalls[i]` its distribution.
    """

    criteria: tuple[Criterion, ...]
    columns: tuple[str, ...] = ()
    overalls: tuple[Overall, ...] = ()
    has_units: bool = False
    trials: tuple[tuple[int, SensitiveCriterion], ...] = field(init=False)

    def __post_init__(self) -> None:
        found = [
            (self.columns.index(criterion.column), criterion)
            for criterion in self.criteria
            if isinstance(criterion, SensitiveCriterion)
        ]
        object.__setattr__(self, "trials", tuple(found))

    @cached_property
    def k(self) -> int:
        """The least number of people in a class that any criterion requires; 1 when none does."""
        return max([1, *(c.least_people(has_units=self.has_units) for c in self.criteria)])

    @cached_property
    def population(self) -> tuple[PopulationCriterion, ...]:
        """The criteria that compare a class with its population."""
        return tuple(c for c in self.criteria if isinstance(c, PopulationCriterion))

    @cached_property
    def is_monotone(self) -> bool:
        """Whether merging classes that all hold gives classes that hold.

        If people have several rows, a merged class may have fewer people than its parts together,
        and shares may grow.
        """
        return self.is_absorbing or (
            not self.has_units and all(criterion.is_monotone for criterion in self.criteria)
        )

    @cached_property
    def is_absorbing(self) -> bool:
        """Whether a class that holds still does after any row joins it."""
        return all(criterion.is_absorbing for criterion in self.criteria)

    def holds(self, table: Frequencies, labels: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
        """Return, for each of `count` groups of the table's combinations, whether it may be a class.

        `labels` gives the group of each combination. Criteria about a population are not tested
        here: they depend on what the class is called.
        """
        sizes = table.sizes(labels, count)
        held = sizes >= self.k
        for index, criterion in self.trials:
            if not held.any():
                break
            numbers = np.cumsum(held) - 1
            chosen = held[labels]
            some = table.take(chosen) if not chosen.all() else table
            groups = some.groups(
                index, numbers[labels[chosen]], int(numbers[-1]) + 1, sizes=sizes[held]
            )
            scores = criterion.measure.score(groups, self.overalls[index])
            held[held] = criterion.holds(groups, scores)
        return held


def holds_as_one(judge: Judge, table: Frequencies) -> bool:
    """Return whether all of `table` taken as one class meets the criteria."""
    if not len(table):
        return True
    return bool(judge.holds(table, np.zeros(len(table), dtype=np.int64), 1)[0])
