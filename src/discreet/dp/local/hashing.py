"""Optimized local hashing: a random hash maps values to few cells, and a cell is reported."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.dp import exact
from discreet.dp.local import direct
from discreet.dp.local.protocol import Protocol
from discreet.dp.local.support import Support, require_range

PRIME = 2**31 - 1  # products of two numbers below it fit 64 bits


def hash_cell_count(protocol: Protocol) -> int:
    """Return into how many cells values are hashed: odds + 1 vary least, more than values are idle."""
    return max(2, min(round(protocol.odds) + 1, protocol.size))


def support(protocol: Protocol) -> Support:
    """Return the chance that a report names the cell of its sender's value, and of any other one.

    A hash (a x + b mod PRIME) mod cells, with a and b uniform, puts two values into cells that are
    independent of each other, so that the chance to meet is exact although cells differ by one.
    """
    number = hash_cell_count(protocol)
    kept = direct.keep_chance(protocol.odds, number)
    small, rest = divmod(PRIME, number)
    meeting = Fraction(rest * (small + 1) ** 2 + (number - rest) * small**2, PRIME**2)
    return Support(kept, meeting * kept + (1 - meeting) * kept / protocol.odds)


def perturb(codes: NDArray[np.int64], protocol: Protocol) -> dict[str, Any]:
    """Return the seed of a hash, and the cell that is reported under it, for each code.

    Guarantee: the seed is chosen without looking at the value, and the cell is reported by
    randomized response, so that a report is at most `odds` times likelier for one value than for
    another, and epsilon-DP (optimized local hashing; Wang et al. 2017, section 4.3).
    """
    seeds = exact.uniform(PRIME * PRIME, codes.size)
    hashed = hash_cells(seeds, codes, cells=hash_cell_count(protocol))
    reports = direct.randomize_codes(hashed, odds=protocol.odds, size=hash_cell_count(protocol))
    return {"seed": pa.array(seeds), "report": pa.array(reports)}


def hash_cells(
    seeds: NDArray[np.int64], codes: NDArray[np.int64] | int, *, cells: int
) -> NDArray[np.int64]:
    """Return the cell of each code under the hash of each seed."""
    factors, shifts = np.divmod(seeds, PRIME)
    return (factors * codes + shifts) % PRIME % cells


def count(reports: Any, protocol: Protocol) -> NDArray[np.int64]:
    """Return how many reports name the cell of each value."""
    number = hash_cell_count(protocol)
    seeds = require_range(reports["seed"], "seed", below=PRIME * PRIME)
    named = require_range(reports["report"], "report", below=number)
    factors, shifts = np.divmod(seeds, PRIME)
    found = [
        np.count_nonzero((factors * code + shifts) % PRIME % number == named)
        for code in range(protocol.size)
    ]
    return np.array(found, np.int64)
