"""Pearson's correlation of several numbers, from noisy moments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.errors import WrongUsage
from discreet.formatting import join_names
from discreet.learning.statistics.conclusion import (
    POPULATION,
    Conclusion,
    StatisticPlan,
    StatisticRow,
    TestOutcome,
)
from discreet.learning.statistics.grid import Grid, make_grid
from discreet.learning.statistics.intervals import REPLICATES, has_signal, p_value
from discreet.learning.statistics.kinds import StatisticSpec
from discreet.learning.statistics.looks import MomentLook
from discreet.learning.statistics.released import ReleasedSums
from discreet.learning.statistics.variables import Variables, require_numbers
from discreet.learning.statistics.wording import hide_by_noise, word_test

Floats = NDArray[np.float64]
_MOST_COLUMNS = 20
_HALVINGS = 14


def plan_correlation(variables: Variables, *, confidence: float) -> StatisticPlan:
    """Return what is measured: moments of numbers over rows that have all of them."""
    columns = [require_numbers(column) for column in variables.columns]
    if not 2 <= len(columns) <= _MOST_COLUMNS:
        raise WrongUsage(
            f"A correlation takes 2 to {_MOST_COLUMNS} columns of numbers: `--columns a,b`."
        )
    grids = tuple(make_grid(column) for column in columns)
    look = MomentLook(grids)
    conclude = partial(correlate_numbers, look=look, confidence=confidence)
    return StatisticPlan(tuple(grid.column for grid in grids), look, conclude, look.missing)


def correlate_numbers(released: ReleasedSums, *, look: MomentLook, confidence: float) -> Conclusion:
    """Return the correlation of every two numbers with its interval, and for two numbers the test that it is 0.

    An interval has the correlations that a test at its level does not reject, by repetitions with normal numbers and
    the same noise. The matrix is the nearest one without negative eigenvalues, scaled to a diagonal of ones.
    """
    names = [grid.column.name for grid in look.grids]
    noisy_rows = released["rows"]
    if not has_signal(float(noisy_rows.values[0]), noisy_rows.error):
        return hide_by_noise((), POPULATION)
    chance = released.start_chance()
    pairs = [_PairMoments.of(released, look, first, second) for first, second in look.pairs]
    raw = np.eye(len(names))
    for (first, second), pair in zip(look.pairs, pairs, strict=True):
        raw[first, second] = raw[second, first] = pair.observed
    matrix = clamp_matrix(raw)
    described: list[StatisticRow] = []
    test: TestOutcome | None = None
    for (first, second), pair in zip(look.pairs, pairs, strict=True):
        label = {"column": names[first], "with": names[second]}
        if not pair.has_spread:
            described.append(StatisticRow("correlation", label, None, -1.0, 1.0))
            continue
        best = float(matrix[first, second])
        drawn = pair.draw(chance)
        low, high = pair.find_interval(drawn, confidence, (look.grids[first], look.grids[second]))
        described.append(StatisticRow("correlation", label, best, min(low, best), max(high, best)))
        if len(names) == 2:
            alike = pair.repeat(drawn, 0.0)
            level = p_value(abs(pair.observed), np.abs(alike))
            free = max(1.0, float(noisy_rows.values[0]) - 2)
            test = TestOutcome("the correlation is 0", pair.observed, level, free)
    if not any(pair.has_spread for pair in pairs):
        return hide_by_noise(described, POPULATION)
    return Conclusion(
        _word_matrix(names, described, test, confidence), tuple(described), POPULATION, test
    )


def _word_matrix(
    names: list[str], described: list[StatisticRow], test: TestOutcome | None, confidence: float
) -> str:
    if test is not None:
        both = join_names([f"'{name}'" for name in names])
        return word_test(
            test.p_value,
            confidence,
            found=f"{both} are correlated, about {described[0].estimate:.2f}",
            absent=f"No correlation of {both} is shown",
        )
    sure = sum((one.low or 0) > 0 or (one.high or 0) < 0 for one in described)
    return f"{sure} of {len(described)} pairs of numbers have an interval without 0."


def clamp_matrix(matrix: Floats) -> Floats:
    """Return the matrix without its negative eigenvalues, scaled to a diagonal of ones.

    >>> clamp_matrix(np.array([[1.0, 0.5], [0.5, 1.0]])).round(3).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    values, vectors = np.linalg.eigh(matrix)
    if values[0] >= 0:
        return matrix
    kept = (vectors * np.maximum(values, 0.0)) @ vectors.T
    scale = np.sqrt(np.diag(kept))
    return np.clip(kept / np.outer(scale, scale), -1.0, 1.0)


@dataclass(frozen=True)
class _Draws:
    """The chance of repetitions of one pair of numbers."""

    normal: Floats
    first: Floats
    second: Floats
    cross: Floats
    noise: Floats


@dataclass(frozen=True)
class _PairMoments:
    """The noisy moments of two numbers, each divided by its bound, and the error of each."""

    values: Floats  # rows, two sums, two centered squares, the product
    errors: Floats
    is_gaussian: bool

    @staticmethod
    def of(released: ReleasedSums, look: MomentLook, first: int, second: int) -> _PairMoments:
        """Return the moments of two numbers."""
        a, b = look.grids[first].most, look.grids[second].most
        bounds = {
            "rows": 1,
            f"sum{first}": a,
            f"sum{second}": b,
            f"square{first}": a * a,
            f"square{second}": b * b,
            f"product{first}-{second}": a * b,
        }
        return _PairMoments(
            np.array([float(released[name].values[0]) / one for name, one in bounds.items()]),
            np.array([released[name].error / one for name, one in bounds.items()]),
            released["rows"].noise == "gaussian",
        )

    @property
    def observed(self) -> float:
        """The correlation, between -1 and 1."""
        return float(self._find_correlations(self.values[None])[0])

    @property
    def has_spread(self) -> bool:
        """Whether both numbers vary in spite of the noise."""
        _, variances, _ = self._read_moments(self.values[None])
        rows = max(2.0, float(self.values[0]))
        error = np.hypot(self.errors[3:5], self.errors[0]) / rows
        return bool((variances[0] > 2 * error).all())

    def draw(self, chance: Generator) -> _Draws:
        """Return the chance of repetitions, which is the same whatever is correlated."""
        size = max(4.0, float(self.values[0]))
        shape = (REPLICATES, len(self.values))
        noise = (
            chance.standard_normal(shape)
            if self.is_gaussian
            else chance.laplace(0, np.sqrt(0.5), shape)
        )
        return _Draws(
            chance.standard_normal((2, REPLICATES)) / np.sqrt(size),
            np.sqrt(chance.chisquare(size - 1, REPLICATES)),
            np.sqrt(chance.chisquare(size - 2, REPLICATES)),
            chance.standard_normal(REPLICATES),
            noise * self.errors,
        )

    def repeat(self, drawn: _Draws, correlation: float) -> Floats:
        """Return correlations of repetitions: normal numbers with these moments, and the same noise."""
        size = max(4.0, float(self.values[0]))
        means, variances, _ = self._read_moments(self.values[None])
        below, spread = np.sqrt(max(0.0, 1 - correlation**2)), np.sqrt(variances[0])
        # The scatter matrix of normal numbers, by Bartlett's decomposition.
        lower = correlation * drawn.first + below * drawn.cross
        scatter = [drawn.first**2, lower**2 + (below * drawn.second) ** 2, drawn.first * lower]
        first = means[0, 0] + spread[0] * drawn.normal[0]
        second = means[0, 1] + spread[1] * (correlation * drawn.normal[0] + below * drawn.normal[1])
        exact = [
            np.full(REPLICATES, size),
            size * first,
            size * second,
            2 * (variances[0, 0] * scatter[0] + size * first**2) - size,
            2 * (variances[0, 1] * scatter[1] + size * second**2) - size,
            spread[0] * spread[1] * scatter[2] + size * first * second,
        ]
        return self._find_correlations(np.stack(exact, axis=1) + drawn.noise)

    def find_interval(
        self, drawn: _Draws, confidence: float, grids: tuple[Grid, Grid]
    ) -> tuple[float, float]:
        """Return the correlations that do not contradict what was released, with what cells of a grid may hide."""
        tail = (1 - confidence) / 2
        low = self._find_end(drawn, tail, -1.0)
        high = self._find_end(drawn, tail, 1.0)
        _, variances, _ = self._read_moments(self.values[None])
        hidden = 0.0
        for grid, variance in zip(grids, variances[0], strict=True):
            hidden += 4 * grid.error / float(grid.most * grid.step * np.sqrt(variance))
        return max(-1.0, low - hidden), min(1.0, high + hidden)

    def _find_end(self, drawn: _Draws, tail: float, side: float) -> float:
        """Return the farthest correlation whose repetitions reach the observed one often enough, by halving."""
        inside, outside = self.observed, side
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            beyond = side * (self.repeat(drawn, middle) - self.observed) <= 0
            if (1 + np.count_nonzero(beyond)) / (1 + len(beyond)) > tail:
                inside = middle
            else:
                outside = middle
        return outside

    def _read_moments(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Return means, variances that are above 0, and covariances."""
        rows = np.maximum(values[:, :1], 2.0)
        means = np.clip(values[:, 1:3] / rows, -1.0, 1.0)
        variances = values[:, 3:5] / (2 * rows) + 0.5 - means**2
        covariances = values[:, 5] / rows[:, 0] - means[:, 0] * means[:, 1]
        return means, np.clip(variances, 1e-12, 1.0), covariances

    def _find_correlations(self, values: Floats) -> Floats:
        _, variances, covariances = self._read_moments(values)
        return np.clip(covariances / np.sqrt(variances.prod(axis=1)), -1.0, 1.0)


SPEC = StatisticSpec(
    name="correlation",
    summary="Pearson's correlation of every two of some numbers.",
    takes="two numbers or more",
    plan=plan_correlation,
    position=30,
)
