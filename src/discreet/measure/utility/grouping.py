"""How well rows can still be distinguished: measures of class sizes alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def discernibility(sizes: NDArray[np.int64], *, hidden: int = 0, penalty: int = 0) -> float:
    """Return, summed over all rows, how many rows are indistinguishable from each, itself included.

    Args:
        sizes: The number of rows in each class.
        hidden: The number of suppressed rows.
        penalty: What each of them costs: the table's number of rows (Bayardo & Agrawal 2005, DM),
            or their own number, as if they were a class of their own.

    >>> import numpy as np
    >>> discernibility(np.array([2, 3])), discernibility(np.array([2]), hidden=3, penalty=5)
    (13.0, 19.0)
    """
    return float(np.square(sizes, dtype=np.float64).sum()) + float(hidden) * penalty


def share_of_worst(value: float, *, best: float, worst: float) -> float:
    """Return where `value` lies between the best, 0, and the worst, 1."""
    return (value - best) / (worst - best) if worst > best else 0.0


def average_size(rows: int, classes: int) -> float:
    """Return the mean number of rows in a class (LeFevre et al. 2006; divided by k it is C_avg)."""
    return rows / classes if classes else 0.0
