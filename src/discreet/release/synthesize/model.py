"""A fitted table, and rows from it: all of it is post-processing of noisy counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.release.synthesize.candidates import MEAN_ERROR, Candidate
from discreet.release.synthesize.fit import FittedTable, sum_coarse
from discreet.release.synthesize.junction_tree import Codes, Floats
from discreet.release.synthesize.resolutions import Resolutions
from discreet.release.synthesize.sample import refine_column, sample_rows


@dataclass(frozen=True)
class FittedColumns:
    """The columns one by one.

    Attributes:
        total: The number of rows, from noisy counts.
        counts: The noisy count of each value.
        scales: The standard error of these counts.
        frequencies: The share of each value.
        resolutions: How coarsely each column can be seen.
    """

    total: float
    counts: tuple[Floats, ...]
    scales: tuple[float, ...]
    frequencies: tuple[Floats, ...]
    resolutions: tuple[Resolutions, ...]

    @cached_property
    def finest_frequencies(self) -> tuple[Floats, ...]:
        """The share of each finest code."""
        return tuple(
            sum_coarse(shares, [one.finest], [one.sizes[-1]])
            for shares, one in zip(self.frequencies, self.resolutions, strict=True)
        )

    @property
    def expected_error(self) -> float:
        """The share of rows that noise puts at a wrong value of a column, on average over columns."""
        errors = [scale * len(one) for scale, one in zip(self.scales, self.counts, strict=True)]
        return MEAN_ERROR * sum(errors) / (2 * self.total * len(errors))


@dataclass(frozen=True)
class SyntheticModel:
    """A fitted table, from which rows are drawn; all of it is post-processing of noisy counts.

    Attributes:
        columns: The columns one by one.
        table: The distribution of working values.
        levels: The level of resolution that each column is fitted at.
        chosen: The marginals that were measured.
    """

    columns: FittedColumns
    table: FittedTable
    levels: tuple[int, ...]
    chosen: tuple[Candidate, ...]

    def sample(self, count: int, chance: Generator) -> NDArray[np.int32]:
        """Return `count` rows of values, each value as its place in its column's domain."""
        coarse = [
            one.of_values(level)
            for one, level in zip(self.columns.resolutions, self.levels, strict=True)
        ]
        return self._sample_refined(count, coarse, self.columns.frequencies, chance)

    def sample_finest(self, count: int, chance: Generator) -> NDArray[np.int32]:
        """Return `count` rows of finest codes, to compare with counts of them."""
        columns = self.columns
        coarse = [
            one.levels[level] for one, level in zip(columns.resolutions, self.levels, strict=True)
        ]
        return self._sample_refined(count, coarse, columns.finest_frequencies, chance)

    def _sample_refined(
        self, count: int, coarse: Sequence[Codes], shares: Sequence[Floats], chance: Generator
    ) -> NDArray[np.int32]:
        rows = sample_rows(self.table, count, chance)
        for place, (codes, share) in enumerate(zip(coarse, shares, strict=True)):
            rows[:, place] = refine_column(rows[:, place], codes, share, chance)
        return rows
