"""What the adversary believes about the noise, and the estimator that fits it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.reconstruction.equations import Equations
from discreet.attacks.reconstruction.estimate import box_least_squares, estimate_deviation
from discreet.attacks.reconstruction.splitting import chebyshev, least_absolute
from discreet.errors import WrongUsage, did_you_mean

Estimator = Callable[[Equations, NDArray[Any]], NDArray[np.float64]]

# The estimator that loses least under each noise; measured in docs/attacks/reconstruction.md.
FITTING = {
    "gaussian": "least squares",
    "uniform": "Chebyshev",
    "laplace": "least absolute errors",
    "outliers": "least absolute errors",
}
_ESTIMATORS: dict[str, Estimator] = {
    "least squares": box_least_squares,
    "Chebyshev": chebyshev,
    "least absolute errors": least_absolute,
}
UNKNOWN = "unknown"
# Excess kurtosis of what least squares leaves: uniform noise shows -0.6 and less, Laplace noise and
# outliers 1.2 and more, from two questions per person on.
_FLAT, _PEAKED = -0.5, 1.0


@dataclass(frozen=True)
class NoiseBelief:
    """The shape of noise: one of `FITTING` or unknown, with its bound where it has one."""

    shape: str = UNKNOWN
    error: float | None = None


@dataclass(frozen=True)
class Fit:
    """An estimate of each bit, how it was made, and its standard deviation."""

    estimate: NDArray[np.float64]
    method: str
    spread: float


def read_belief(text: str) -> NoiseBelief:
    """Return what is written as `gaussian`, `uniform:5`, `laplace`, `outliers` or `unknown`.

    >>> read_belief("uniform:5")
    NoiseBelief(shape='uniform', error=5.0)
    """
    shape, colon, bound = text.strip().lower().partition(":")
    if shape not in {*FITTING, UNKNOWN}:
        raise WrongUsage(f"There is no noise '{shape}'.{did_you_mean(shape, [*FITTING, UNKNOWN])}")
    try:
        error = float(bound) if colon else None
    except ValueError:
        error = -1.0
    if error is not None and (shape != "uniform" or not 0 <= error < float("inf")):
        raise WrongUsage(
            f"'{text}' is no noise. Write gaussian, uniform:5 (its bound), laplace, outliers or "
            "unknown."
        )
    return NoiseBelief(shape, error)


def fit_bits(system: Equations, answers: NDArray[Any], belief: NoiseBelief) -> Fit:
    """Return the estimate of each person's bit by the estimator that fits the noise.

    Where the noise is unknown, what least squares leaves shows its shape.
    """
    estimate = box_least_squares(system, answers)
    method = FITTING.get(belief.shape) or _shown_by(system, answers, estimate)
    deviation = estimate_deviation(system, answers, estimate)
    if method != "least squares":
        estimate = _ESTIMATORS[method](system, answers)
        # Wild answers swell what least squares leaves, not what this one does.
        deviation = min(deviation, estimate_deviation(system, answers, estimate, is_robust=True))
    return Fit(estimate, method, deviation)


def guess_bits(found: Fit) -> NDArray[np.bool_]:
    """Return the likelier bit of each person, given the estimate and the share of all.

    Where noise exceeds the estimate, that is the commoner bit for everyone: no attack need do worse
    than to guess.
    """
    people = found.estimate.size
    share = float(np.clip(found.estimate.mean(), 1 / (people + 1), people / (people + 1)))
    if not np.isfinite(found.spread):
        return found.estimate > 0.5
    # Two normal densities around 0 and 1, weighed by their shares, cross here.
    return found.estimate > 0.5 + found.spread**2 * np.log((1 - share) / share)


def _shown_by(system: Equations, answers: NDArray[Any], estimate: NDArray[np.float64]) -> str:
    left = system.sides(answers) - system.apply(2 * estimate - 1)
    left = left - left.mean()
    variance = float(np.mean(left**2))
    if variance < 1e-6:
        return "least squares"
    kurtosis = float(np.mean(left**4)) / variance**2 - 3
    if kurtosis < _FLAT:
        return "Chebyshev"
    return "least absolute errors" if kurtosis > _PEAKED else "least squares"
