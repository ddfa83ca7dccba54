"""How far a released distribution is from the true one, when labels are read without other knowledge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Labeled:
    """One column as an analyst reads it: entries with a true value and the label in its place.

    `spread` takes what each label weighs, one row per label, and returns what each value weighs when
    a label stands for any of its values alike. Weights of values that the table does not hold are
    left out.
    """

    values: NDArray[np.int64]
    labels: NDArray[np.int64]
    size: int
    count: int
    spread: Callable[[NDArray[np.float64]], NDArray[np.float64]]

    def take(self, entries: NDArray[np.int64]) -> Labeled:
        """Return the column of some entries."""
        return replace(self, values=self.values[entries], labels=self.labels[entries])


def label_unchanged(values: NDArray[np.int64], size: int) -> Labeled:
    """Return a column that is published as it is."""
    return Labeled(values, values, size, size, lambda weights: weights)


def marginal_distance(column: Labeled, rows: NDArray[np.int64]) -> float:
    """Return the total variation between the values of a column and the estimate from its labels.

    It is the share of rows that a count by value puts in the wrong place, from 0 to 1.
    """
    truth = _sum_by_key(column.values, rows, column.size)
    estimate = _sum_by_key(column.labels, rows, column.count)
    return _total_variation(truth, column.spread(estimate[:, None])[:, 0])


def pairwise_distance(first: Labeled, second: Labeled, rows: NDArray[np.int64]) -> float:
    """Return the total variation for two columns together: of their table of counts."""
    truth = _sum_by_key(first.values * second.size + second.values, rows, first.size * second.size)
    estimate = _sum_by_key(
        first.labels * second.count + second.labels, rows, first.count * second.count
    )
    half = first.spread(estimate.reshape(first.count, second.count))
    return _total_variation(truth, second.spread(half.T).T.ravel())


def pairwise_cells(first: Labeled, second: Labeled) -> int:
    """Return how many numbers `pairwise_distance` handles: what it costs."""
    values, labels = first.size * second.size, first.count * second.count
    return values + labels + first.size * second.count


def _sum_by_key(
    keys: NDArray[np.int64], rows: NDArray[np.int64], count: int
) -> NDArray[np.float64]:
    return np.bincount(keys, weights=rows, minlength=count).astype(np.float64, copy=False)


def _total_variation(truth: NDArray[np.float64], estimate: NDArray[np.float64]) -> float:
    whole = float(truth.sum())
    if whole == 0:
        return 0.0
    # What labels lend to values that the table does not hold is missing from `estimate`.
    outside = max(whole - float(estimate.sum()), 0.0)
    return min((float(np.abs(truth - estimate).sum()) + outside) / (2 * whole), 1.0)
