"""Whether numbers that were drawn have the distribution they should have, and those distributions."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

# The chance that a right sampler fails one test of fit.
ALPHA = 1e-8
_LEAST_EXPECTED = 20


def fit_p_value(values: NDArray[np.int64], below: Callable[[int], float]) -> float:
    """Return the p-value of a chi-square test of `values`, where `below(k)` is the chance of less than k."""
    edges = _edges(below, values.size)
    places = np.searchsorted(np.array(edges), values, side="right")
    seen = np.bincount(places, minlength=len(edges) + 1)
    ends = [0.0, *(below(edge) for edge in edges), 1.0]
    expected = np.diff(ends) * values.size
    return float(stats.chisquare(seen, expected * (seen.sum() / expected.sum())).pvalue)


def frequency_p_value(places: NDArray[Any], chances: Sequence[float]) -> float:
    """Return the p-value of a chi-square test of places 0 … k-1 against their chances."""
    seen = np.bincount(places, minlength=len(chances))
    impossible = np.array(chances) == 0
    if seen.size > len(chances) or seen[impossible].any():
        return 0.0
    expected = np.array(chances)[~impossible] * places.size
    seen = seen[~impossible]
    if seen.size == 1:
        return 1.0
    return float(stats.chisquare(seen, expected * (seen.sum() / expected.sum())).pvalue)


def same_p_value(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """Return the p-value of a two-sample chi-square test; rare values are put together."""
    both = np.concatenate([first, second])
    edges = np.unique(np.quantile(both, np.linspace(0, 1, 60)[1:-1]).astype(np.int64))
    table = [
        np.bincount(np.searchsorted(edges, part, side="right"), minlength=edges.size + 1)
        for part in (first, second)
    ]
    return float(stats.chi2_contingency(np.array(table)[:, np.sum(table, axis=0) > 0]).pvalue)


def laplace_below(scale: Fraction | float) -> Callable[[int], float]:
    """Return the chance that discrete Laplace noise is less than k."""
    decay = math.exp(-1 / float(scale))

    def below(k: int) -> float:
        tail = math.exp(-(abs(k) if k > 0 else abs(k) + 1) / float(scale)) / (1 + decay)
        return 1 - tail if k > 0 else tail

    return below


def gaussian_below(scale: Fraction | float) -> Callable[[int], float]:
    """Return the chance that discrete Gaussian noise is less than k."""
    sigma = float(scale)
    if sigma > 1000:  # the discrete Gaussian is then the rounded one, to 1e-7 and better
        return lambda k: float(stats.norm.cdf((k - 0.5) / sigma))
    reach = math.ceil(12 * sigma) + 2
    support = np.arange(-reach, reach + 1)
    weights = np.exp(-(support**2) / (2 * sigma * sigma))
    upto = np.cumsum(weights) / weights.sum()

    def below(k: int) -> float:
        return float(upto[min(k + reach, support.size) - 1]) if k > -reach else 0.0

    return below


def _edges(below: Callable[[int], float], count: int) -> list[int]:
    """Return integers between which at least 20 values are expected, about 100 of them at most."""
    share = max(_LEAST_EXPECTED / count, 0.01)
    quantiles = [_quantile(below, share * place) for place in range(1, int(1 / share))]
    edges = sorted(set(quantiles))
    kept = [edges[0]] if edges else []
    for _, edge in pairwise(edges):
        if (below(edge) - below(kept[-1])) * count >= _LEAST_EXPECTED:
            kept.append(edge)
    while kept and below(kept[0]) * count < _LEAST_EXPECTED:
        kept.pop(0)
    while kept and (1 - below(kept[-1])) * count < _LEAST_EXPECTED:
        kept.pop()
    return kept


def _quantile(below: Callable[[int], float], chance: float) -> int:
    low, high = -(2**62), 2**62
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if below(middle) < chance else (low, middle)
    return high
