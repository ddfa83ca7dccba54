"""How much noise stops a reconstruction: the share of bits it gets right, by formula and by trial."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.reconstruction.equations import center_equations
from discreet.attacks.reconstruction.estimate import least_squares

# Where fewer bits than this are right, of which half are right by tossing a coin.
STOPPED = 0.6
ALPHAS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class NoiseTrial:
    """The share of bits that are right under Gaussian noise of standard deviation `noise`."""

    alpha: float
    noise: float
    expected: float
    measured: float


def expected_accuracy(*, people: int, questions: int, noise: float) -> float:
    """Return the share of even bits that least squares gets right: Φ(√(m/n - 1) / (4α)).

    `noise` is the standard deviation α√n of the answers to m random groups of half of n people.

    >>> round(expected_accuracy(people=1000, questions=4000, noise=0.25 * 1000**0.5), 3)
    0.958
    """
    if questions <= people:
        return 0.5
    if noise == 0:
        return 1.0
    alpha = noise / math.sqrt(people)
    return NormalDist().cdf(math.sqrt(questions / people - 1) / (4 * alpha))


def stopping_noise(*, people: int, questions: int, accuracy: float = STOPPED) -> float:
    """Return the standard deviation of noise at which least squares gets only `accuracy` right.

    >>> round(stopping_noise(people=1000, questions=4000), 1)
    54.0
    """
    if questions <= people:
        return 0.0
    alpha = math.sqrt(questions / people - 1) / (4 * NormalDist().inv_cdf(accuracy))
    return alpha * math.sqrt(people)


def measure_limit(
    groups: NDArray[np.bool_],
    bits: NDArray[np.bool_],
    *,
    chance: np.random.Generator,
    alphas: Sequence[float] = ALPHAS,
    runs: int = 10,
) -> tuple[NoiseTrial, ...]:
    """Return for each alpha the share of bits that least squares recovers, over `runs` draws of noise."""
    system = center_equations(groups)
    # Counts of true bits: the signs hold both who is in a group and who is not.
    exact = (system.apply(bits.astype(np.float64)) + bits.sum()) / 2
    found: list[NoiseTrial] = []
    for alpha in alphas:
        noise = alpha * math.sqrt(system.people)
        drawn: NDArray[Any] = chance.normal(0, noise, (system.questions, runs))
        estimates = least_squares(system, exact[:, None] + drawn)
        right = float(np.mean((estimates > 0.5) == bits[:, None]))
        expected = expected_accuracy(people=system.people, questions=system.questions, noise=noise)
        found.append(NoiseTrial(alpha, noise, expected, right))
    return tuple(found)
