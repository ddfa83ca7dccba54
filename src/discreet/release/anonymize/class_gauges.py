"""Gauges of metrics that look at classes alone: discernibility, class size, classification.

Without suppression, such a score only grows when classes merge, and suppression never makes it
smaller: the score that a node would have without it bounds those of all higher nodes. Lower nodes
are bounded by the rows that they must suppress.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import WrongUsage
from discreet.release.anonymize.problem import Problem

if TYPE_CHECKING:
    from discreet.release.anonymize.checks import NodeCheck


Parts = list[NDArray[np.float64]]  # for each attribute, one number per level


class _PerClass:
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
