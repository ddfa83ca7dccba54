"""Noise that repeats: the same seed for either input, or the same outputs in every session."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from discreet.attacks.audit.bound import LEAST_RUNS
from discreet.attacks.audit.outputs import Runs
from discreet.attacks.intervals import clopper_pearson


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
    return _is_beyond_chance(int(gaps.max()), pairs, likely, alpha)


def are_sessions_alike(sessions: Sequence[Sequence[str]], *, alpha: float) -> bool:
    """Return whether sessions that were started apart gave the same outputs in the same order.

    How often an output is the one before it says how likely that is by accident: a coin that nearly
    always shows heads is no seed.

    >>> are_sessions_alike([["3", "1", "4", "1", "5", "9", "2"]] * 2, alpha=0.05)
    True
    >>> are_sessions_alike([["1", "1", "1", "0", "1", "1", "1"]] * 2, alpha=0.05)
    False
    """
    if len(set(map(tuple, sessions))) > 1:
        return False
    outputs = sessions[0]
    same = sum(one == other for one, other in pairwise(outputs))
    _, likely = clopper_pearson(same, max(len(outputs) - 1, 1), confidence=1 - alpha)
    draws = len(outputs) * (len(sessions) - 1)
    return draws * math.log(likely) < math.log(alpha)


def _is_beyond_chance(hits: int, trials: int, chance: float, alpha: float) -> bool:
    from scipy.stats import binom

    return float(binom.sf(hits - 1, trials, min(1.0, chance))) < alpha
