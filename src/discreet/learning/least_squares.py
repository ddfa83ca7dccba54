"""Least squares from noisy moments: eigenvalues that noise hides are raised to what noise would give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.learning.coefficients import FittedScore
from discreet.learning.design import Design
from discreet.learning.moments import Moments

Floats = NDArray[np.float64]
_FLOOR = 2.5  # times the standard error of a product and the root of the number of coefficients


@dataclass(frozen=True)
class FlooredProducts:
    """Centered products of a design, whose eigenvalues are at least what noise would give.

    Attributes:
        averages: What the average row has for each coefficient.
        basis: Directions of coefficients, orthonormal, a column each.
        values: The floored eigenvalue of each.
        is_hidden: Whether it was raised.
        rows: The number of rows, at least what noise would give.
        floor: To what eigenvalues are raised.
    """

    averages: Floats
    basis: Floats
    values: Floats
    is_hidden: NDArray[np.bool_]
    rows: float
    floor: float

    def solve(self, products: Floats) -> Floats:
        """Return the coefficients whose products with the design these are."""
        return self.basis @ ((self.basis.T @ products) / self.values)

    @property
    def inverse(self) -> Floats:
        """The inverse, on all directions."""
        return (self.basis / self.values) @ self.basis.T

    @property
    def least_inverse(self) -> Floats:
        """The inverse of what eigenvalues are at least, if noise has raised each by its standard size."""
        return (self.basis / (self.values - self.floor / _FLOOR)) @ self.basis.T

    @property
    def seen(self) -> Floats:
        """The projection on directions that noise does not hide."""
        some = self.basis[:, ~self.is_hidden]
        return some @ some.T


def floor_products(design: Design, moments: Moments) -> FlooredProducts:
    """Return the products of the design around its averages, with floored eigenvalues.

    The floor depends on noise alone: the greatest eigenvalue of noise in d x d products is about twice
    its standard error times √d (Vershynin 2018, corollary 4.4.8), so that what lies above it is what rows say.
    """
    rows = max(moments.rows, 2 * moments.scale, 1.0)
    averages = np.clip(moments.sums / rows, -1, 1)
    centered = moments.products - rows * np.outer(averages, averages)
    contrasts = design.contrasts
    inner = contrasts.T @ centered @ contrasts
    values, vectors = np.linalg.eigh((inner + inner.T) / 2)
    floor = max(_FLOOR * moments.scale * np.sqrt(max(1, len(values))), 1e-9 * rows)
    # Fewer rows than that cannot have such eigenvalues.
    is_hidden = (values < floor) | (moments.rows < floor)
    return FlooredProducts(
        averages, contrasts @ vectors, np.maximum(values, floor), is_hidden, rows, floor
    )


def solve_least_squares(design: Design, moments: Moments, floored: FlooredProducts) -> FittedScore:
    """Return the coefficients of least squares, with their covariance by noise and by chance.

    The covariance by noise is that of the solution's derivative in the noise of all moments, where eigenvalues
    are not floored.
    """
    middle = float(np.clip(moments.target_sum / floored.rows, -1, 1))
    products = moments.target_products - middle * moments.sums
    coefficients = floored.solve(products)
    inverse = floored.inverse
    noise = inverse @ _residual_noise(design, moments, floored, coefficients, middle) @ inverse
    fitted = coefficients @ floored.basis
    explained = 2 * coefficients @ products - fitted**2 @ floored.values
    left = moments.target_squares / floored.rows - middle**2 - explained / floored.rows
    variance = float(np.clip(left, 1e-6, 1.0))
    return FittedScore(middle, coefficients, noise, variance * inverse, floored.seen)


def _residual_noise(
    design: Design, moments: Moments, floored: FlooredProducts, coefficients: Floats, middle: float
) -> Floats:
    """Return the covariance of what noise adds to the products with what the coefficients leave.

    That is b - yS - (P - SS'/n)c, for products P, sums S, products with the target b, and its mean y: its
    derivative in each number that was measured.
    """
    scale, averages = moments.scale, floored.averages
    count = len(coefficients)
    pairs = moments.is_noisy & ~np.eye(count, dtype=bool)
    # A product of two coefficients, measured once, stands at two places.
    found = np.where(pairs, np.outer(coefficients, coefficients), 0.0)
    found[np.diag_indices(count)] = np.where(pairs, coefficients[None, :] ** 2, 0).sum(axis=1)
    shift = float(coefficients @ averages) - middle
    by_sum = shift * np.eye(count) + np.outer(averages, coefficients)
    by_square = -np.diag(coefficients)
    is_number = np.zeros(count, bool)
    is_number[
        [s.start for s, c in zip(design.spans, design.columns, strict=True) if c.is_scale]
    ] = 1
    # Squares and sums of numbers are measured apart; what counts as 0 or 1 is its own square.
    alone = [
        by_sum[:, is_number],
        by_square[:, is_number],
        (by_sum + by_square)[:, ~is_number],
        shift * averages[:, None],
    ]
    found += sum((one @ one.T for one in alone), np.zeros((count, count)))
    with_target = np.eye(count) + np.outer(averages, averages)
    return scale**2 * found + moments.target_scale**2 * with_target
