"""Intervals and p-values of noisy sums: closed forms where there are, repetition of the experiment elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.learning.statistics.released import NoisySums

Floats = NDArray[np.float64]
REPLICATES = 4_999  # of an experiment: the smallest p-value is 1 in 5,000
FEWEST = 5  # rows of a group
_SIGNAL = 4.0  # a count below so many standard deviations of its noise says nothing
_DRAWS = 20_000
_NEGLIGIBLE = 1e-6  # a part of a variance
_MANY = 200  # cells whose Laplace noise adds up to that of a normal distribution


def p_value(observed: float, repeated: Floats) -> float:
    """Return the share of repetitions that are at least as extreme, the observed one among them.

    A test that rejects at p ≤ alpha has a level of at most alpha if repetitions have the distribution of the
    observed statistic (Davison & Hinkley 1997, section 4.2).

    >>> p_value(3.0, np.array([1.0, 2.0, 5.0]))
    0.5
    """
    return float((1 + np.count_nonzero(repeated >= observed)) / (1 + len(repeated)))


def has_signal(rows: float, error: float) -> bool:
    """Return whether a noisy number of rows says that there are some.

    >>> has_signal(100, 10), has_signal(30, 10), has_signal(3, 0.1)
    (True, False, False)
    """
    return rows >= max(FEWEST, _SIGNAL * error)


def critical_value(
    chance: Generator,
    noise: NoisySums,
    confidence: float,
    *,
    sampling: float,
    noisy: Sequence[float],
) -> float:
    """Return how many standard deviations an interval is wide on each side.

    Args:
        chance: Randomness that protects nothing.
        noise: Whose noise it is.
        confidence: How often the interval holds.
        sampling: The variance that comes from sampling.
        noisy: The variances that come from independent noise.
    """
    normal = NormalDist().inv_cdf((1 + confidence) / 2)
    total = sampling + sum(noisy)
    if noise.noise == "gaussian" or sum(noisy) <= _NEGLIGIBLE * total:
        return normal
    drawn = chance.normal(0, math.sqrt(max(sampling, 0)), _DRAWS)
    for variance in noisy:
        drawn = drawn + chance.laplace(0, math.sqrt(max(variance, 0) / 2), _DRAWS)
    return max(normal, float(np.quantile(np.abs(drawn), confidence)) / math.sqrt(total))


@dataclass(frozen=True)
class RatioVariance:
    """The variance of `above - ratio * below` as a square function of the ratio."""

    constant: float
    linear: float
    square: float


def invert_ratio(
    above: float, below: float, variance: RatioVariance, width: float, *, step: float = 0.5
) -> tuple[float, float]:
    """Return all ratios that |above - ratio * below| ≤ step + width * deviation does not contradict.

    The interval of scores (Wilson 1927) with a variance that includes noise; `step` corrects for whole numbers.
    Where the sums say too little, it is everything (Fieller 1954).

    >>> variance = RatioVariance(0, 100, -100)
    >>> [round(end, 4) for end in invert_ratio(30, 100, variance, 1.959964, step=0)]
    [0.2189, 0.3958]
    """
    squared = width * width
    ends: list[float] = []
    for side in (-1, 1):
        moved = above + side * step
        a = below * below - squared * variance.square
        b = -2 * moved * below - squared * variance.linear
        c = moved * moved - squared * variance.constant
        inside = b * b - 4 * a * c
        if a <= 0 or below <= 0 or inside < 0:
            return -math.inf, math.inf
        ends.append((-b + side * math.sqrt(inside)) / (2 * a))
    return ends[0], ends[1]


def share_interval(
    chance: Generator, noise: NoisySums, confidence: float, *, count: float, cells: int, rows: float
) -> tuple[float, float]:
    """Return the interval of a share of a population, from the noisy counts of a sample.

    Args:
        chance: Randomness that protects nothing.
        noise: Whose noise it is.
        confidence: How often the interval holds.
        count: The noisy count of those who are counted.
        cells: How many noisy counts make up the whole, this one among them.
        rows: The sum of all.
    """
    error, rest = noise.error**2, cells - 1
    held = max(rows, 0.0)
    share = min(1.0, max(0.0, count / rows)) if rows > 0 else 0.5
    parts = [error * (1 - share) ** 2, *([error * share**2] * min(rest, 20))]
    width = critical_value(
        chance, noise, confidence, sampling=held * share * (1 - share), noisy=parts
    )
    variance = RatioVariance(error, held - 2 * error, -held + error * (1 + rest))
    low, high = invert_ratio(count, rows, variance, width)
    return max(0.0, low), min(1.0, high)


def noise_half_width(noise: NoisySums, confidence: float, *, cells: int = 1) -> float:
    """Return how far the noise of the sum of some cells goes at most, as often as `confidence` says.

    >>> round(noise_half_width(NoisySums(np.zeros(1), 1.0, "gaussian"), 0.95), 2)
    1.96
    """
    spread = math.sqrt(cells) * noise.error
    if noise.noise == "gaussian" or cells > _MANY:
        return NormalDist().inv_cdf((1 + confidence) / 2) * spread
    if cells == 1:
        return -math.log(1 - confidence) * noise.error / math.sqrt(2)
    # Of a sum of Laplace noise, by Chernoff's bound on its moment generating function: never too narrow.
    rates = np.linspace(0.01, 0.999, 400)
    scale = noise.error / math.sqrt(2)
    bounds = (math.log(2 / (1 - confidence)) - cells * np.log(1 - rates**2)) * scale / rates
    return float(bounds.min())
