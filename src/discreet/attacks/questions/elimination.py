"""Which single unknowns follow from sums of them: exact elimination modulo the prime 2**61 - 1."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

PRIME = (1 << 61) - 1
_LOW31, _LOW30 = np.uint64((1 << 31) - 1), np.uint64((1 << 30) - 1)
_PRIME = np.uint64(PRIME)


@dataclass(frozen=True)
class Certificate:
    """One unknown as a combination of sums: `unknown = sum of coefficient * sums[index]`."""

    unknown: int
    terms: tuple[tuple[Fraction, int], ...]


def determine_unknowns(matrix: NDArray[np.bool_]) -> list[Certificate]:
    """Return every unknown that the sums determine; a row of `matrix` says what a sum is about.

    Exact up to a chance of about rows / 2**61 that a true rank is larger than the one modulo the
    prime: floats would confuse small with zero.

    >>> import numpy as np
    >>> found = determine_unknowns(np.array([[True, True, True], [True, True, False]]))
    >>> [(one.unknown, [(str(c), i) for c, i in one.terms]) for one in found]
    [(2, [('1', 0), ('-1', 1)])]
    """
    rows, columns = matrix.shape
    work = np.hstack([matrix.astype(np.uint64), np.eye(rows, dtype=np.uint64)])
    pivots: list[int] = []
    for column in range(columns):
        rank = len(pivots)
        candidates = np.flatnonzero(work[rank:, column])
        if not len(candidates):
            continue
        swap = rank + int(candidates[0])
        work[[rank, swap]] = work[[swap, rank]]
        inverse = pow(int(work[rank, column]), PRIME - 2, PRIME)
        work[rank] = _multiply_modulo_prime(work[rank], np.uint64(inverse))
        others = np.flatnonzero(work[:, column])
        others = others[others != rank]
        product = _multiply_modulo_prime(work[others, column][:, None], work[rank][None, :])
        work[others] = _reduce_modulo_prime(work[others] + (_PRIME - product))
        pivots.append(column)
        if len(pivots) == rows:
            break
    alone = np.count_nonzero(work[: len(pivots), :columns], axis=1) == 1
    return [
        Certificate(pivots[row], _nonzero_terms(work[row, columns:]))
        for row in np.flatnonzero(alone)
    ]


def _nonzero_terms(coefficients: NDArray[np.uint64]) -> tuple[tuple[Fraction, int], ...]:
    return tuple(
        (_rational_of_residue(int(coefficients[index])), int(index))
        for index in np.flatnonzero(coefficients)
    )


def _rational_of_residue(residue: int) -> Fraction:
    """Return the small fraction that is `residue` modulo the prime (Wang 1981)."""
    old, new = (PRIME, 0), (residue, 1)
    bound = 1 << 30
    while new[0] > bound:
        quotient = old[0] // new[0]
        old, new = new, (old[0] - quotient * new[0], old[1] - quotient * new[1])
    return Fraction(new[0], new[1])


def _reduce_modulo_prime(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    folded = (values >> np.uint64(61)) + (values & _PRIME)
    return np.where(folded >= _PRIME, folded - _PRIME, folded)


def _multiply_modulo_prime(
    left: NDArray[np.uint64], right: NDArray[np.uint64] | np.uint64
) -> NDArray[np.uint64]:
    """Return products modulo 2**61 - 1 without numbers of more than 64 bits."""
    left_high, left_low = left >> np.uint64(31), left & _LOW31
    right_high, right_low = right >> np.uint64(31), right & _LOW31
    middle = left_low * right_high + left_high * right_low
    carried = (middle >> np.uint64(30)) + ((middle & _LOW30) << np.uint64(31))
    return _reduce_modulo_prime(
        _reduce_modulo_prime(left_high * right_high * np.uint64(2) + carried) + left_low * right_low
    )
