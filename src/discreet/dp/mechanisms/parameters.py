"""Checks of parameters that all mechanisms share."""

from __future__ import annotations

from fractions import Fraction

from discreet.dp.noise import Noise, system_noise
from discreet.errors import InvalidBudget, InvalidMechanism


def require_epsilon(epsilon: Fraction) -> Fraction:
    """Return `epsilon`, a number above 0."""
    if epsilon <= 0:
        raise InvalidBudget("An epsilon is above 0. Give each question a positive share.")
    return Fraction(epsilon)


def require_delta(delta: Fraction) -> Fraction:
    """Return `delta`, a chance between 0 and 1, neither of them included."""
    if not 0 < delta < 1:
        raise InvalidBudget("This mechanism needs a delta above 0 and below 1, such as 1e-9.")
    return Fraction(delta)


def require_sensitivity(sensitivity: Fraction | int) -> Fraction:
    """Return `sensitivity`, a number above 0."""
    if sensitivity <= 0:
        raise InvalidMechanism("What one unit changes is above 0: a constant needs no noise.")
    return Fraction(sensitivity)


def require_count(count: int, *, of: str) -> int:
    """Return `count`, which is 1 or more."""
    if count < 1:
        raise InvalidMechanism(f"The number of {of} is 1 or more.")
    return count


def noise_or_system(noise: Noise | None) -> Noise:
    """Return the noise of a test, or else the system's."""
    return system_noise() if noise is None else noise
