"""Laplace noise: its epsilon by its scale, its scale by the wanted epsilon, and the error it brings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.dp.calculate.loss import format_fraction, nearest_float
from discreet.errors import InvalidMechanism
from discreet.result import Result


@dataclass(frozen=True)
class LaplaceNoise(Result):
    """Noise of density e^(-|x|/scale) / (2 scale) on an answer that one person changes by `sensitivity`.

    `error_95` is exceeded by one answer in twenty; `attack_error` is the chance that the best guess
    between two neighbors errs.
    """

    epsilon: float
    exact: str
    scale: float
    sensitivity: float
    standard_deviation: float
    error_95: float
    attack_error: float
    why: str


def measure_laplace(scale: Fraction, *, sensitivity: Fraction) -> LaplaceNoise:
    """Return what Laplace noise of `scale` guarantees.

    Guarantee: sensitivity / scale (Dwork, McSherry, Nissim & Smith 2006, proposition 1).

    >>> from fractions import Fraction
    >>> measure_laplace(Fraction(10), sensitivity=Fraction(1)).epsilon
    0.1
    """
    _require_positive(scale, "The scale")
    _require_positive(sensitivity, "The sensitivity")
    return _make_laplace_noise(
        scale,
        sensitivity,
        why=f"epsilon = sensitivity / scale = {format_fraction(sensitivity)} / {format_fraction(scale)}.",
    )


def calibrate_laplace(epsilon: Fraction, *, sensitivity: Fraction) -> LaplaceNoise:
    """Return the least Laplace noise that guarantees `epsilon`: scale = sensitivity / epsilon.

    >>> from fractions import Fraction
    >>> calibrate_laplace(Fraction(1, 2), sensitivity=Fraction(90000)).scale
    180000.0
    """
    _require_positive(epsilon, "The epsilon")
    _require_positive(sensitivity, "The sensitivity")
    return _make_laplace_noise(
        sensitivity / epsilon,
        sensitivity,
        why=f"scale = sensitivity / epsilon = {format_fraction(sensitivity)} / {format_fraction(epsilon)}.",
    )


def _make_laplace_noise(scale: Fraction, sensitivity: Fraction, *, why: str) -> LaplaceNoise:
    epsilon, width = nearest_float(sensitivity / scale), nearest_float(scale)
    return LaplaceNoise(
        epsilon=epsilon,
        exact=format_fraction(sensitivity / scale),
        scale=width,
        sensitivity=nearest_float(sensitivity),
        # The variance is 2 scale^2: the scale itself is not the standard deviation.
        standard_deviation=math.sqrt(2) * width,
        error_95=width * math.log(20),
        attack_error=math.exp(-epsilon / 2) / 2,
        why=why,
    )


def _require_positive(number: Fraction, what: str) -> None:
    if number <= 0:
        raise InvalidMechanism(f"{what} of Laplace noise is above 0.")
