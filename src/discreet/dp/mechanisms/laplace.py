"""Discrete Laplace noise on integers: the geometric mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.dp.event import Laplace
from discreet.dp.mechanisms.add import add_noise, as_integers
from discreet.dp.mechanisms.parameters import noise_or_system, require_epsilon, require_sensitivity
from discreet.dp.noise import Noise, representable


def laplace_noisy_integer(
    value: int, *, epsilon: Fraction, sensitivity: Fraction | int, noise: Noise | None = None
) -> tuple[int, Laplace]:
    """Return `value` plus discrete Laplace noise of scale `sensitivity` / `epsilon`.

    Guarantee: epsilon-DP between tables of which `value` differs by at most `sensitivity` (geometric
    mechanism; Ghosh, Roughgarden & Sundararajan 2012). The scale is rounded up to a float.

    Example:
        >>> from fractions import Fraction
        >>> noisy, event = laplace_noisy_integer(100, epsilon=Fraction(1, 2), sensitivity=1)
        >>> event
        Laplace(sensitivity=Fraction(1, 1), scale=Fraction(2, 1))
    """
    event = laplace_event(epsilon=epsilon, sensitivity=sensitivity)
    return value + int(noise_or_system(noise).laplace(event.scale, 1)[0]), event


def laplace_noisy_vector(
    values: Sequence[int] | NDArray[Any],
    *,
    epsilon: Fraction,
    sensitivity: Fraction | int,
    noise: Noise | None = None,
) -> tuple[NDArray[Any], Laplace]:
    """Return `values`, each plus discrete Laplace noise of scale `sensitivity` / `epsilon`.

    Guarantee: epsilon-DP between tables whose `values` differ by at most `sensitivity` in all (L1
    norm; Dwork, McSherry, Nissim & Smith 2006, with the geometric mechanism in each place).
    """
    event = laplace_event(epsilon=epsilon, sensitivity=sensitivity)
    whole = as_integers(values)
    return add_noise(
        whole, np.asarray(noise_or_system(noise).laplace(event.scale, whole.size))
    ), event


def laplace_event(*, epsilon: Fraction, sensitivity: Fraction | int) -> Laplace:
    """Return the event of a mechanism with these parameters."""
    change = require_sensitivity(sensitivity)
    return Laplace(sensitivity=change, scale=representable(change / require_epsilon(epsilon)))
