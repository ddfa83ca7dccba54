"""Measures of what a node loses, each with what is known of it before a node is checked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discreet.release.anonymize.frequencies import total

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.release.anonymize.checks import Check
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

    def potential(self, check: Check) -> float:
        """Return the potential of a node; no node has a lower score than a lower potential's."""
        ...

    def below(self, check: Check) -> Parts | None:
        """Return parts whose sums bound the potentials of all lower nodes; None: nothing new."""
        ...

    def above(self, check: Check) -> float:
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


class _PerAttribute:
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

    def penalties(self, check: Check) -> NDArray[np.float64] | float:
        """Return what suppression adds to each attribute's loss at the node."""
        del check
        return 0.0

    def sure(self, check: Check) -> Parts | None:
        """Return what the rows add on lower nodes that are lost there as well."""
        del check
        return None

    def unsure(self, check: Check) -> Parts | None:
        """Return what the rows add that go from classes of which not all must go."""
        del check
        return None

    def start(self) -> Parts:
        return [self._weigh(j, base) for j, base in enumerate(self.base)]

    def potential(self, check: Check) -> float:
        losses = np.array([base[level] for base, level in zip(self.base, check.node, strict=True)])
        if not check.held.all():
            losses += self.penalties(check)
        return float(self.weights @ (np.log1p(losses) if self.is_geometric else losses))

    def below(self, check: Check) -> Parts | None:
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
        return [self._weigh(j, part) for j, part in enumerate(parts)]

    def above(self, check: Check) -> float:
        del check
        return -np.inf

    def score(self, potential: float) -> float:
        return float(np.expm1(potential)) if self.is_geometric else potential

    def _weigh(self, attribute: int, loss: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.weights[attribute] * (np.log1p(loss) if self.is_geometric else loss)


class _PerRow(_PerAttribute):
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
        counts = [total(codes[:, j].astype(np.int64), rows, size) for j, size in enumerate(sizes)]
        base = [_times(cost, held) / self.rows for cost, held in zip(costs, counts, strict=True)]
        super().__init__(problem, base, is_geometric=is_geometric)
        self.counts = np.concatenate(counts)
        self.saved = [most[j] - cost for j, cost in enumerate(costs)]
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self.flat = codes + self.starts[:-1]

    @cached_property
    def least(self) -> list[list[NDArray[np.float64]]]:
        """What a row of a group saves at least, for each attribute, level of groups, and level."""
        return [
            [_least(saved[: level + 1], groups) for level, groups in enumerate(attribute.groups)]
            for saved, attribute in zip(self.saved, self.problem.attributes, strict=True)
        ]

    def penalties(self, check: Check) -> NDArray[np.float64] | float:
        lost = np.flatnonzero(~check.held)
        rows = check.rows[lost]
        codes = check.parent.codes[:, check.first[lost]]
        saved = [
            float((self.saved[j][level][codes[j]] * rows).sum())
            for j, level in enumerate(check.node)
        ]
        return np.array(saved) / self.rows

    def sure(self, check: Check) -> Parts | None:
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
            _times(self.saved[j][: level + 1], counts[self.starts[j] : self.starts[j + 1]])
            for j, level in enumerate(check.node)
        ]

    def unsure(self, check: Check) -> Parts | None:
        if check.missing is None:
            return None
        some = np.flatnonzero(check.missing)
        rows = check.missing[some] / self.rows
        members = check.first[some]
        return [
            _times(
                self.least[j][level][
                    :, self.problem.attributes[j].groups[level][check.parent.codes[j, members]]
                ],
                rows,
            )
            for j, level in enumerate(check.node)
        ]


class _Entropy(_PerAttribute):
    """Bits lost by generalization, and by telling suppressed rows no longer apart."""

    def __init__(self, problem: Problem, *, penalizes: bool, weights: NDArray[np.float64]) -> None:
        self.penalizes = penalizes
        base: list[NDArray[np.float64]] = []
        for j, attribute in enumerate(problem.attributes):
            codes = problem.table.codes[:, j].astype(np.int64)
            counts = total(codes, problem.table.rows, attribute.size)
            groups = [total(level, counts, level.max() + 1) for level in attribute.groups]
            base.append(np.array([_n_log_n(held) - _n_log_n(counts) for held in groups]))
        super().__init__(problem, base, weights=weights)

    def penalties(self, check: Check) -> NDArray[np.float64] | float:
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

    def sure(self, check: Check) -> Parts | None:
        if not self.penalizes:
            return None
        table = self.problem.table
        codes, rows = table.codes[check.surely_lost], table.rows[check.surely_lost]
        whole = _n_log_n(rows.sum(keepdims=True))
        parts: Parts = []
        for j, level in enumerate(check.node):
            attribute = self.problem.attributes[j]
            counts = total(codes[:, j].astype(np.int64), rows, attribute.size)
            levels = attribute.groups[: level + 1]
            kept = [_n_log_n(np.bincount(groups, weights=counts)) for groups in levels]
            parts.append(whole - np.array(kept))
        return parts


class _PerClass:
    """Scores that depend on the classes alone; `above` is the score if nothing were suppressed."""

    needs_values = False

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.rows = problem.rows

    def start(self) -> Parts:
        return [np.zeros(height + 1) for height in self.problem.heights]

    def least(self, check: Check) -> float:
        """Return a bound on the score of lower nodes, which suppress the same rows at least."""
        raise NotImplementedError

    def below(self, check: Check) -> Parts | None:
        parts = [np.zeros(level + 1) for level in check.node]
        parts[0] += self.least(check)
        return parts

    def score(self, potential: float) -> float:
        return potential


class _Discernibility(_PerClass):
    def potential(self, check: Check) -> float:
        kept = check.rows[check.held].astype(np.float64)
        return float((kept * kept).sum()) + float(self.rows) * check.lost_rows

    def least(self, check: Check) -> float:
        lost = check.least_lost
        return self.rows * lost + (self.rows - lost) * min(self.problem.judge.k, self.rows)

    def above(self, check: Check) -> float:
        sizes = check.rows.astype(np.float64)
        return float((sizes * sizes).sum())


class _ClassSize(_PerClass):
    def potential(self, check: Check) -> float:
        return self.rows / max(int(check.held.sum()) + (not check.held.all()), 1)

    def least(self, check: Check) -> float:
        return self.rows / max((self.rows - check.least_lost) / self.problem.judge.k + 1, 1)

    def above(self, check: Check) -> float:
        return self.rows / max(len(check.held), 1)


class _Classification(_PerClass):
    needs_values = True

    def __init__(self, problem: Problem, target: int) -> None:
        super().__init__(problem)
        self.target = target
        histogram = problem.table.histograms[target]
        best = np.zeros(len(problem.table), dtype=np.int64)
        np.maximum.at(best, histogram.owners, histogram.counts)
        self.mistaken = problem.table.rows - best

    def start(self) -> Parts:
        parts = super().start()
        parts[0] += float(self.mistaken.sum()) / max(self.rows, 1)
        return parts

    def potential(self, check: Check) -> float:
        mistaken = self._mistaken(check)[check.held].sum()
        return float(mistaken + check.lost_rows) / max(self.rows, 1)

    def least(self, check: Check) -> float:
        lost = check.surely_lost
        more = self.problem.table.rows[lost].sum() - self.mistaken[lost].sum()
        return float(self.mistaken.sum() + more) / max(self.rows, 1)

    def above(self, check: Check) -> float:
        return float(self._mistaken(check).sum()) / max(self.rows, 1)

    def _mistaken(self, check: Check) -> NDArray[np.int64]:
        table = check.parent.table or self.problem.table
        groups = table.groups(self.target, check.labels, len(check.rows), sizes=check.rows)
        return check.rows - groups.largest


def _loss(problem: Problem, *, is_geometric: bool) -> Gauge:
    most = np.array([1.0 if attribute.leaf < 1 else 0.0 for attribute in problem.attributes])
    costs = [np.stack(attribute.losses) for attribute in problem.attributes]
    return _PerRow(problem, costs, most, is_geometric=is_geometric)


def _precision(problem: Problem) -> Gauge:
    costs = [
        np.repeat(_levels(attribute.height)[:, None], attribute.size, axis=1)
        for attribute in problem.attributes
    ]
    most = np.array([1.0 if attribute.height else 0.0 for attribute in problem.attributes])
    return _PerRow(problem, costs, most)


def _height(problem: Problem) -> Gauge:
    base = [np.arange(height + 1, dtype=np.float64) for height in problem.heights]
    return _PerAttribute(problem, base, weights=np.ones(len(base)))


def classification(target: int) -> Metric:
    """Return the share of rows whose value differs from their class's most frequent one.

    `target` is the index of a sensitive column. Suppressed rows count as different (classification
    metric; Iyengar 2002).
    """
    return Metric("classification", lambda problem: _Classification(problem, target))


loss = Metric("loss", lambda problem: _loss(problem, is_geometric=False))
"""The mean share of its domain that a cell's label covers (Iyengar 2002, as in ARX)."""

geometric_loss = Metric("geometric-loss", lambda problem: _loss(problem, is_geometric=True))
"""The same, with the geometric mean over attributes: the default of ARX."""

precision = Metric("precision", _precision)
"""The mean height of a cell in its hierarchy; suppressed cells are at the top (Sweeney 2002)."""

height = Metric("height", _height)
"""The sum of the levels (Samarati 2001)."""

entropy = Metric(
    "entropy", lambda problem: _Entropy(problem, penalizes=True, weights=problem.weights)
)
"""Bits lost on the mean attribute (non-uniform entropy; Gionis & Tassa 2009, as in ARX)."""

monotone_entropy = Metric(
    "monotone-entropy",
    lambda problem: _Entropy(problem, penalizes=False, weights=np.ones(len(problem.attributes))),
)
"""Bits lost on all attributes by generalization alone: suppression costs nothing."""

discernibility = Metric("discernibility", _Discernibility)
"""For each row the rows it cannot be told from; all rows, if suppressed (Bayardo & Agrawal 2005)."""

class_size = Metric("class-size", _ClassSize)
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


def _levels(height: int) -> NDArray[np.float64]:
    return np.arange(height + 1) / max(height, 1)


def _least(saved: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return, for each level and group, the least of `saved[level]` over the group's values."""
    least = np.full((len(saved), int(groups.max(initial=-1)) + 1), np.inf)
    for level, values in enumerate(saved):
        np.minimum.at(least[level], groups, values)
    return least


def _times(matrix: NDArray[np.float64], vector: NDArray[Any]) -> NDArray[np.float64]:
    """Return the matrix product; threads of a BLAS would cost more than they bring here."""
    return np.einsum("ij,j->i", matrix, vector)


def _n_log_n(counts: NDArray[np.int64] | NDArray[np.float64]) -> float:
    some = counts[counts > 0]
    return float((some * np.log2(some)).sum())
