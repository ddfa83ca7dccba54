"""Noise that repeats: the same seed for either input, or the same outputs in every session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.attack.audit.bound import LEAST_RUNS
from discreet.attack.intervals import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.attack.audit.outputs import Runs


def is_noise_shared(runs: Runs, *, alpha: float) -> bool:
    """Return whether runs of the two inputs had the same noise, run by run.

    Independent outputs differ by one number no more often than their commonest value occurs; what
    is seen oftener has a chance of at most `alpha` to be an accident.
    """
    if not runs.is_numeric or runs.is_vector:
        return False
    pairs = min(runs.first.size, runs.second.size)
    first, second = (part[:pairs].astype(np.float64) for part in (runs.first, runs.second))
    is_whole = np.isfinite(first) & np.isfinite(second)
    first, second = first[is_whole], second[is_whole]
    pairs = first.size
    if pairs < LEAST_RUNS:
        return False
    if np.unique(first).size == 1 and np.unique(second).size == 1:
        return False  # no noise at all, which the values themselves show
    # Sums that were rounded differ by a last digit or two.
    width = max(float(np.abs(first).max()), float(np.abs(second).max()), 1.0) * 2.0**-40
    gaps = np.unique(np.rint((second - first) / width), return_counts=True)[1]
    alike = np.unique(np.rint(first / width), return_counts=True)[1]
    _, likely = clopper_pearson(int(alike.max()), pairs, confidence=1 - alpha)
    return _exceeds(int(gaps.max()), pairs, likely, alpha)


def are_sessions_alike(
    sessions: Sequence[Sequence[object]], runs: NDArray[Any], *, alpha: float
) -> bool:
    """Return whether sessions that were started apart gave the same outputs in the same order.

    `runs` are outputs of one session on the same input: how often two of them are the same says how
    likely that is by accident.
    """
    if len({tuple(map(str, session)) for session in sessions}) > 1:
        return False
    half = len(runs) // 2
    same = int((runs[:half] == runs[half : 2 * half]).reshape(half, -1).all(axis=1).sum())
    _, likely = clopper_pearson(same, half, confidence=1 - alpha)
    draws = len(sessions[0]) * (len(sessions) - 1)
    return draws * np.log(max(likely, 1e-300)) < np.log(alpha)


def _exceeds(hits: int, trials: int, chance: float, alpha: float) -> bool:
    from scipy.stats import binom

    return float(binom.sf(hits - 1, trials, min(1.0, chance))) < alpha
