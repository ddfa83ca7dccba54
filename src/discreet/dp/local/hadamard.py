"""Hadamard response: report one column of a Hadamard matrix, more likely one where your row has +1."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.dp import exact
from discreet.dp.local.protocol import Protocol
from discreet.dp.local.support import Support, require_range


def matrix_order(protocol: Protocol) -> int:
    """Return the order of the matrix: a power of two above the number of values.

    Row 0 is +1 throughout and carries no information, so that value v has row v + 1.
    """
    return 1 << protocol.size.bit_length()


def support(protocol: Protocol) -> Support:
    """Return the chance that the reported column is +1 in the sender's row, and in any other row."""
    return Support(protocol.odds / (protocol.odds + 1), Fraction(1, 2))


def perturb(codes: NDArray[np.int64], protocol: Protocol) -> dict[str, Any]:
    """Return a column of the matrix for each code.

    Guarantee: each column where the code's row is +1 is `odds` times likelier than each where it is
    -1, and every row has as many of both, so that a report is at most `odds` times likelier for one
    value than for another, and epsilon-DP (Hadamard response; Acharya, Sun & Zhang 2019).
    """
    rows = codes + 1
    columns = exact.uniform(matrix_order(protocol), codes.size)
    wanted = ~exact.bernoulli(support(protocol).true, codes.size)
    # Turning over a bit that the row has changes the sign, and pairs columns of both signs.
    turned = columns ^ (rows & -rows)
    return {"report": pa.array(np.where(is_minus(rows, columns) == wanted, columns, turned))}


def is_minus(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether the matrix has -1 there: an odd number of bits in common."""
    return (np.bitwise_count(rows & columns) & 1).astype(np.bool_)


def count(reports: Any, protocol: Protocol) -> NDArray[np.int64]:
    """Return how many reported columns are +1 in the row of each value."""
    size = matrix_order(protocol)
    named = require_range(reports["report"], "report", below=size)
    sums = hadamard_transform(np.bincount(named, minlength=size))
    return (named.size + sums[1 : protocol.size + 1]) // 2


def hadamard_transform(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the product of the matrix and `counts`, whose size is a power of two."""
    sums = counts.astype(np.int64)
    half = 1
    while half < sums.size:
        pairs = sums.reshape(-1, 2, half)
        sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        half *= 2
    return sums
