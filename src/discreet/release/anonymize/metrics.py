"""Measures of what a node loses, each with what is known of it before a node is checked."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import WrongUsage
from discreet.release.anonymize.checks import NodeCheck
from discreet.release.anonymize.frequencies import sum_by_label
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


class _PerClass:
    """Metrics that look at classes alone.

    Without suppression, such a score only grows when classes merge, and suppression never makes it
    smaller: the score that a node would have without it bounds those of all higher nodes. Lower nodes
    are bounded by the rows that they must suppress.
    """

    needs_values = False

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.rows = max(problem.rows, 1)

    def start(self) -> Parts:
        """Return parts of nothing."""
        return _spread_value(0.0, self.problem.heights)

    def score(self, potential: float) -> float:
        """Return the potential itself."""
        return potential


class DiscernibilityGauge(_PerClass):
    """For each row the rows that are indistinguishable from it: its class, or all when it is suppressed."""

    def potential(self, check: NodeCheck) -> float:
        """Return the sum of the squares of the sizes, and of all rows for each suppressed one."""
        kept = check.rows[check.held].astype(np.float64)
        return float((kept * kept).sum()) + float(self.rows) * check.lost_rows

    def below(self, check: NodeCheck) -> Parts | None:
        """Return the score if all rows that are not surely lost were in classes of k."""
        lost = check.least_lost
        kept = (self.rows - lost) * min(self.problem.judge.k, self.rows)
        return _spread_value(self.rows * lost + kept, check.node)

    def above(self, check: NodeCheck) -> float:
        """Return the score without suppression."""
        sizes = check.rows.astype(np.float64)
        return float((sizes * sizes).sum())


class ClassSizeGauge(_PerClass):
    """The mean size of a class; suppressed rows are one class more."""

    def potential(self, check: NodeCheck) -> float:
        """Return rows by classes."""
        return self.rows / max(int(check.held.sum()) + (not check.held.all()), 1)

    def below(self, check: NodeCheck) -> Parts | None:
        """Return the score if all rows that are not surely lost were in classes of k."""
        classes = (self.rows - check.least_lost) / self.problem.judge.k + 1
        return _spread_value(self.rows / max(classes, 1), check.node)

    def above(self, check: NodeCheck) -> float:
        """Return the score without suppression."""
        return self.rows / max(len(check.held), 1)


class ClassificationGauge(_PerClass):
    """The share of rows that differ from the most frequent value of their class, or have none."""

    needs_values = True

    def __init__(self, problem: Problem, target: int) -> None:
        if problem.table.people is not None:
            raise WrongUsage(
                "Classification counts rows, and people have several in this table. Choose another "
                "measure of utility, or a table with one row per person."
            )
        super().__init__(problem)
        self.target = target
        histogram = problem.table.histograms[target]
        best = np.zeros(len(problem.table), dtype=np.int64)
        np.maximum.at(best, histogram.owners, histogram.counts)
        self.mistaken = problem.table.rows - best

    def start(self) -> Parts:
        """Return the mistakes that no class can avoid: those within a combination."""
        return _spread_value(float(self.mistaken.sum()) / self.rows, self.problem.heights)

    def potential(self, check: NodeCheck) -> float:
        """Return the share of mistaken and of suppressed rows."""
        mistaken = int(self._count_mistakes(check)[check.held].sum())
        return (mistaken + check.lost_rows) / self.rows

    def below(self, check: NodeCheck) -> Parts | None:
        """Return the mistakes within combinations, and rows that are surely lost."""
        lost = check.surely_lost
        more = self.problem.table.rows[lost].sum() - self.mistaken[lost].sum()
        return _spread_value(float(self.mistaken.sum() + more) / self.rows, check.node)

    def above(self, check: NodeCheck) -> float:
        """Return the score without suppression."""
        return float(self._count_mistakes(check).sum()) / self.rows

    def _count_mistakes(self, check: NodeCheck) -> NDArray[np.int64]:
        if not len(check.rows):
            return check.rows
        table = check.parent.table or self.problem.table
        groups = table.groups(self.target, check.labels, len(check.rows), sizes=check.rows)
        return check.rows - groups.largest


def _spread_value(value: float, node: tuple[int, ...]) -> Parts:
    """Return parts for all nodes up to this one, each with the same sum."""
    parts = [np.zeros(level + 1) for level in node]
    parts[0] += value
    return parts


class PerAttribute:
    """Every attribute has a loss: a base known for each level, more for suppressed rows.

    The score is the weighted arithmetic mean of the losses, or, with `is_geometric`, the geometric
    mean of 1 + loss, minus 1, as in ARX.
    """

    needs_values = False

    def __init__(
        self,
        problem: Problem,
        base: list[NDArray[np.float64]],
        *,
        weights: NDArray[np.float64] | None = None,
        is_geometric: bool = False,
    ) -> None:
        self.problem = problem
        self.base = base
        self.weights = problem.weights if weights is None else weights
        self.is_geometric = is_geometric

    def weighed(self, weights: NDArray[np.float64]) -> PerAttribute:
        """Return the same measure with other weights, which need not add up to 1."""
        other = copy(self)
        other.weights = weights
        return other

    def penalties(self, check: NodeCheck) -> NDArray[np.float64] | float:
        """Return what suppression adds to each attribute's loss at the node."""
        del check
        return 0.0

    def sure(self, check: NodeCheck) -> Parts | None:
        """Return what the rows add on lower nodes that are lost there as well."""
        del check
        return None

    def unsure(self, check: NodeCheck) -> Parts | None:
        """Return what the rows add that go from classes of which not all must go."""
        del check
        return None

    def start(self) -> Parts:
        """Return the parts of the bases: what generalization alone loses."""
        return [self._weigh_loss(j, base) for j, base in enumerate(self.base)]

    def potential(self, check: NodeCheck) -> float:
        """Return the weighted sum of the losses, or of their logarithms."""
        losses = np.array([base[level] for base, level in zip(self.base, check.node, strict=True)])
        if not check.held.all():
            losses += self.penalties(check)
        return float(self.weights @ (np.log1p(losses) if self.is_geometric else losses))

    def below(self, check: NodeCheck) -> Parts | None:
        """Return bases with what rows add that must be suppressed on every lower node."""
        parts = [base[: level + 1] for base, level in zip(self.base, check.node, strict=True)]
        extra = [
            self.sure(check) if check.sure.any() else None,
            self.unsure(check) if check.missing is not None and check.missing.any() else None,
        ]
        known = [one for one in extra if one is not None]
        if not known:
            return None
        for one in known:
            parts = [part + more for part, more in zip(parts, one, strict=True)]
        return [self._weigh_loss(j, part) for j, part in enumerate(parts)]

    def above(self, check: NodeCheck) -> float:
        """Return nothing new: bases already bound higher nodes."""
        del check
        return -np.inf

    def score(self, potential: float) -> float:
        """Return the mean."""
        return float(np.expm1(potential)) if self.is_geometric else potential

    def _weigh_loss(self, attribute: int, loss: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.weights[attribute] * (np.log1p(loss) if self.is_geometric else loss)


class PerRow(PerAttribute):
    """Losses that are means over rows; a suppressed row loses `most[j]` of attribute j."""

    def __init__(
        self,
        problem: Problem,
        costs: list[NDArray[np.float64]],
        most: NDArray[np.float64],
        *,
        is_geometric: bool = False,
    ) -> None:
        rows, codes = problem.table.rows, problem.table.codes
        self.rows = max(problem.rows, 1)
        sizes = [attribute.size for attribute in problem.attributes]
        counts = [
            sum_by_label(codes[:, j].astype(np.int64), rows, size) for j, size in enumerate(sizes)
        ]
        base = [
            _multiply_matrix(cost, held) / self.rows
            for cost, held in zip(costs, counts, strict=True)
        ]
        super().__init__(problem, base, is_geometric=is_geometric)
        self.counts = np.concatenate(counts)
        self.saved = [most[j] - cost for j, cost in enumerate(costs)]
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self.flat = codes + self.starts[:-1]

    @cached_property
    def least(self) -> list[list[NDArray[np.float64]]]:
        """What a row of a group saves at least, for each attribute, level of groups, and level."""
        return [
            [
                _group_minimum(saved[: level + 1], groups)
                for level, groups in enumerate(attribute.groups)
            ]
            for saved, attribute in zip(self.saved, self.problem.attributes, strict=True)
        ]

    def penalties(self, check: NodeCheck) -> NDArray[np.float64] | float:
        """Return what the suppressed rows would have kept."""
        lost = np.flatnonzero(~check.held)
        rows = check.rows[lost]
        codes = check.parent.codes[:, check.first[lost]]
        saved = [
            float((self.saved[j][level][codes[j]] * rows).sum())
            for j, level in enumerate(check.node)
        ]
        return np.array(saved) / self.rows

    def sure(self, check: NodeCheck) -> Parts | None:
        """Return what the rows would have kept on each level that are lost on all lower nodes."""
        lost = check.surely_lost
        is_most = 2 * len(lost) > len(self.flat)
        if is_most:  # it is quicker to count the others
            others = np.ones(len(self.flat), dtype=np.bool_)
            others[lost] = False
            lost = np.flatnonzero(others)
        rows = np.repeat(self.problem.table.rows[lost], self.flat.shape[1])
        counts = np.bincount(self.flat[lost].ravel(), weights=rows, minlength=self.starts[-1])
        counts = (self.counts - counts if is_most else counts) / self.rows
        return [
            _multiply_matrix(
                self.saved[j][: level + 1], counts[self.starts[j] : self.starts[j + 1]]
            )
            for j, level in enumerate(check.node)
        ]

    def unsure(self, check: NodeCheck) -> Parts | None:
        """Return what so many rows of a class would have kept at least, whichever go."""
        if check.missing is None:
            return None
        some = np.flatnonzero(check.missing)
        rows = check.missing[some] / self.rows
        members = check.first[some]
        return [
            _multiply_matrix(
                self.least[j][level][
                    :, self.problem.attributes[j].groups[level][check.parent.codes[j, members]]
                ],
                rows,
            )
            for j, level in enumerate(check.node)
        ]


class NonUniformEntropy(PerAttribute):
    """Bits lost by generalization, and by no longer distinguishing suppressed rows."""

    def __init__(self, problem: Problem, *, penalizes: bool, weights: NDArray[np.float64]) -> None:
        self.penalizes = penalizes
        base: list[NDArray[np.float64]] = []
        for j, attribute in enumerate(problem.attributes):
            codes = problem.table.codes[:, j].astype(np.int64)
            counts = sum_by_label(codes, problem.table.rows, attribute.size)
            groups = [sum_by_label(level, counts, level.max() + 1) for level in attribute.groups]
            base.append(np.array([_n_log_n(held) - _n_log_n(counts) for held in groups]))
        super().__init__(problem, base, weights=weights)

    def penalties(self, check: NodeCheck) -> NDArray[np.float64] | float:
        """Return the bits that distinguished the suppressed rows on the node."""
        if not self.penalizes:
            return 0.0
        lost = np.flatnonzero(~check.held)
        rows, codes = check.rows[lost], check.parent.codes[:, check.first[lost]]
        whole = _n_log_n(rows.sum(keepdims=True))
        groups = [
            attribute.groups[level][codes[j]]
            for j, (attribute, level) in enumerate(
                zip(self.problem.attributes, check.node, strict=True)
            )
        ]
        return np.array([whole - _n_log_n(np.bincount(own, weights=rows)) for own in groups])

    def sure(self, check: NodeCheck) -> Parts | None:
        """Return the bits of the rows that are lost on all lower nodes: more rows have more."""
        if not self.penalizes:
            return None
        table = self.problem.table
        codes, rows = table.codes[check.surely_lost], table.rows[check.surely_lost]
        whole = _n_log_n(rows.sum(keepdims=True))
        parts: Parts = []
        for j, level in enumerate(check.node):
            attribute = self.problem.attributes[j]
            counts = sum_by_label(codes[:, j].astype(np.int64), rows, attribute.size)
            levels = attribute.groups[: level + 1]
            kept = [_n_log_n(np.bincount(groups, weights=counts)) for groups in levels]
            parts.append(whole - np.array(kept))
        return parts


def _group_minimum(saved: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return, for each level and group, the least of `saved[level]` over the group's values."""
    least = np.full((len(saved), int(groups.max(initial=-1)) + 1), np.inf)
    for level, values in enumerate(saved):
        np.minimum.at(least[level], groups, values)
    return least


def _multiply_matrix(matrix: NDArray[np.float64], vector: NDArray[Any]) -> NDArray[np.float64]:
    """Return the matrix product; threads of a BLAS would cost more than they bring here."""
    return np.einsum("ij,j->i", matrix, vector)


def _n_log_n(counts: NDArray[np.int64] | NDArray[np.float64]) -> float:
    some = counts[counts > 0]
    return float((some * np.log2(some)).sum())


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
