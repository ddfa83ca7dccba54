"""An epsilon that a mechanism certainly exceeds: measured on its outputs for two neighboring inputs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.intervals import clopper_pearson

Counts = tuple[NDArray[np.int64], ...]

# The chance of a false alarm where the caller gives none.
ALPHA = 1e-7
# Inputs that are distinguished fewer times than this cannot be divided into a choice and a test.
LEAST_RUNS = 8


def epsilon_lower_bound(
    first: NDArray[Any], second: NDArray[Any], *, delta: float = 0.0, alpha: float = ALPHA
) -> float:
    """Return a lower bound of epsilon that is too large with a chance of at most `alpha`.

    The outputs of many runs on either input are compared, each a number or a label. One half of the
    runs chooses the set of outputs that best distinguishes the inputs, a threshold or the most revealing
    ones; the other half bounds its two chances (Clopper & Pearson 1934), so that the choice cannot
    flatter. Runs of one input are in no particular order.

    >>> coins = np.arange(4000) % 10
    >>> round(epsilon_lower_bound(coins < 9, coins < 3, alpha=0.05), 1)
    1.8
    """
    if min(first.size, second.size) < LEAST_RUNS:
        return 0.0
    return max(
        _lower_bound(first, second, delta, alpha / 2),
        _lower_bound(second, first, delta, alpha / 2),
        0.0,
    )


def _lower_bound(likely: NDArray[Any], unlikely: NDArray[Any], delta: float, alpha: float) -> float:
    labels, places = np.unique(np.concatenate([likely, unlikely]), return_inverse=True)
    parts = places[: likely.size], places[likely.size :]
    first, second, third, fourth = (
        tuple(np.bincount(part[start::4], minlength=labels.size) for part in parts)
        for start in range(4)
    )
    event = _best_event(first, second, delta)
    held = [
        int(one[event].sum() + other[event].sum()) for one, other in zip(third, fourth, strict=True)
    ]
    runs = [int(one.sum() + other.sum()) for one, other in zip(third, fourth, strict=True)]
    return _log_ratio((held[0], runs[0]), (held[1], runs[1]), delta, alpha)


def _best_event(first: Counts, second: Counts, delta: float) -> NDArray[np.int64]:
    """Return the outputs whose bound is the largest: the most revealing ones, or one end of them all.

    `first` says which are revealing, `second` how many of them to take: rare outputs that were seen by
    chance would look best in the counts that ordered them.
    """
    upward = np.arange(first[0].size)
    revealing = np.argsort(-(first[0] + 0.5) / (first[1] + 0.5), kind="stable")
    ends = np.arange(0, upward.size, max(1, upward.size // 100))
    found: list[tuple[float, NDArray[np.int64]]] = []
    for order in (upward, upward[::-1], revealing):
        hits, misses = (np.cumsum(part[order]) for part in second)
        scores = _score_events((hits[ends], int(hits[-1])), (misses[ends], int(misses[-1])), delta)
        best = int(np.argmax(scores))
        found.append((float(scores[best]), order[: ends[best] + 1]))
    return max(found, key=lambda one: one[0])[1]


def _score_events(
    likely: tuple[NDArray[np.int64], int], unlikely: tuple[NDArray[np.int64], int], delta: float
) -> NDArray[np.float64]:
    """Return `_log_ratio` of many events at an alpha of 1e-3: only their order counts."""
    from scipy.special import betaincinv

    (hits, runs), (misses, others) = likely, unlikely
    tail = 5e-4
    least = np.where(hits > 0, betaincinv(np.maximum(hits, 1), runs - hits + 1, tail), 0.0)
    room = np.maximum(others - misses, 1)
    most = np.where(misses < others, betaincinv(misses + 1, room, 1 - tail), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(least > delta, np.log((least - delta) / most), -np.inf)


def _log_ratio(
    likely: tuple[int, int], unlikely: tuple[int, int], delta: float, alpha: float
) -> float:
    # Both tails together are alpha.
    least, _ = clopper_pearson(*likely, confidence=1 - alpha)
    _, most = clopper_pearson(*unlikely, confidence=1 - alpha)
    return math.log((least - delta) / most) if least > delta else -math.inf
