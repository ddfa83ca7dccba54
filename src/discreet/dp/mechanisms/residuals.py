"""Residual bases of marginals: counts by many sets of columns, measured once for all of them.

A marginal counts units by some columns. It is the sum of its residuals, one for each subset A of these columns:
the part of the counts by A that no smaller subset has. A residual is measured once, however many marginals it is a
part of. So marginals that are put together from measured residuals add up, whatever the noise is, and no other
linear measurements with Gaussian noise have a smaller total variance at the same price (Xiao, He, Zhang & Kifer
2023).

With n_i values of column i, the residual of A is the counts by A multiplied by the matrix I - J / n_i along each
column i of A, where J is all ones. Here they are multiplied by n_i I - J instead: integers, to which exact noise is
added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = tuple[int, ...]  # positions of columns, in ascending order
Floats = NDArray[np.float64]

# Below it a residual of 2^32 units fits into 64 bits; above it Python's own integers count.
_MOST_IN_64_BITS = 2**31


def residual_subsets(marginals: Iterable[Columns], sizes: Sequence[int]) -> list[Columns]:
    """Return every subset of columns whose residual is a part of one of `marginals`, smallest first.

    A column of one value has no residual.

    >>> residual_subsets([(0, 1), (2,)], [3, 2, 1])
    [(), (0,), (1,), (0, 1)]
    """
    found: set[Columns] = set()
    for columns in set(marginals):
        varying = [column for column in columns if sizes[column] > 1]
        for count in range(len(varying) + 1):
            found.update(combinations(varying, count))
    return sorted(found, key=lambda subset: (len(subset), subset))


def scaled_residual(counts: NDArray[Any], *, one: int = 1) -> NDArray[Any]:
    """Return the residual of a table of integer counts over all of its axes, times the number of its cells.

    Guarantee: a change of `counts` by 1 in one cell changes the result by a vector whose squares add up to
    `squared_residual(counts.shape)`, and the change is linear. `one` is how much a whole unit counts.

    >>> scaled_residual(np.array([3, 1])).tolist()
    [2, -2]
    """
    is_large = prod(counts.shape) * one >= _MOST_IN_64_BITS
    found = counts.astype(object if is_large else np.int64)
    for axis, size in enumerate(counts.shape):
        found = size * found - found.sum(axis=axis, keepdims=True)
    return found


def squared_residual(shape: Sequence[int]) -> int:
    """Return the squares of what one unit adds to `scaled_residual`, summed.

    Along a column of n values a unit adds n - 1 once and -1 in the n - 1 other places: n (n - 1) in squares.

    >>> squared_residual((2,)), squared_residual(())
    (2, 1)
    """
    return prod(size * (size - 1) for size in shape)


def centered_residual(noisy: NDArray[Any]) -> Floats:
    """Return the residual that a noisy `scaled_residual` estimates: centered again, which leaves noise out."""
    found = np.asarray(noisy / prod(noisy.shape), np.float64)
    for axis in range(found.ndim):
        found = found - found.mean(axis=axis, keepdims=True)
    return found


def sum_residuals(
    columns: Columns, residuals: Mapping[Columns, Floats], sizes: Sequence[int]
) -> Floats:
    """Return the marginal by `columns`: each residual spread evenly over the columns it lacks.

    >>> sum_residuals((0,), {(): np.array(4.0), (0,): np.array([1.0, -1.0])}, [2]).tolist()
    [3.0, 1.0]
    """
    found = np.zeros([sizes[column] for column in columns])
    for subset in residual_subsets([columns], sizes):
        shape = [sizes[column] if column in subset else 1 for column in columns]
        found += residuals[subset].reshape(shape) / _spread_cells(columns, subset, sizes)
    return found


def marginal_variance(
    columns: Columns, variances: Mapping[Columns, float], sizes: Sequence[int]
) -> float:
    """Return the variance of each cell of a marginal, by the variance of the noise in each residual's cells."""
    return sum(
        variances[subset] * cell_factor(columns, subset, sizes)
        for subset in residual_subsets([columns], sizes)
    )


def cell_factor(columns: Columns, subset: Columns, sizes: Sequence[int]) -> float:
    """Return by how much noise of variance 1 in the residual of `subset` adds to a cell of the marginal.

    Centering keeps 1 - 1 / n of the variance along a column of n values; spreading divides the rest by n².
    """
    return kept_share(subset, sizes) / _spread_cells(columns, subset, sizes) ** 2


def kept_share(subset: Columns, sizes: Sequence[int]) -> float:
    """Return the share of one unit's square that the residual of `subset` keeps."""
    return prod((1 - 1 / sizes[column] for column in subset), start=1.0)


def least_error_shares(errors: Sequence[float], whole: Fraction) -> list[Fraction]:
    """Return shares of `whole` that make the sum of error / share least: in proportion to the roots of `errors`.

    By the inequality of Cauchy and Schwarz the sum is at least (sum of roots)² / whole, which these shares reach.
    They add up to `whole` exactly.

    >>> least_error_shares([1, 4], Fraction(3))
    [Fraction(1, 1), Fraction(2, 1)]
    """
    roots = [error**0.5 for error in errors]
    most = max(roots)
    # Whole numbers, so that the shares are exact; none is 0, because each must buy some noise.
    parts = [max(1, round(root / most * 2**40)) for root in roots]
    total = sum(parts)
    return [whole * part / total for part in parts]


def _spread_cells(columns: Columns, subset: Columns, sizes: Sequence[int]) -> int:
    return prod(sizes[column] for column in columns if column not in subset)
