"""The best node found so far: which of two is better, and how far it can be from the optimum."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from discreet.release.anonymize.checks import Node, NodeCheck, NodeChecker
    from discreet.release.anonymize.metrics import Gauge

# Sums of the same losses in another order differ by less.
TOLERANCE = 1e-12


@dataclass
class Incumbent:
    """The best solution so far: least potential, then least sum of levels, then first node.

    `least` bounds the potential of every node that was not checked.
    """

    checker: NodeChecker
    gauge: Gauge
    check: NodeCheck | None = None
    potential: float = np.inf
    rank: tuple[int, Node] = field(default=(0, ()))
    least: float = -np.inf

    @property
    def tolerance(self) -> float:
        """By how much potentials may differ and still be the same."""
        return TOLERANCE * max(1.0, abs(self.potential)) if self.check else 0.0

    @property
    def gap(self) -> float:
        """The score minus the least score that any node could have: 0 when this is the optimum."""
        if self.least >= self.potential - self.tolerance:
            return 0.0
        return self.gauge.score(self.potential) - self.gauge.score(self.least)

    def visit(self, node: Node) -> NodeCheck:
        """Check a node, and keep it if it is the best solution."""
        check = self.checker.check(node)
        if self.checker.holds(check):
            self.offer(check, self.gauge.potential(check))
        return check

    def offer(self, check: NodeCheck, potential: float) -> None:
        """Keep a solution if it is better than the best so far."""
        rank = (sum(check.node), check.node)
        if self.beats(potential, rank):
            self.check, self.potential, self.rank = check, potential, rank

    def beats(self, potential: float, rank: tuple[int, Node]) -> bool:
        """Return whether a node with this potential would be better than the best so far."""
        if self.check is None or potential < self.potential - self.tolerance:
            return True
        return potential <= self.potential + self.tolerance and rank < self.rank
