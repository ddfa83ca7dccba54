"""Linear regression from sufficient statistics: one noisy vector of sums, and least squares on it."""

from __future__ import annotations

from fractions import Fraction

from discreet.learning.coefficients import (
    CoefficientModel,
    make_coefficient_model,
    read_coefficient_model,
)
from discreet.learning.design import make_design
from discreet.learning.features import require_few_pairs
from discreet.learning.least_squares import floor_products, solve_least_squares
from discreet.learning.merged_bins import measure_features
from discreet.learning.moments import measure_moments
from discreet.learning.training import Training
from discreet.registry import LearnerSpec

_COUNTING = Fraction(1, 10)  # the share of the price for the counts by which values are grouped


def fit_linear(training: Training) -> CoefficientModel:
    """Return the linear model of least squares.

    Guarantee: that of `training.spending`. Each feature's counts are measured once, a row in one cell; then one
    vector of sums is measured, with the change that `measure_moments` states. The rest is arithmetic.
    """
    spending = training.spending
    columns = measure_features(training, spending.left * _COUNTING)
    design = make_design(training, columns)
    moments = measure_moments(training, design, spending.left)
    floored = floor_products(design, moments)
    fitted = solve_least_squares(design, moments, floored)
    return make_coefficient_model(
        training.space, design, [fitted], averages=floored.averages, link="identity"
    )


SPEC = LearnerSpec(
    name="linear",
    summary="Least squares from noisy sums, with coefficients and their errors; the default for numbers.",
    description="Linear regression: each feature adds its number times a coefficient, or what its value adds.",
    tasks=("regression",),
    fit=fit_linear,
    read=read_coefficient_model,
    model="additive",
    check=require_few_pairs,
    position=15,
)
