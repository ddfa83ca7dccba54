"""Measures: one number per class, and what a missing value counts for in it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.criteria.criterion import Missing
from discreet.criteria.histograms import ClassHistograms, Measure, Overall, Score


def measure_values(
    name: str,
    score: Callable[[ClassHistograms], NDArray[np.float64]],
    *,
    all_missing: float,
    missing: Missing = "unknown",
    is_worst_when_small: bool = False,
) -> Measure:
    """Return a measure of a class's own values, among those that are known or with gaps as a value.

    `all_missing` is the score of a class without any known value.
    """

    def score_alone(groups: ClassHistograms, overall: Overall) -> NDArray[np.float64]:
        del overall
        return score(groups)

    if missing == "value":
        return Measure(f"{name}_with_missing", score_alone, is_worst_when_small)
    return Measure(name, _among_known(score_alone, all_missing), is_worst_when_small)


def measure_distance(name: str, score: Score, *, missing: Missing = "unknown") -> Measure:
    """Return a measure of how far a class is from the table.

    Where gaps are unknown, the worse of two readings counts: that of what a reader sees, gaps
    included, and that of the values which are known.
    """
    if missing == "value":
        return Measure(f"{name}_with_missing", score)
    among_known = _among_known(score, 0.0)

    def worse(groups: ClassHistograms, overall: Overall) -> NDArray[np.float64]:
        seen = score(groups, overall)
        return seen if overall.missing is None else np.maximum(seen, among_known(groups, overall))

    return Measure(name, worse)


def known_values(
    groups: ClassHistograms, overall: Overall
) -> tuple[ClassHistograms, NDArray[np.bool_]]:
    """Return the classes without missing values, and which of them have any known one."""
    if overall.missing is None:
        return groups, np.ones(len(groups), dtype=np.bool_)
    return groups.known(overall.missing)


def _among_known(score: Score, all_missing: float) -> Score:
    """Return the score of each class without its missing values."""

    def scored(groups: ClassHistograms, overall: Overall) -> NDArray[np.float64]:
        if overall.missing is None:
            return score(groups, overall)
        known, has_some = known_values(groups, overall)
        found = np.full(len(groups), all_missing)
        if has_some.any():
            found[has_some] = score(known, overall.known)
        return found

    return scored
