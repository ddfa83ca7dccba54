"""The design of a linear model over coded features: which coefficients a code has, and by how much it counts.

A category has a coefficient for each group of its codes. A number on a scale has one for itself, which counts
from -1 to 1 between its bounds, and one for missing values where noise does not hide them. So each code of a
feature has one coefficient that is not multiplied with 0, which is what bounds how much a row changes sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.domain.coded_column import CodedColumn
from discreet.learning.features import code_numbers, is_on_scale
from discreet.learning.merged_bins import NoisyColumns, merge_codes
from discreet.learning.training import Codes, Counts, Training

Floats = NDArray[np.float64]
UNIT = 1024  # what a code counts is a whole number of this part of one
_LEVELS = 40  # into how many levels a scale is divided where pairs of features are counted
_MOST_GROUPS = 32  # of a category
_MOST_COEFFICIENTS = 400
_NOTICEABLE = (
    3  # missing values have a coefficient if their noisy count exceeds so many standard errors
)


@dataclass(frozen=True)
class DesignColumn:
    """How one feature enters.

    Attributes:
        is_scale: Whether its first coefficient is that of a number.
        levels: The level of each code: rows are counted by levels.
        entries: Which of the column's coefficients each level has.
        values: What each level multiplies it with, in whole parts of `UNIT`.
        exact: What each code multiplies it with, where rows are predicted.
    """

    is_scale: bool
    levels: Codes
    entries: Codes
    values: Counts
    exact: Floats

    @property
    def size(self) -> int:
        """How many coefficients it has."""
        return int(self.entries.max()) + 1

    @cached_property
    def matrix(self) -> Counts:
        """What each level, axis 0, adds to the sum of each coefficient, in whole parts of `UNIT`."""
        made = np.zeros((len(self.entries), self.size), np.int64)
        made[np.arange(len(self.entries)), self.entries] = self.values
        return made

    @cached_property
    def code_matrix(self) -> Floats:
        """What each code, axis 0, multiplies each coefficient with."""
        made = np.zeros((len(self.levels), self.size))
        made[np.arange(len(self.levels)), self.entries[self.levels]] = self.exact
        return made


@dataclass(frozen=True)
class Design:
    """All features as they enter a linear model.

    Attributes:
        columns: A design column for each feature.
    """

    columns: tuple[DesignColumn, ...]

    @cached_property
    def starts(self) -> list[int]:
        """Where the coefficients of each feature begin, and the end of the last ones."""
        return np.cumsum([0, *(one.size for one in self.columns)]).tolist()

    @property
    def size(self) -> int:
        """How many coefficients there are."""
        return self.starts[-1]

    @property
    def spans(self) -> list[slice]:
        """The coefficients of each feature."""
        return [slice(a, b) for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]

    @cached_property
    def contrasts(self) -> Floats:
        """An orthonormal basis of coefficients that differ in what they predict.

        A constant that is added to all groups of a category would only move the intercept: it is left out.
        """
        blocks: list[Floats] = []
        for column, span in zip(self.columns, self.spans, strict=True):
            size = column.size
            block = np.eye(size) if column.is_scale else _contrast_basis(size)
            made = np.zeros((self.size, block.shape[1]))
            made[span] = block
            blocks.append(made)
        return np.concatenate(blocks, axis=1)

    def split(self, coefficients: Floats) -> list[Floats]:
        """Return the coefficients of each feature."""
        return [coefficients[span] for span in self.spans]


def make_design(training: Training, columns: NoisyColumns) -> Design:
    """Return the design of the features: groups of categories follow from noisy counts, all else is public."""
    features = training.space.features
    most = max(2, min(_MOST_GROUPS, _MOST_COEFFICIENTS // max(1, len(features))))
    merged = merge_codes(training, columns, [most] * len(features))
    made: list[DesignColumn] = []
    for place, column in enumerate(features):
        if is_on_scale(column):
            has_missing = columns.counts[place][-1] > _NOTICEABLE * columns.scales[place]
            made.append(_scale_column(column, has_missing=bool(has_missing)))
        else:
            made.append(_group_column(merged.maps[place]))
    return Design(tuple(made))


def scale_numbers(numbers: Sequence[float] | Floats) -> Floats:
    """Return numbers from -1 for the least to 1 for the greatest; 0 where they are all the same.

    >>> scale_numbers([10, 15, 20]).tolist()
    [-1.0, 0.0, 1.0]
    """
    low, high = np.min(numbers), np.max(numbers)
    if not high > low:
        return np.zeros(len(numbers))
    half = high / 2 - low / 2
    return np.clip((np.asarray(numbers) - low) / half - 1, -1, 1)


def _group_column(groups: Codes) -> DesignColumn:
    size = int(groups.max()) + 1
    return DesignColumn(
        is_scale=False,
        levels=groups,
        entries=np.arange(size),
        values=np.full(size, UNIT),
        exact=np.ones(len(groups)),
    )


def _scale_column(column: CodedColumn, *, has_missing: bool) -> DesignColumn:
    """Return a number on a scale; values within a level count as their mean where moments are summed."""
    exact = scale_numbers(code_numbers(column))
    nearest = np.round((exact + 1) / 2 * (_LEVELS - 1)).astype(np.intp)
    levels = np.unique(nearest, return_inverse=True)[1].reshape(-1)
    means = np.bincount(levels, exact) / np.bincount(levels)
    count = len(means)
    return DesignColumn(
        is_scale=True,
        levels=np.append(levels, count),
        entries=np.array([*([0] * count), int(has_missing)], np.intp),
        values=np.append(np.round(means * UNIT), UNIT if has_missing else 0).astype(np.int64),
        exact=np.append(exact, float(has_missing)),
    )


def _contrast_basis(size: int) -> Floats:
    """Return orthonormal columns, each of which adds up to 0 (Helmert's)."""
    made = np.zeros((size, max(0, size - 1)))
    for place in range(1, size):
        made[:place, place - 1] = 1 / place
        made[place, place - 1] = -1
        made[:, place - 1] /= np.sqrt(1 + 1 / place)
    return made
