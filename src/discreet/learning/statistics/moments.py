"""Means and variances of groups from noisy sums, and the same experiment repeated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.learning.statistics.conclusion import StatisticRow
from discreet.learning.statistics.grid import Grid
from discreet.learning.statistics.intervals import FEWEST, REPLICATES, has_signal
from discreet.learning.statistics.released import NoisySums, ReleasedSums
from discreet.learning.statistics.variables import Groups

Floats = NDArray[np.float64]
_LEAST = 1e-12  # of the largest variance: a divisor that is not 0


@dataclass(frozen=True)
class GroupMoments:
    """Means and variances of groups, in units of the grid; one experiment, or many along the first axis.

    Attributes:
        rows: How many rows each group has.
        means: Their means.
        variances: Their variances: an estimate plus the standard error that noise gives it.
        noise: The variance of each mean that comes from noise.
        enough: Whether each group has rows in spite of the noise.
    """

    rows: Floats
    means: Floats
    variances: Floats
    noise: Floats
    enough: NDArray[np.bool_]

    @property
    def squared_errors(self) -> Floats:
        """The variance of each mean, from sampling and from noise."""
        return self.variances / self.rows + self.noise


@dataclass(frozen=True)
class GroupExperiment:
    """Noisy sums of groups, and how they would come out again."""

    grid: Grid
    rows: NoisySums
    sums: NoisySums
    squares: NoisySums

    @staticmethod
    def of(grid: Grid, released: ReleasedSums) -> GroupExperiment:
        """Return the experiment of what a `GroupLook` released."""
        return GroupExperiment(grid, released["rows"], released["sums"], released["squares"])

    @property
    def observed(self) -> GroupMoments:
        """The moments of what was released."""
        return self._find_moments(self.rows.values, self.sums.values, self.squares.values)

    @property
    def cautious_errors(self) -> Floats:
        """The standard error of each released mean, as if each group had fewer rows by the error of their number.

        Too many rows, by noise, would make intervals too narrow.
        """
        found = self.observed
        fewer = np.maximum(found.rows - self.rows.error, found.rows / 2)
        return np.sqrt(found.squared_errors) * found.rows / fewer

    def repeat(
        self, chance: Generator, rows: Floats, means: Floats, variances: Floats
    ) -> GroupMoments:
        """Return moments of repetitions with given moments, normal numbers and the same noise.

        Repetitions in which a group has no rows for the noise are left out, as such a release is not tested.
        """
        count, most = (REPLICATES, len(rows)), self.grid.most
        size = np.maximum(rows, 2.0)
        drawn = means + np.sqrt(variances / size) * chance.standard_normal(count)
        spread = variances * chance.chisquare(size - 1, count)
        squares = spread + size * drawn**2
        found = self._find_moments(
            size + self.rows.draw_noise(chance, REPLICATES),
            size * drawn + self.sums.draw_noise(chance, REPLICATES),
            2 * squares - most**2 * size + self.squares.draw_noise(chance, REPLICATES),
        )
        kept = found.enough.all(axis=1)
        return GroupMoments(
            found.rows[kept],
            found.means[kept],
            found.variances[kept],
            found.noise[kept],
            found.enough[kept],
        )

    def _find_moments(self, rows: Floats, sums: Floats, squares: Floats) -> GroupMoments:
        most = float(self.grid.most)
        size = np.maximum(rows, 2.0)
        means = np.clip(sums / size, -most, most)
        noise = (self.sums.error**2 + (means * self.rows.error) ** 2) / size**2
        second = squares / (2 * size) + most**2 / 2
        error = np.hypot(self.squares.error, squares / size * self.rows.error) / (2 * size)
        error = np.hypot(error, 2 * means * np.sqrt(noise))
        # Too large a variance costs power, too small a one the level: so the noise is added.
        above = second - means**2 + error
        variances = np.clip(above, most**2 * _LEAST, most**2 - means**2 + most**2 * _LEAST)
        threshold = max(FEWEST, 4 * self.rows.error)
        return GroupMoments(
            rows=size,
            means=means,
            variances=variances * size / (size - 1),
            noise=noise,
            enough=rows >= threshold,
        )


def describe_means(
    experiment: GroupExperiment, repeated: GroupMoments, groups: Groups, confidence: float
) -> list[StatisticRow]:
    """Return the mean of each group with its interval, in the numbers of the column.

    Args:
        experiment: What was released.
        repeated: Repetitions with the observed moments.
        groups: The groups.
        confidence: How often each interval holds.
    """
    grid, found = experiment.grid, experiment.observed
    far = np.abs(repeated.means - found.means) / np.sqrt(repeated.squared_errors)
    halves = np.quantile(far, confidence, axis=0) * experiment.cautious_errors
    made: list[StatisticRow] = []
    for group, (mean, half) in enumerate(zip(found.means, halves, strict=True)):
        ends = np.clip([mean - half, mean + half], -grid.most, grid.most)
        middle, low, high = (grid.center + grid.step * float(one) for one in (mean, *ends))
        label = groups.label(group)
        made.append(StatisticRow("mean", label, middle, low - grid.error, high + grid.error))
    return made


def hidden_groups(experiment: GroupExperiment, groups: Groups) -> list[str]:
    """Return the groups of which the noise hides whether they have rows."""
    counted = zip(groups.names, experiment.rows.values.tolist(), strict=True)
    return [name for name, rows in counted if not has_signal(rows, experiment.rows.error)]
