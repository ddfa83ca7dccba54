"""Swapping: pairs of rows exchange values, so that every count of values stays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.intp]


def swap_within(strata: NDArray[np.int64], *, share: float, generator: np.random.Generator) -> Rows:
    """Return from which row each row takes its values: its own, or that of a partner.

    Rows of one stratum are paired at random, and of all pairs so many are taken, at random, that the
    share `share` of the rows has a partner, or as many as have one (Dalenius & Reiss 1982).
    """
    pairs = _random_pairs(strata, generator=generator)
    wanted = min(len(pairs), int(share * len(strata) / 2 + 0.5))
    return _exchange_pairs(generator.permutation(pairs, axis=0)[:wanted], rows=len(strata))


def swap_ranks(order: Rows, *, window: float, generator: np.random.Generator) -> Rows:
    """Return from which row each row takes its value: a partner at most `window` of all ranks away.

    `order` lists the rows by rank. Runs of as many ranks as the window is wide, from a random start,
    are paired within at random: rank swapping (Moore 1996) without its walk from row to row.
    """
    width = max(1, int(window * len(order))) + 1
    runs = (np.arange(len(order)) + generator.integers(width)) // width
    pairs = _random_pairs(runs, generator=generator)
    source = np.empty(len(order), dtype=np.intp)
    source[order] = order[_exchange_pairs(pairs, rows=len(order))]
    return source


def _random_pairs(strata: NDArray[np.int64], *, generator: np.random.Generator) -> Rows:
    """Return disjoint random pairs of positions that have the same stratum, as many as possible."""
    shuffled = generator.permutation(len(strata))
    order = shuffled[np.argsort(strata[shuffled], kind="stable")]
    sorted_strata = strata[order]
    _, starts, sizes = np.unique(sorted_strata, return_index=True, return_counts=True)
    within = np.arange(len(order)) - np.repeat(starts, sizes)
    is_first = (within % 2 == 0) & (within + 1 < np.repeat(sizes, sizes))
    first = np.flatnonzero(is_first)
    return np.column_stack([order[first], order[first + 1]])


def _exchange_pairs(pairs: Rows, *, rows: int) -> Rows:
    source = np.arange(rows)
    source[pairs[:, 0]] = pairs[:, 1]
    source[pairs[:, 1]] = pairs[:, 0]
    return source
