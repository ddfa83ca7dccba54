"""Huber regression: errors beyond a threshold count by their size instead of their square."""

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
_SPREADS = 1.345  # of the threshold: 95 % as efficient as least squares where errors are Gaussian (Huber 1964)
_BUCKETS = 32  # between the threshold and its negative
_FARTHEST = 4  # from 0; residuals beyond it fall into the last bucket
_LEAST_SHARE = 0.1  # of rows within the threshold


def fit_huber(
    training: Training, *, threshold: float | None = None, rounds: int | None = None
) -> CoefficientModel:
    """Return the linear model of least Huber loss.

    Guarantee: that of `training.spending`; `estimate_model` states what each release changes by.

    Args:
        training: Counts, features, and what may be spent.
        threshold: From which distance on an error counts by its size, in units of the target; by default 1.345
            times the noisy spread of the residuals of least squares.
        rounds: How many steps are taken.
    """
    numbers = training.space.target_numbers
    half = float(numbers.max() / 2 - numbers.min() / 2) or 1.0
    stated = None if threshold is None else threshold / half
    found = estimate_model(
        training, lambda residuals: choose_huber_loss(residuals, stated), rounds=rounds
    )
    return make_coefficient_model(
        training.space, found.design, [found.fitted], averages=found.averages, link="identity"
    )


def choose_huber_loss(residuals: Residuals, threshold: float | None) -> SlopedLoss:
    """Return Huber's loss, whose slope is the residual within the threshold, and its sign beyond.

    Steps divide by the mean weight of iteratively reweighted least squares, slope over residual: unlike those of
    Newton's method, they cannot go too far where few rows are within the threshold.
    """
    wanted = _SPREADS * residuals.spread if threshold is None else threshold
    width = max(1, round(min(wanted, 2.0) * UNIT * 2 / _BUCKETS))
    reach = width * _BUCKETS // 2
    beyond = [reach << power for power in range(1, 12) if reach << power < _FARTHEST * UNIT]
    within = list(range(-reach, reach + 1, width))
    middles = (np.array(within[:-1]) + width / 2) / reach
    ends = np.array([reach, *beyond, 2 * (beyond or [reach])[-1]]) / UNIT
    outer = 2 / (ends[:-1] + ends[1:])
    sign = np.ones(len(outer))
    inner = np.full(len(middles), UNIT / reach)
    return SlopedLoss(
        cuts=[*(-one for one in reversed(beyond)), *within, *beyond],
        slopes=np.concatenate([-sign, middles, sign]),
        weights=np.concatenate([outer[::-1], inner, outer]),
        curvature=_curve_within(reach / UNIT, len(outer)),
    )


def _curve_within(threshold: float, outer: int) -> Callable[[Floats], float]:
    def curve(shares: Floats) -> float:
        return max(float(shares[outer:-outer].sum()), _LEAST_SHARE) / threshold

    return curve


SPEC = LearnerSpec(
    name="huber",
    summary="Robust regression: large errors count by their size, not by their square.",
    description="Huber regression: a linear model that few extreme values of the target do not move far.",
    tasks=("regression",),
    fit=fit_huber,
    read=read_coefficient_model,
    options=(
        OptionSpec(
            "threshold",
            "number",
            "From which distance on an error counts by its size, in units of the target.",
            above=0,
        ),
        OptionSpec("rounds", "integer", "How many steps are taken.", minimum=1, maximum=100),
    ),
    model="additive",
    check=require_few_pairs,
    position=16,
)
