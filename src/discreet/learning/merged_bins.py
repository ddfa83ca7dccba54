"""Codes of features merged into bins by noisy counts: few where noise would hide many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.dp.spending import divide_budget
from discreet.learning.training import Codes, Training
from discreet.release.synthesize.resolutions import (
    ColumnShape,
    choose_resolutions,
    project_on_simplex,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NoisyColumns:
    """The noisy counts of each feature's codes, with their standard errors.

    Attributes:
        counts: Of each feature, how many rows have each code.
        scales: The standard error of these counts.
    """

    counts: list[Floats]
    scales: list[float]

    @property
    def rows(self) -> float:
        """The noisy number of rows, at least one."""
        return max(1.0, float(np.median([one.sum() for one in self.counts])))


@dataclass(frozen=True)
class MergedBins:
    """Bins of each feature.

    Attributes:
        maps: The bin of each code of each feature.
        counts: The noisy count of each bin, at least two standard errors.
    """

    maps: list[Codes]
    counts: list[Floats]


def measure_features(training: Training, price: Fraction) -> NoisyColumns:
    """Return the noisy counts of each feature.

    Guarantee: that of `training.spending` for `price`: a row is in one cell of each feature's counts.
    """
    spending = training.spending
    exact = training.counts.count([(place,) for place in range(training.target_place)], None)
    prices = divide_budget(price, [float(len(one)) ** spending.power for one in exact])
    counts = [spending.measure(one, part) for one, part in zip(exact, prices, strict=True)]
    return NoisyColumns(counts, [spending.scale(part) for part in prices])


def merge_codes(training: Training, columns: NoisyColumns, caps: Sequence[int]) -> MergedBins:
    """Return bins, as many for each feature as its cap allows and noise does not hide."""
    maps: list[Codes] = []
    counts: list[Floats] = []
    rows = columns.rows
    for column, noisy, scale, cap in zip(
        training.space.features, columns.counts, columns.scales, caps, strict=True
    ):
        shape = ColumnShape(column.size, column.is_ordered, column.levels, has_missing=True)
        shares = project_on_simplex(noisy, rows) / rows
        found = choose_resolutions(shares, noisy, scale=scale, shape=shape, caps=(cap,))
        maps.append(found.of_values(0))
        counts.append(np.maximum(np.bincount(maps[-1], noisy), 2 * scale))
    return MergedBins(maps, counts)
