"""Measures of what a node loses, each with what is known of it before a node is checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.release.anonymize.attribute_gauges import NonUniformEntropy, PerAttribute, PerRow
from discreet.release.anonymize.checks import NodeCheck
from discreet.release.anonymize.class_gauges import (
    ClassificationGauge,
    ClassSizeGauge,
    DiscernibilityGauge,
)
from discreet.release.anonymize.problem import Problem

Parts = list[NDArray[np.float64]]  # for each attribute, one number per level


class Gauge(Protocol):
    """A metric made ready for one problem.

    Searches compare potentials: numbers in the order of the scores, and sums of one part per
    attribute as far as they are known before a check.
    """

    needs_values: bool

    def start(self) -> Parts:
        """Return parts whose sum is at most the potential of a node."""
        ...

    def potential(self, check: NodeCheck) -> float:
        """Return the potential of a node; no node has a lower score than a lower potential's."""
        ...

    def below(self, check: NodeCheck) -> Parts | None:
        """Return parts whose sums bound the potentials of all lower nodes; None: nothing new."""
        ...

    def above(self, check: NodeCheck) -> float:
        """Return a bound on the potentials of all higher nodes."""
        ...

    def score(self, potential: float) -> float:
        """Return the score with this potential."""
        ...


@dataclass(frozen=True)
class Metric:
    """A measure to minimize, by name."""

    name: str
    gauge: Callable[[Problem], Gauge]


def _loss_gauge(problem: Problem, *, is_geometric: bool) -> Gauge:
    most = np.array([1.0 if attribute.leaf < 1 else 0.0 for attribute in problem.attributes])
    costs = [np.stack(attribute.losses) for attribute in problem.attributes]
    return PerRow(problem, costs, most, is_geometric=is_geometric)


def _precision_gauge(problem: Problem) -> Gauge:
    costs = [
        np.repeat(_level_shares(attribute.height)[:, None], attribute.size, axis=1)
        for attribute in problem.attributes
    ]
    most = np.array([1.0 if attribute.height else 0.0 for attribute in problem.attributes])
    return PerRow(problem, costs, most)


def _height_gauge(problem: Problem) -> Gauge:
    base = [np.arange(height + 1, dtype=np.float64) for height in problem.heights]
    return PerAttribute(problem, base, weights=np.ones(len(base)))


def classification(target: int) -> Metric:
    """Return the share of rows whose value differs from their class's most frequent one.

    `target` is the index of a sensitive column. Suppressed rows count as different (classification
    metric; Iyengar 2002).
    """
    return Metric("classification", lambda problem: ClassificationGauge(problem, target))


loss = Metric("loss", lambda problem: _loss_gauge(problem, is_geometric=False))
"""The mean share of its domain that a cell's label covers (Iyengar 2002, as in ARX)."""

geometric_loss = Metric("geometric-loss", lambda problem: _loss_gauge(problem, is_geometric=True))
"""The same, with the geometric mean over attributes: the default of ARX."""

precision = Metric("precision", _precision_gauge)
"""The mean height of a cell in its hierarchy; suppressed cells are at the top (Sweeney 2002)."""

height = Metric("height", _height_gauge)
"""The sum of the levels (Samarati 2001)."""

entropy = Metric(
    "entropy", lambda problem: NonUniformEntropy(problem, penalizes=True, weights=problem.weights)
)
"""Bits lost on the mean attribute (non-uniform entropy; Gionis & Tassa 2009, as in ARX)."""

monotone_entropy = Metric(
    "monotone-entropy",
    lambda problem: NonUniformEntropy(
        problem, penalizes=False, weights=np.ones(len(problem.attributes))
    ),
)
"""Bits lost on all attributes by generalization alone: suppression costs nothing."""

discernibility = Metric("discernibility", DiscernibilityGauge)
"""For each row the rows that are indistinguishable from it; all rows, if suppressed (Bayardo & Agrawal 2005)."""

class_size = Metric("class-size", ClassSizeGauge)
"""The mean size of a class, suppressed rows being one (LeFevre et al. 2006, not divided by k)."""

METRICS = {
    metric.name: metric
    for metric in (
        loss,
        geometric_loss,
        precision,
        height,
        entropy,
        monotone_entropy,
        discernibility,
        class_size,
    )
}


def _level_shares(height: int) -> NDArray[np.float64]:
    return np.arange(height + 1) / max(height, 1)
