"""An epsilon that a mechanism certainly exceeds: measured on its outputs for two neighboring inputs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALPHA = 1e-7


def epsilon_lower_bound(
    first: NDArray[Any], second: NDArray[Any], *, delta: float = 0.0, alpha: float = ALPHA
) -> float:
    """Return a lower bound of epsilon that is too large with a chance of at most `alpha`.

    The outputs of many runs on either input are compared, each an integer or a label. One half of the
    runs chooses the set of outputs that tells the inputs apart best; the other half bounds its two
    chances (Clopper & Pearson 1934), so that the choice cannot flatter.
    """
    return max(
        _bound(first, second, delta, alpha / 2), _bound(second, first, delta, alpha / 2), 0.0
    )


def _bound(likely: NDArray[Any], unlikely: NDArray[Any], delta: float, alpha: float) -> float:
    event = _best_event(likely[::2], unlikely[::2], delta)
    held = [np.isin(part[1::2], event) for part in (likely, unlikely)]
    return _log_ratio(*((int(hits.sum()), hits.size) for hits in held), delta, alpha)


def _best_event(likely: NDArray[Any], unlikely: NDArray[Any], delta: float) -> NDArray[Any]:
    """Return the outputs, from the most telling on, whose bound is the largest."""
    labels, places = np.unique(np.concatenate([likely, unlikely]), return_inverse=True)
    seen = np.bincount(places[: likely.size], minlength=labels.size)
    rare = np.bincount(places[likely.size :], minlength=labels.size)
    order = np.argsort(-(seen + 0.5) / (rare + 0.5), kind="stable")
    hits, misses = np.cumsum(seen[order]), np.cumsum(rare[order])
    step = max(1, labels.size // 200)
    ends = range(0, labels.size, step)
    bounds = [
        _log_ratio((hits[end], likely.size), (misses[end], unlikely.size), delta, 1e-3)
        for end in ends
    ]
    return labels[order[: ends[int(np.argmax(bounds))] + 1]]


def _log_ratio(
    likely: tuple[int, int], unlikely: tuple[int, int], delta: float, alpha: float
) -> float:
    (hits, runs), (misses, others) = likely, unlikely
    least = stats.beta.ppf(alpha / 2, hits, runs - hits + 1) if hits else 0.0
    most = stats.beta.ppf(1 - alpha / 2, misses + 1, others - misses) if misses < others else 1.0
    return math.log((least - delta) / most) if least > delta else -math.inf
