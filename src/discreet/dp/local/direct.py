"""Randomized response among any number of values: keep yours, or take any other."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.dp import exact
from discreet.dp.local.protocol import Protocol
from discreet.dp.local.support import Support, code_values, require_form


def keep_chance(odds: Fraction, size: int) -> Fraction:
    """Return the chance of keeping a value; each other one is `odds` times less likely."""
    return odds / (odds + size - 1)


def support(protocol: Protocol) -> Support:
    """Return how likely a report names a value that its sender has, and one that they have not."""
    kept = keep_chance(protocol.odds, protocol.size)
    return Support(kept, kept / protocol.odds)


def perturb(codes: NDArray[np.int64], protocol: Protocol) -> dict[str, Any]:
    """Return a value for each code: the true one with the chance of `keep_chance`, else another.

    Guarantee: a report is at most `odds` times likelier for one value than for another, so that it
    is epsilon-DP (generalized randomized response; Kairouz, Oh & Viswanath 2014).
    """
    reports = randomize_codes(codes, odds=protocol.odds, size=protocol.size)
    return {"report": pa.array(protocol.values, pa.string()).take(pa.array(reports))}


def randomize_codes(codes: NDArray[np.int64], *, odds: Fraction, size: int) -> NDArray[np.int64]:
    """Return each code, or with the chance that is left any other of `size` codes."""
    kept = exact.bernoulli(keep_chance(odds, size), codes.size)
    others = exact.uniform(size - 1, codes.size)
    others += others >= codes  # any code but the true one
    return np.where(kept, codes, others)


def count(reports: Any, protocol: Protocol) -> NDArray[np.int64]:
    """Return how many reports name each value."""
    codes = require_form(code_values(reports, protocol.values), "report")
    return np.bincount(codes.to_numpy(zero_copy_only=False), minlength=protocol.size)
