"""Estimates of each person's bit by least squares: the best where noise is Gaussian or not known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.reconstruction.equations import Equations, product

_MOST_STEPS = 500
_STILL = 1e-4
_RIDGE = 1e-6


def least_squares(system: Equations, answers: NDArray[Any]) -> NDArray[np.float64]:
    """Return the unbounded least-squares estimate of each bit; answers may be columns of runs.

    This is the estimate whose share of right bits has a closed form (`limit.expected_accuracy`).
    """
    answered = np.asarray(answers, np.float64)
    runs = answered.reshape(system.questions, -1)
    right = np.stack([_right_side(system, run) for run in runs.T], axis=1)
    centered = system.gram.astype(np.float64)
    centered -= system.questions * np.outer(system.means, system.means)
    centered[np.diag_indices_from(centered)] += _RIDGE * system.questions
    solved = np.linalg.solve(centered, right).astype(np.float64)
    return (solved.reshape((system.people, *answered.shape[1:])) + 1) / 2


def box_least_squares(system: Equations, answers: NDArray[Any]) -> NDArray[np.float64]:
    """Return the least-squares estimate of each bit between 0 and 1.

    The matrix of products is formed once and each step costs n² (FISTA; Beck & Teboulle 2009).
    """
    right = _right_side(system, np.asarray(answers, np.float64))
    steepest = _largest_eigenvalue(system)
    values = ahead = np.zeros(system.people)
    momentum = 1.0
    for _ in range(_MOST_STEPS):
        step = np.clip(ahead - (_centered_product(system, ahead) - right) / steepest, -1, 1)
        faster = (1 + np.sqrt(1 + 4 * momentum * momentum)) / 2
        ahead = step + (momentum - 1) / faster * (step - values)
        moved = float(np.abs(step - values).max())
        values, momentum = step, faster
        if moved < _STILL:
            break
    return (values + 1) / 2


def estimate_deviation(
    system: Equations,
    answers: NDArray[Any],
    estimate: NDArray[np.float64],
    *,
    is_robust: bool = False,
) -> float:
    """Return the standard deviation of a bit's estimate, by how far answers are from it.

    Noise of standard deviation s leaves 2 s / √(m - n) in each of n bits after m questions. It is
    infinite where there are no more questions than people. The robust form looks at the median
    distance only, as far as most answers are from the estimate.
    """
    free = system.questions - system.people - 1
    if free <= 0:
        return float("inf")
    left = system.sides(answers) - system.apply(2 * estimate - 1)
    if is_robust:
        middle = float(np.median(np.abs(left - np.median(left))))
        square = (middle / 0.6745) ** 2 * system.questions / free
    else:
        square = float(np.square(left - left.mean()).sum()) / free
    # Groups of other shares than one half reveal a little less.
    variance = free * float(np.mean(1 - system.means**2))
    return 2 * float(np.sqrt(square)) / 4 / float(np.sqrt(max(variance, 1e-300)))


def _right_side(system: Equations, answers: NDArray[np.float64]) -> NDArray[np.float64]:
    sides = system.sides(answers)
    return system.gather(sides - sides.mean())


def _centered_product(system: Equations, values: NDArray[np.float64]) -> NDArray[np.float64]:
    found = product(system.gram, values)
    return found - system.questions * system.means * float(system.means @ values)


def _largest_eigenvalue(system: Equations) -> float:
    # Any start that is not orthogonal to the largest eigenvector will do; this one repeats.
    vector = np.random.default_rng(0).normal(size=system.people)
    size = 1.0
    for _ in range(20):
        vector = _centered_product(system, vector / np.linalg.norm(vector))
        size = float(np.linalg.norm(vector))
        if size == 0:
            return 1.0
    return 1.05 * size
