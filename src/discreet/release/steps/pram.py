"""The post-randomization method: values are replaced by chance, and the chances are published."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

_HALVINGS = 60


def invariant_matrix(counts: NDArray[np.int64], *, keep: float) -> Reals:
    """Return the chances that a value (row) becomes another (column), of which `keep` stay in all.

    Two stages (Gouweleeuw, Kooiman, Willenborg & de Wolf 1998, section 4): a value first stays with
    some chance p or becomes any other, and then goes back to what it was likely to come from. The
    product R leaves the expected counts unchanged: counts @ R == counts. p is chosen such that the
    share `keep` of the rows is expected to keep its value; where even drawing every value afresh
    keeps more, that is done. Rare values change oftener than frequent ones.
    """
    shares = counts / counts.sum()
    if len(counts) == 1:
        return np.ones((1, 1))
    low, high = 1 / len(counts), 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _expected_kept(shares, middle) < keep:
            low = middle
        else:
            high = middle
    first = _first_stage(len(counts), high)
    second = first * shares[:, None] / (shares @ first)
    return first @ second.T


def _first_stage(size: int, stay: float) -> Reals:
    change = (1 - stay) / (size - 1)
    return np.full((size, size), change) + (stay - change) * np.eye(size)


def _expected_kept(shares: Reals, stay: float) -> float:
    """Return the share of rows that keep their value through both stages: sum of t_l R_ll."""
    change = (1 - stay) / (len(shares) - 1)
    seen = change + (stay - change) * shares
    chances = np.sum(change**2 / seen) + (stay**2 - change**2) / seen
    return float(np.sum(shares**2 * chances))


def replace_codes(
    codes: NDArray[np.int64], matrix: Reals, *, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return for each code the one that `matrix` and chance put in its place."""
    draws = generator.random(len(codes))
    result = np.empty_like(codes)
    limits = np.minimum(np.cumsum(matrix, axis=1), 1)
    limits[:, -1] = 1  # sums of chances may end a little below
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(matrix)))
    for code, rows in enumerate(np.split(order, ends[:-1])):
        result[rows] = np.searchsorted(limits[code], draws[rows], side="right")
    return result
