"""One person, one row: the links that are best for both sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


def assign_links(people: Numbers, rows: Numbers, weights: NDArray[np.float64]) -> Numbers:
    """Return which pairs are links, so that no person has two rows and no row two people.

    In rounds, a pair becomes a link when its weight is the largest of its person and of its row, and
    of no other pair of theirs; both are then taken. A person with two equally good rows has none: to
    choose would be to guess.

    >>> assign_links(np.array([0, 0, 1]), np.array([7, 8, 8]), np.array([5.0, 3.0, 4.0])).tolist()
    [0, 2]
    """
    found: list[Numbers] = []
    left = np.arange(len(people))
    while len(left):
        best = _is_only_best(people[left], weights[left]) & _is_only_best(rows[left], weights[left])
        if not best.any():
            break
        chosen = left[best]
        found.append(chosen)
        taken = np.isin(people[left], people[chosen]) | np.isin(rows[left], rows[chosen])
        left = left[~taken]
    return np.sort(np.concatenate(found)) if found else np.empty(0, np.int64)


def _is_only_best(owners: Numbers, weights: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which weights are the largest of their owner, and alone so."""
    _, inverse = np.unique(owners, return_inverse=True)
    largest = np.full(inverse.max() + 1, -np.inf)
    np.maximum.at(largest, inverse, weights)
    # What differs by rounding only is the same evidence.
    is_best = weights >= largest[inverse] - 1e-9
    count = np.bincount(inverse, weights=is_best)
    return is_best & (count[inverse] == 1)
