"""Gauges of metrics that are sums over attributes: loss, precision, height, entropy."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.release.anonymize.checks import NodeCheck
from discreet.release.anonymize.frequencies import sum_by_label
from discreet.release.anonymize.problem import Problem

Parts = list[NDArray[np.float64]]  # for each attribute, one number per level


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
