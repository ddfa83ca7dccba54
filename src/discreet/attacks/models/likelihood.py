"""Shadow models: how sure models of one kind are of a person they were trained on, and of one they were not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MANY_SHADOWS = 64  # below it a person's own variance is not known well enough (Carlini et al. 2022)
SURE = 1e-4  # chances nearer to 0 and 1 say no more: those of trees and neighbors are coarse


@dataclass(frozen=True)
class ShadowConfidences:
    """What shadow models say of people: `logits[shadow, person]`, and who each was trained on."""

    logits: NDArray[np.float64]
    is_in: NDArray[np.bool_]


def to_logits(confidences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log(p / (1 - p)), which is close to normal over models where p itself is not.

    >>> to_logits(np.array([0.5, 1.0])).round(2).tolist()
    [0.0, 9.21]
    """
    kept = np.clip(confidences, SURE, 1 - SURE)
    return np.log(kept) - np.log1p(-kept)


def assign_shadows(
    people: int, *, shadows: int, share: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return `[shadow, person]`, who trains which: everyone trains the same number of shadow models.

    >>> assign_shadows(5, shadows=8, share=0.25, rng=np.random.default_rng(1)).sum(axis=0).tolist()
    [2, 2, 2, 2, 2]
    """
    trained = min(max(round(share * shadows), 1), shadows - 1)
    order = rng.random((shadows, people)).argsort(axis=0)
    return order < trained


def likelihood_ratios(
    observed: NDArray[np.float64], shadows: ShadowConfidences
) -> NDArray[np.float64]:
    """Return the log likelihood ratio of each person: among those the model was trained on, or not.

    The logits of models that were trained on the person, and of those that were not, are each taken as
    normal (the online attack of Carlini et al. 2022, algorithm 1).

    >>> logits = np.array([[2.0, 0.0], [2.2, 0.1], [0.0, 2.0], [0.1, 2.2]])
    >>> is_in = np.array([[True, False], [True, False], [False, True], [False, True]])
    >>> (likelihood_ratios(np.array([2.0, 0.0]), ShadowConfidences(logits, is_in)) > 0).tolist()
    [True, False]
    """
    ends = []
    for chosen in (shadows.is_in, ~shadows.is_in):
        mean, deviation = _normal_of_each(shadows.logits, chosen)
        ends.append(-(((observed - mean) / deviation) ** 2) / 2 - np.log(deviation))
    return ends[0] - ends[1]


def surprises(observed: NDArray[np.float64], shadows: ShadowConfidences) -> NDArray[np.float64]:
    """Return by how many deviations the model is surer of each person than shadows that never saw them.

    It rises with the probability that a model without the person would be less sure: the offline
    attack of Carlini et al. (2022), whose adversary trains nothing on the people that are attacked.

    >>> logits = np.array([[1.0], [0.0], [-1.0], [5.0]])
    >>> is_in = np.array([[False], [False], [False], [True]])
    >>> surprises(np.array([3.0]), ShadowConfidences(logits, is_in)).round(2).tolist()
    [3.67]
    """
    mean, deviation = _normal_of_each(shadows.logits, ~shadows.is_in)
    return (observed - mean) / deviation


def _normal_of_each(
    logits: NDArray[np.float64], chosen: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and deviation of the chosen logits of each person; one deviation for all, if few."""
    many = chosen.sum(axis=0)
    mean = np.where(chosen, logits, 0.0).sum(axis=0) / many
    squares = (np.where(chosen, logits - mean, 0.0) ** 2).sum(axis=0)
    shared = float(np.sqrt(squares.sum() / many.sum())) or 1.0
    if len(logits) < MANY_SHADOWS:
        return mean, np.full(len(mean), shared)
    return mean, np.maximum(np.sqrt(squares / many), shared / 10)
