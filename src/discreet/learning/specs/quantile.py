"""Quantile regression: the number that a share of rows with the same features do not exceed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.learning.coefficients import (
    CoefficientModel,
    make_coefficient_model,
    read_coefficient_model,
)
from discreet.learning.design import UNIT
from discreet.learning.features import require_few_pairs
from discreet.learning.m_estimation import Residuals, SlopedLoss, estimate_model
from discreet.learning.training import Training
from discreet.registry import LearnerSpec, OptionSpec

Floats = NDArray[np.float64]
_NEAR = 0.4  # spreads around 0 within which the density of residuals is taken
_DENSITIES = (0.05, 1.0)  # at least and at most, over the spread; a Gaussian has 0.4 at its median


def fit_quantile(
    training: Training, *, quantile: float = 0.5, rounds: int | None = None
) -> CoefficientModel:
    """Return the linear model of a quantile.

    Guarantee: that of `training.spending`; `estimate_model` states what each release changes by.

    Args:
        training: Counts, features, and what may be spent.
        quantile: The share of rows that do not exceed what is predicted.
        rounds: How many steps are taken.
    """
    found = estimate_model(
        training, lambda residuals: choose_pinball_loss(residuals, quantile), rounds=rounds
    )
    return make_coefficient_model(
        training.space, found.design, [found.fitted], averages=found.averages, link="identity"
    )


def choose_pinball_loss(residuals: Residuals, quantile: float) -> SlopedLoss:
    """Return the loss whose slope is the quantile above 0, and the quantile less one below (Koenker & Bassett 1978)."""
    spread = residuals.spread
    near = max(1, round(_NEAR * spread * UNIT))
    most = max(quantile, 1 - quantile)
    slopes = np.array([quantile - 1, quantile - 1, quantile, quantile]) / most
    curvature = _curve_near(near / UNIT, spread, most)
    return SlopedLoss([-near, 0, near], slopes, curvature, start=residuals.quantile(quantile))


def _curve_near(near: float, spread: float, most: float) -> Callable[[Floats], float]:
    least, greatest = (one / spread for one in _DENSITIES)

    def curve(shares: Floats) -> float:
        density = float(shares[1:3].sum()) / (2 * near)
        return min(max(density, least), greatest) / most

    return curve


SPEC = LearnerSpec(
    name="quantile",
    summary="Quantile regression: what a share of rows do not exceed, by default the median.",
    description="Quantile regression: a linear model of the number that a share of rows do not exceed.",
    tasks=("regression",),
    fit=fit_quantile,
    read=read_coefficient_model,
    options=(
        OptionSpec(
            "quantile",
            "number",
            "The share of rows that do not exceed what is predicted.",
            default=0.5,
            above=0,
            below=1,
        ),
        OptionSpec("rounds", "integer", "How many steps are taken.", minimum=1, maximum=100),
    ),
    model="additive",
    check=require_few_pairs,
    position=17,
)
