"""Bits that labels withhold about the values behind them: non-uniform entropy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def lost_by_levels(
    counts: NDArray[np.int64] | NDArray[np.float64], groups: Sequence[NDArray[np.int64]]
) -> float:
    """Return the bits lost when values go up a hierarchy, summed over all rows.

    Rows climb one used level after the other, and each step costs what the value on the lower level
    is unknown to a reader of the upper one, among the rows that take the step (De Waal &
    Willenborg 1999; for different levels in one column Prasser, Bild & Kuhn 2016).

    Args:
        counts: `counts[level, value]` rows are published on that level.
        groups: `groups[level][value]` is the label of a value on that level.
    """
    lost = 0.0
    below = np.arange(counts.shape[1])
    for level in np.flatnonzero(counts.sum(axis=1)).tolist():
        climbing = counts[level:].sum(axis=0)
        lost += _n_log_n(groups[level], climbing) - _n_log_n(below, climbing)
        below = groups[level]
    return lost


def lost_by_ranges(
    values: NDArray[np.int64],
    lows: NDArray[np.int64],
    highs: NDArray[np.int64],
    rows: NDArray[np.int64],
    size: int,
) -> float:
    """Return the bits lost when values are published as ranges of codes, summed over all rows.

    A value costs what is unknown of it to a reader who sees its range and knows how frequent values
    are in the whole table (Gionis & Tassa 2009).

    Args:
        values: The codes behind the rows, from 0 to `size` - 1.
        lows: The first code of each value's range.
        highs: The last one.
        rows: How many rows there are of each.
        size: The number of codes.
    """
    frequencies = np.bincount(values, weights=rows, minlength=size)
    until = np.concatenate([[0.0], np.cumsum(frequencies)])
    within = until[highs + 1] - until[lows]
    return float((rows * np.log2(within / frequencies[values])).sum())


def entropy_bits(values: NDArray[np.int64], rows: NDArray[np.int64]) -> float:
    """Return the bits that a column holds, summed over all rows: what hiding it loses.

    >>> import numpy as np
    >>> entropy_bits(np.array([0, 1]), np.array([4, 4]))
    8.0
    """
    whole = float(rows.sum())
    return whole * float(np.log2(whole)) - _n_log_n(values, rows) if whole else 0.0


def _n_log_n(labels: NDArray[np.int64], counts: NDArray[np.int64] | NDArray[np.float64]) -> float:
    """Return the sum of n log n over the labels, n being a label's count."""
    held = np.bincount(labels, weights=counts)
    some = held[held > 0]
    return float((some * np.log2(some)).sum())
