"""What criteria are measured on: classes with histograms of a sensitive column, and the whole table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ClassHistograms:
    """Some whole classes with the histogram of one sensitive column in each.

    Class i has the codes `codes[starts[i]:starts[i + 1]]`, ascending, held by `counts` people, and
    `sizes[i]` people in all. The sum of a class's counts exceeds its size when people have several
    values.
    """

    keys: NDArray[np.int64]
    starts: NDArray[np.int64]
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """Where each class begins."""
        return self.starts[:-1]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The number of different values in each class."""
        return np.diff(self.starts)

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """The class each value belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """The share of each value within its class; they add up to 1."""
        totals = np.add.reduceat(self.counts, self.first)
        return self.counts / np.repeat(totals, self.lengths)

    @cached_property
    def largest(self) -> NDArray[np.int64]:
        """The count of each class's most frequent value."""
        return np.maximum.reduceat(self.counts, self.first)

    def known(self, missing: int) -> tuple[ClassHistograms, NDArray[np.bool_]]:
        """Return the classes without the people whose value has the code `missing`.

        Classes in which all values are missing are left out; the second result shows which of
        the classes here are left.
        """
        is_known = self.codes != missing
        lengths = np.bincount(self.owners[is_known], minlength=len(self))
        has_some = lengths > 0
        unknown = ~is_known
        gone = np.zeros(len(self), dtype=np.int64)
        gone[self.owners[unknown]] = self.counts[unknown]
        starts = np.concatenate([[0], np.cumsum(lengths[has_some])]).astype(np.int64)
        counts = self.counts[is_known]
        # A person with several rows may have a value in one of them and none in another.
        most = np.maximum.reduceat(counts, starts[:-1]) if len(counts) else counts
        sizes = np.maximum((self.sizes - gone)[has_some], most)
        return ClassHistograms(
            self.keys[has_some], starts, self.codes[is_known], counts, sizes
        ), has_some

    @cached_property
    def descending(self) -> NDArray[np.int64]:
        """The counts, most frequent first within each class."""
        top = int(self.counts.max()) + 1
        if len(self) * top >= 2**62:
            return self.counts[np.lexsort((-self.counts, self.owners))]
        # Sorting one packed number is many times quicker than sorting two columns.
        packed = np.sort(self.owners * top + (top - 1 - self.counts))
        return top - 1 - packed % top


@dataclass(frozen=True)
class Overall:
    """The whole table's distribution of a sensitive column.

    Attributes:
        shares: The share of each code; they add up to 1.
        ranks: Each code's place in the natural order, None when the values have no order.
        levels: For each level of the hierarchy from the values upward (the top left out), the group
            of each code; None without a hierarchy.
        missing: The code of missing values, the last one; None where there are none.
    """

    shares: NDArray[np.float64]
    ranks: NDArray[np.int64] | None = None
    levels: tuple[NDArray[np.int64], ...] | None = None
    missing: int | None = None

    @cached_property
    def known(self) -> Overall:
        """The distribution among those whose value is not missing."""
        if self.missing is None:
            return self
        shares = self.shares[:-1]
        return Overall(
            shares / max(float(shares.sum()), np.finfo(float).tiny),
            None if self.ranks is None else self.ranks[:-1],
            None if self.levels is None else tuple(level[:-1] for level in self.levels),
        )


Score = Callable[[ClassHistograms, Overall], NDArray[np.float64]]


@dataclass(frozen=True)
class Measure:
    """One number per class, and which end of it is unsafe."""

    name: str
    score: Score
    is_worst_when_small: bool = False
