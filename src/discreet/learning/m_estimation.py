"""M-estimators of a linear model: from least squares on, by noisy sums of bounded slopes of the residuals.

The engine adds up the score of each row in whole numbers, less its target, and counts rows by bucket of this
residual and level of each feature. Sums of slopes follow from these counts. As in Newton's method, a step is their
noisy sum, divided by the products that least squares measured and by the curvature of the loss; an estimator of
one step from a consistent start has all that a full search has (Bickel 1975), and steps after it average noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.dp.spending import RowChange, divide_budget
from discreet.learning.coefficients import FittedScore
from discreet.learning.design import UNIT, Design, make_design
from discreet.learning.least_squares import FlooredProducts, floor_products, solve_least_squares
from discreet.learning.merged_bins import measure_features
from discreet.learning.moments import measure_moments, scale_target, widen_counts
from discreet.learning.training import Counts, Training

Floats = NDArray[np.float64]
_SHARES = (0.05, 0.35, 0.05, 0.55)  # of the price: counts of features, moments, residuals, steps
_WIDTH = UNIT // 64  # of the buckets in which all residuals are counted
_LEFT = 0.6  # of the error of the start, at most, after each step
_MOST_CHANGE = 0.5  # of a step
_LARGEST = 4.0  # coefficient, of a target from -1 to 1


@dataclass(frozen=True)
class Residuals:
    """The noisy distribution of the residuals of least squares, from -1 to 1.

    Attributes:
        middles: The middle of each bucket.
        shares: The share of rows in each.
    """

    middles: Floats
    shares: Floats

    def quantile(self, share: float) -> float:
        """Return the residual that `share` of rows do not exceed."""
        place = int(np.searchsorted(np.cumsum(self.shares), share))
        return float(self.middles[min(place, len(self.middles) - 1)])

    @property
    def spread(self) -> float:
        """The standard deviation that the median distance from the median stands for, at least a bucket."""
        distances = np.abs(self.middles - self.quantile(0.5))
        order = np.argsort(distances)
        place = int(np.searchsorted(np.cumsum(self.shares[order]), 0.5))
        median = distances[order][min(place, len(order) - 1)]
        return max(1.4826 * float(median), _WIDTH / UNIT)


@dataclass(frozen=True)
class SlopedLoss:
    """A loss of residuals, by its slope.

    Attributes:
        cuts: Where buckets of residuals begin, in whole parts of `UNIT`; ascending.
        slopes: The slope in each bucket, one more than cuts, from -1 to 1.
        weights: What the mean of each bucket's rows is by which steps are divided; None for the curvature.
        curvature: Takes the shares of rows in the buckets, and returns the mean curvature.
        start: By how much the intercept of least squares is moved at first.
    """

    cuts: list[int]
    slopes: Floats
    curvature: Callable[[Floats], float]
    weights: Floats | None = None
    start: float = 0.0


@dataclass(frozen=True)
class EstimatedModel:
    """A fitted score with the design it is of, and the averages that it is centered on."""

    design: Design
    fitted: FittedScore
    averages: Floats


def choose_rounds(epsilon: float, rows: float) -> int:
    """Return how many steps are taken, by how much noise hides.

    >>> choose_rounds(0.1, 30_000), choose_rounds(1.0, 30_000)
    (2, 4)
    """
    exactness = epsilon * rows
    limits = (20_000, 200_000, 2_000_000)
    return 2 ** (1 + sum(exactness >= limit for limit in limits))


def estimate_model(
    training: Training, choose_loss: Callable[[Residuals], SlopedLoss], *, rounds: int | None
) -> EstimatedModel:
    """Return the linear model at which noisy slopes add up to 0.

    Guarantee: that of `training.spending`. Features are counted, a row in one cell of each; moments change as
    `measure_moments` states; a row is in one bucket of residuals. A step measures the sums of slopes for each
    coefficient and for the intercept, and counts of buckets: a row has one coefficient in each feature and a
    slope of at most one, and is in one bucket, so that it changes one number of each feature and two more by at
    most `UNIT²`. What residuals are taken of are whole numbers that follow from earlier releases.

    Args:
        training: Counts, features, and what may be spent.
        choose_loss: Returns the loss, by the noisy residuals of least squares.
        rounds: How many steps are taken; by default from epsilon times rows.
    """
    spending = training.spending
    for_features, for_moments, for_residuals, for_steps = divide_budget(spending.left, _SHARES)
    columns = measure_features(training, for_features)
    design = make_design(training, columns)
    moments = measure_moments(training, design, for_moments)
    floored = floor_products(design, moments)
    pilot = solve_least_squares(design, moments, floored)
    search = _Search(training, design, floored)
    residuals = search.measure_residuals(pilot, for_residuals)
    steps = rounds or choose_rounds(float(training.epsilon), floored.rows)
    fitted = search.descend(pilot, choose_loss(residuals), divide_budget(for_steps, [1.0] * steps))
    return EstimatedModel(design, fitted, floored.averages)


@dataclass(frozen=True)
class _Search:
    """What steps need: counts, the design, and its products."""

    training: Training
    design: Design
    floored: FlooredProducts

    def measure_residuals(self, pilot: FittedScore, price: Fraction) -> Residuals:
        """Return the noisy distribution of the residuals of a score."""
        cuts = list(range(-UNIT, UNIT + 1, _WIDTH))
        exact = self._count(pilot.intercept, pilot.coefficients, cuts, [()])[0]
        noisy = np.maximum(self.training.spending.measure(exact, price), 0)
        middles = (np.array([cuts[0] - _WIDTH, *cuts]) + _WIDTH / 2) / UNIT
        total = noisy.sum()
        shares = noisy / total if total > 0 else np.full(len(noisy), 1 / len(noisy))
        return Residuals(middles, shares)

    def descend(self, pilot: FittedScore, loss: SlopedLoss, prices: list[Fraction]) -> FittedScore:
        """Return the mean of the later half of the steps from a start, with its errors."""
        floored, spending = self.floored, self.training.spending
        inverse = (floored.basis / floored.values * ~floored.is_hidden) @ floored.basis.T
        change = RowChange(
            UNIT**2 * (len(self.design.columns) + 2), UNIT**4 * (len(self.design.columns) + 2)
        )
        intercept, coefficients = pilot.intercept + loss.start, pilot.coefficients
        kept: list[tuple[float, Floats, float, float]] = []
        for price in prices:
            exact = self._sum_slopes(intercept, coefficients, loss)
            noisy = spending.measure(exact, price, change=change) / UNIT**2
            slopes, whole, counts = np.split(noisy, [self.design.size, self.design.size + 1])
            shares = np.maximum(counts, 0) / max(float(np.maximum(counts, 0).sum()), floored.rows)
            curvature, square = loss.curvature(shares), float(shares @ loss.slopes**2)
            divisor = curvature if loss.weights is None else float(shares @ loss.weights)
            divisor = max(divisor, 0.1 * curvature)
            moved = inverse @ (slopes - floored.averages * whole[0]) / divisor
            coefficients = np.clip(
                coefficients + np.clip(moved, -_MOST_CHANGE, _MOST_CHANGE), -_LARGEST, _LARGEST
            )
            ahead = float(whole[0]) / (divisor * floored.rows)
            intercept = float(
                np.clip(intercept + np.clip(ahead, -_MOST_CHANGE, _MOST_CHANGE), -1, 1)
            )
            kept.append((intercept, coefficients, curvature, square))
        used = kept[len(kept) // 2 :]
        curvature = float(np.mean([one[2] for one in used]))
        scale = spending.scale(prices[-1], change=change) / UNIT**2 / curvature
        ends = np.eye(self.design.size) + np.outer(floored.averages, floored.averages)
        wide = floored.least_inverse
        return FittedScore(
            float(np.mean([one[0] for one in used])),
            np.mean([one[1] for one in used], axis=0),
            scale**2 / len(used) * wide @ ends @ wide + _LEFT ** (2 * len(prices)) * pilot.noise,
            min(float(np.mean([one[3] for one in used])), 1.0) / curvature**2 * wide,
            floored.seen,
        )

    def _sum_slopes(self, intercept: float, coefficients: Floats, loss: SlopedLoss) -> Counts:
        """Return sums of slopes for each coefficient and the intercept, and counts of buckets, times `UNIT²`."""
        features = [(place,) for place in range(self.training.target_place)]
        slopes = np.round(np.clip(loss.slopes, -1, 1) * UNIT).astype(np.int64)
        counted = widen_counts(self._count(intercept, coefficients, loss.cuts, features))
        sums = [
            column.matrix.T @ (slopes @ counts)
            for column, counts in zip(self.design.columns, counted, strict=True)
        ]
        buckets = counted[0].sum(axis=1)
        return np.concatenate([*sums, [slopes @ buckets * UNIT], buckets * UNIT**2])

    def _count(
        self,
        intercept: float,
        coefficients: Floats,
        cuts: list[int],
        columns: list[tuple[int, ...]],
    ) -> list[Counts]:
        """Return counts by bucket of the residual, without rows whose target is missing, and by columns."""
        training, design = self.training, self.design
        start = intercept - float(self.floored.averages @ coefficients)
        weights = [
            np.round(-column.matrix @ part).astype(np.int64)
            for column, part in zip(design.columns, design.split(coefficients), strict=True)
        ]
        weights[0] = weights[0] - round(start * UNIT)
        target = scale_target(training)
        # A missing target leaves all possible residuals behind.
        far = 1 + max(cuts[-1], UNIT) + int(sum(np.abs(one).max() for one in weights))
        weights.append(np.append(target, 2 * far))
        levels = [one.levels for one in design.columns]
        identity = np.arange(training.space.sizes[training.target_place])
        found = training.counts.count_scored(weights, [*cuts, far], columns, [*levels, identity])
        return [one[:-1] for one in found]
