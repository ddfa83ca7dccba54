"""Estimates of each person's bit where noise has a bound, heavy tails or outliers, by splitting (ADMM)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.reconstruction.equations import Equations, product
from discreet.attacks.reconstruction.estimate import box_least_squares

Residuals = NDArray[np.float64]
Shrink = Callable[[Residuals], Residuals]

_MOST_STEPS = 200
_LEAST_STEPS = 20
_STILL = 1e-3
_RELAXATION = 1.6  # Boyd et al. 2011, section 3.4.3


def least_absolute(system: Equations, answers: NDArray[Any]) -> NDArray[np.float64]:
    """Return the bits, between 0 and 1, whose answers differ least in absolute value from those given.

    The best for Laplace noise; and it recovers all bits although up to 23.9 % of the answers are
    arbitrary (Dwork, McSherry & Talwar 2007).
    """
    sides = system.sides(answers)
    start, typical = _start(system, answers)

    def shrink(residuals: Residuals) -> Residuals:
        return np.sign(residuals) * np.maximum(np.abs(residuals) - typical, 0)

    return _split(system, sides, shrink, start=start)


def chebyshev(system: Equations, answers: NDArray[Any]) -> NDArray[np.float64]:
    """Return the bits, between 0 and 1, whose largest difference from an answer is the least.

    The best where noise has a bound, as rounding has.
    """
    sides = system.sides(answers)
    start, typical = _start(system, answers)

    def flatten(residuals: Residuals) -> Residuals:
        return residuals - _onto_ball(residuals, typical * system.questions)

    return _split(system, sides, flatten, start=start)


def _start(system: Equations, answers: NDArray[Any]) -> tuple[NDArray[np.float64], float]:
    """Return the values of least squares, and the size of what they typically leave."""
    start = 2 * box_least_squares(system, answers) - 1
    left = system.sides(answers) - system.apply(start)
    return start, float(np.median(np.abs(left - np.median(left)))) or 1.0


@dataclass
class _State:
    values: NDArray[np.float64]
    residuals: Residuals
    price: NDArray[np.float64]
    residual_price: Residuals


def _split(
    system: Equations, sides: Residuals, shrink: Shrink, *, start: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Alternate between the equations, the box and `shrink`, which one system of n unknowns joins."""
    people = system.people
    weight = system.questions / 8
    inverse = _invert_normal_equations(system, weight)
    left = system.apply(start) - sides
    state = _State(start, left - left.mean(), np.zeros(people), np.zeros(sides.size))
    for step in range(_MOST_STEPS):
        wanted = sides + state.residuals - state.residual_price
        right = np.append(system.gather(wanted), wanted.sum())
        right[:people] += weight * (state.values - state.price)
        solved = product(inverse, right)
        fitted = system.apply(solved[:people]) + solved[people] - sides
        before = state.values
        state = _next_state(state, solved[:people], fitted, shrink)
        if step >= _LEAST_STEPS and float(np.abs(state.values - before).max()) < _STILL:
            break
    return (state.values + 1) / 2


def _next_state(
    state: _State, solved: NDArray[np.float64], fitted: Residuals, shrink: Shrink
) -> _State:
    residuals = _RELAXATION * fitted + (1 - _RELAXATION) * state.residuals + state.residual_price
    values = _RELAXATION * solved + (1 - _RELAXATION) * state.values + state.price
    shrunk, boxed = shrink(residuals), np.clip(values, -1, 1)
    return _State(boxed, shrunk, values - boxed, residuals - shrunk)


def _invert_normal_equations(system: Equations, weight: float) -> NDArray[np.float32]:
    """Return the inverse of the normal equations, with the common number as the last unknown.

    It is well conditioned, so that single precision will do.
    """
    people = system.people
    matrix = np.empty((people + 1, people + 1), np.float32)
    matrix[:people, :people] = system.gram
    matrix[people, :people] = matrix[:people, people] = system.means * system.questions
    matrix[people, people] = system.questions
    matrix[np.arange(people), np.arange(people)] += np.float32(weight)
    inverse: NDArray[np.float32] = np.linalg.inv(matrix)
    return inverse


def _onto_ball(values: Residuals, radius: float) -> Residuals:
    """Return the nearest vector whose absolute values add up to `radius` (Duchi et al. 2008)."""
    sizes = np.abs(values)
    if float(sizes.sum()) <= radius:
        return values
    falling = np.sort(sizes)[::-1]
    sums = np.cumsum(falling)
    last = int(np.flatnonzero(falling * np.arange(1, sizes.size + 1) > sums - radius)[-1])
    cut = (sums[last] - radius) / (last + 1)
    return np.sign(values) * np.maximum(sizes - cut, 0)
