"""What a learner works with: counts of coded rows, and what it may spend on noisy looks at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.domain.code_tree import CodeTree
from discreet.dp.spending import ZcdpSpending
from discreet.learning.features import FeatureSpace

Counts = NDArray[np.int64]
Codes = NDArray[np.intp]
Columns = tuple[int, ...]


class TrainingCounts(Protocol):
    """Exact counts of coded rows, which stay in the engine; a learner adds noise to all that it takes from them."""

    @property
    def sensitivity(self) -> int:
        """How much the rows of one unit count in all, in counted units."""
        ...

    @property
    def one(self) -> int:
        """What a whole row counts."""
        ...

    def count(self, columns: Sequence[Columns], maps: Sequence[Codes] | None) -> list[Counts]:
        """Return the counts of each of `columns`, of codes or of the coarser ones that `maps` gives them."""
        ...

    def count_scored(
        self,
        weights: Sequence[Counts],
        cuts: Sequence[int],
        columns: Sequence[Columns],
        maps: Sequence[Codes] | None = None,
    ) -> list[Counts]:
        """Return the counts of each of `columns` by how many of `cuts` a row's score reaches, the first axis."""
        ...

    def count_by_leaf(self, looks: Sequence[tuple[CodeTree, Columns]]) -> list[Counts]:
        """Return the counts of some columns by the leaf of a tree that a row falls into, the first axis."""
        ...

    def count_by_forest(
        self,
        trees: Sequence[CodeTree],
        weights: Sequence[Counts],
        cuts: Sequence[int],
        columns: Sequence[Columns],
    ) -> list[Counts]:
        """Return the counts of each of `columns` by what the leaves that a row falls into weigh in all, the first axis.

        `weights` has for each tree an array of leaves by scores. Of one score it counts how many of `cuts` the sum
        reaches; of several the place of the largest sum.
        """
        ...

    def count_by_center(
        self, distances: Sequence[Counts | None], columns: Sequence[Columns]
    ) -> list[Counts]:
        """Return the counts of each of `columns` by the center that a row is nearest to, the first axis.

        `distances` has for each column what its codes add to the distance to each center, None for nothing.
        """
        ...


@dataclass(frozen=True)
class Training:
    """All that a learner gets.

    Attributes:
        counts: Counts of coded rows, in the order of `space.columns`.
        space: The features and the target.
        spending: What noisy looks are paid from; all of it may be spent, and no more.
        epsilon: What was asked for, a public fact that settings may depend on.
        chance: Randomness that protects nothing, such as the order of features.
    """

    counts: TrainingCounts
    space: FeatureSpace
    spending: ZcdpSpending
    epsilon: Fraction
    chance: Generator

    @property
    def target_place(self) -> int:
        """The place of the target among the coded columns."""
        return len(self.space.features)

    def count_pairs(self) -> list[Counts]:
        """Return the exact counts of each feature with the target, without rows whose target is missing.

        Axis 0 has the codes of the feature, axis 1 those of the target.
        """
        target = self.target_place
        found = self.counts.count([(place, target) for place in range(target)], None)
        return [one[:, :-1] for one in found]
