"""Discrete Gaussian noise on integers, by its price in zCDP or by its scale."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.dp.event import Gaussian
from discreet.dp.mechanisms.add import add_noise, as_integers
from discreet.dp.mechanisms.parameters import noise_or_system, require_sensitivity
from discreet.dp.noise import Noise, representable, representable_root
from discreet.errors import InvalidBudget


def gaussian_noisy_vector(
    values: Sequence[int] | NDArray[Any],
    *,
    rho: Fraction,
    squared_sensitivity: Fraction | int,
    noise: Noise | None = None,
) -> tuple[NDArray[Any], Gaussian]:
    """Return `values` plus discrete Gaussian noise that costs at most `rho`.

    Guarantee: rho-zCDP between tables whose `values` differ by a vector whose squares add up to at
    most `squared_sensitivity` (Canonne, Kamath & Steinke 2020, theorem 14). The scale is the root of
    squared_sensitivity / (2 rho), rounded up to a float.

    Example:
        >>> from fractions import Fraction
        >>> noisy, event = gaussian_noisy_vector([5, 7], rho=Fraction(1, 8), squared_sensitivity=1)
        >>> event
        Gaussian(squared_sensitivity=Fraction(1, 1), scale=Fraction(2, 1))
    """
    event = gaussian_event(rho=rho, squared_sensitivity=squared_sensitivity)
    return _add_gaussian_noise(values, event, noise), event


def gaussian_vector_of_scale(
    values: Sequence[int] | NDArray[Any],
    *,
    scale: Fraction,
    squared_sensitivity: Fraction | int,
    noise: Noise | None = None,
) -> tuple[NDArray[Any], Gaussian]:
    """Return `values` plus discrete Gaussian noise of `scale`, rounded up to a float.

    Guarantee: rho-zCDP with rho = squared_sensitivity / (2 scale²), between tables whose `values`
    differ by a vector whose squares add up to at most `squared_sensitivity` (Canonne, Kamath &
    Steinke 2020, theorem 14).
    """
    change = require_sensitivity(squared_sensitivity)
    event = Gaussian(squared_sensitivity=change, scale=representable(Fraction(scale)))
    return _add_gaussian_noise(values, event, noise), event


def gaussian_event(*, rho: Fraction, squared_sensitivity: Fraction | int) -> Gaussian:
    """Return the event of a mechanism with these parameters."""
    if rho <= 0:
        raise InvalidBudget("A rho is above 0. Give each question a positive share.")
    change = require_sensitivity(squared_sensitivity)
    return Gaussian(squared_sensitivity=change, scale=representable_root(change / (2 * rho)))


def _add_gaussian_noise(
    values: Sequence[int] | NDArray[Any], event: Gaussian, noise: Noise | None
) -> NDArray[Any]:
    whole = as_integers(values)
    return add_noise(whole, np.asarray(noise_or_system(noise).gaussian(event.scale, whole.size)))
