"""The criteria for a search: which groups of combinations may be published."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.measure.criteria.evaluate import TOLERANCE, CriterionTest, make_criterion_test
from discreet.measure.criteria.t_closeness import Overall
from discreet.policy import model

if TYPE_CHECKING:
    from discreet.release.anonymize.frequencies import Frequencies


@dataclass(frozen=True)
class Judge:
    """The criteria of one table, tested on any grouping of its combinations.

    Tests are those of `measure`, so that what is enforced is what is measured afterwards.
    `columns[i]` is the sensitive column of the histogram at i, `overalls[i]` its distribution.
    """

    criteria: tuple[model.Criterion, ...]
    columns: tuple[str, ...] = ()
    overalls: tuple[Overall, ...] = ()
    has_units: bool = False
    trials: tuple[tuple[int, CriterionTest], ...] = field(init=False)

    def __post_init__(self) -> None:
        found = [
            (self.columns.index(test.criterion.column), test)  # pyright: ignore[reportAttributeAccessIssue]
            for criterion in self.criteria
            if (test := make_criterion_test(criterion)) is not None
        ]
        object.__setattr__(self, "trials", tuple(found))

    @cached_property
    def k(self) -> int:
        """The least number of people in a class that any criterion requires; 1 when none does."""
        asked = [c.k for c in self.criteria if isinstance(c, (model.KAnonymity, model.AlphaK))]
        # A class of n people has at most n values, so that l is a bound on its size as well.
        asked += [
            int(np.ceil(c.l - TOLERANCE))
            for c in self.criteria
            if isinstance(c, model.LDiversity) and not self.has_units
        ]
        return max([1, *asked])

    @cached_property
    def population(self) -> tuple[model.KMap | model.DeltaPresence, ...]:
        """The criteria that compare a class with its population."""
        return tuple(c for c in self.criteria if isinstance(c, (model.KMap, model.DeltaPresence)))

    @cached_property
    def is_monotone(self) -> bool:
        """Whether merging classes that all hold gives classes that hold.

        So it is for every criterion here, unless people have several rows: then a merged class may
        have fewer people than its parts together, and shares may grow.
        """
        return not self.has_units or self.is_absorbing

    @cached_property
    def is_absorbing(self) -> bool:
        """Whether a class that holds still does after any row joins it: k and distinct l only."""
        return all(
            isinstance(c, (model.KAnonymity, model.KMap))
            or (isinstance(c, model.LDiversity) and c.kind == "distinct")
            for c in self.criteria
        )

    def holds(self, table: Frequencies, labels: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
        """Return, for each of `count` groups of the table's combinations, whether it may be a class.

        `labels` gives the group of each combination. Criteria about a population are not tested
        here: they depend on what the class is called.
        """
        sizes = table.sizes(labels, count)
        held = sizes >= self.k
        for index, test in self.trials:
            if not held.any():
                break
            numbers = np.cumsum(held) - 1
            chosen = held[labels]
            some = table.take(chosen) if not chosen.all() else table
            groups = some.groups(
                index, numbers[labels[chosen]], int(numbers[-1]) + 1, sizes=sizes[held]
            )
            scores = test.measure.score(groups, self.overalls[index])
            held[held] = test.holds(groups, scores)
        return held


def holds_as_one(judge: Judge, table: Frequencies) -> bool:
    """Return whether all of `table` taken as one class meets the criteria."""
    if not len(table):
        return True
    return bool(judge.holds(table, np.zeros(len(table), dtype=np.int64), 1)[0])
