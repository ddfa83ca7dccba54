"""Exact sampling of one candidate by its score: rejection with coins of chance e^-gamma.

Candidates come as gaps, integers by which their score is below the best one, and `rate` is what one
point of score is worth: a candidate's weight is e^(-gap · rate). Many runs can be made at once.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.dp.exact import bernoulli_exp, multiply_exponents, uniform

_AT_ONCE = 1 << 20


def score_gaps(scores: NDArray[Any]) -> NDArray[Any]:
    """Return how far each integer score is below the largest one of its row."""
    if int(scores.max()) - int(scores.min()) >= 1 << 63:
        scores = scores.astype(object)
    return scores.max(axis=-1, keepdims=True) - scores


def sample_permute_and_flip(gaps: NDArray[Any], rate: Fraction, runs: int) -> NDArray[np.int64]:
    """Return the first candidate in a random order whose coin of chance e^(-gap · rate) is true.

    McKenna & Sheldon 2020, algorithm 1. The best candidate's coin is always true. Coins and order are
    independent, so that the first of those whose coin is true is any of them, one as likely as another.
    """
    return sample_permute_and_flip_each(np.broadcast_to(gaps, (runs, gaps.size)), rate)


def sample_permute_and_flip_each(gaps: NDArray[Any], rate: Fraction) -> NDArray[np.int64]:
    """Return what `sample_permute_and_flip` chooses in each row of `gaps`, independently of the others."""
    rows = max(1, _AT_ONCE // gaps.shape[1])
    parts = [
        _choose_candidates(gaps[start : start + rows], rate) for start in range(0, len(gaps), rows)
    ]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _choose_candidates(gaps: NDArray[Any], rate: Fraction) -> NDArray[np.int64]:
    flips = bernoulli_exp(multiply_exponents(gaps.ravel(), rate)).reshape(gaps.shape)
    numbers = flips.sum(axis=1)
    picked = np.empty(len(gaps), np.int64)
    for number in np.unique(numbers):
        alike = numbers == number
        picked[alike] = uniform(int(number), int(alike.sum()))
    first = np.cumsum(numbers) - numbers
    return np.nonzero(flips)[1][first + picked]


def sample_exponential(gaps: NDArray[Any], rate: Fraction, runs: int) -> NDArray[np.int64]:
    """Return candidates, each with a chance in proportion to e^(-gap · rate).

    Rejection: candidates are proposed uniformly until one's coin is true (McSherry & Talwar 2007 for
    the distribution).
    """
    chosen = np.zeros(runs, np.int64)
    waiting = np.arange(runs)
    while waiting.size:
        trials = max(1, min(gaps.size, _AT_ONCE // waiting.size))
        proposed = uniform(gaps.size, waiting.size * trials)
        flips = bernoulli_exp(multiply_exponents(gaps[proposed], rate)).reshape(
            waiting.size, trials
        )
        first = np.argmax(flips, axis=1)
        is_done = flips.any(axis=1)
        picked = proposed.reshape(flips.shape)[np.arange(waiting.size), first]
        chosen[waiting[is_done]] = picked[is_done]
        waiting = waiting[~is_done]
    return chosen
