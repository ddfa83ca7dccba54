"""What a guarantee of differential privacy permits any test of membership, whatever its scores are."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp


@dataclass(frozen=True)
class PermittedMembership:
    """The best that any test of membership may reach against a model that is (epsilon, delta)-private.

    For neighbors that differ in the rows of one person, and on average over the noise of the training
    (Wasserman & Zhou 2010; Kairouz, Oh & Viswanath 2015).

    >>> allowed = PermittedMembership(1.0)
    >>> [round(x, 3) for x in (allowed.true_positive_rate(0.01), allowed.advantage, allowed.auc)]
    [0.027, 0.462, 0.731]
    """

    epsilon: float
    delta: float = 0.0

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """Return how many members may be found when so many others are taken for members."""
        factor = exp(min(self.epsilon, 700.0))
        few = factor * false_positive_rate + self.delta
        many = 1 - (1 - self.delta - false_positive_rate) / factor
        return max(0.0, min(1.0, few, many))

    @property
    def advantage(self) -> float:
        """The largest difference of the two rates: (e^epsilon - 1 + 2 delta) / (e^epsilon + 1)."""
        factor = exp(-min(self.epsilon, 700.0))
        return min(1.0, (1 - factor + 2 * self.delta * factor) / (1 + factor))

    @property
    def right(self) -> float:
        """The largest share of right guesses where half of the people are members."""
        return (1 + self.advantage) / 2

    @property
    def auc(self) -> float:
        """The area under the curve of the best test."""
        factor = exp(min(self.epsilon, 700.0))
        rest = 1 - self.delta
        turn = rest / (1 + factor)  # where the two limits of the true positive rate meet
        steep = self.delta * turn + factor * turn**2 / 2
        return min(1.0, steep + (rest - turn) - (rest - turn) ** 2 / (2 * factor) + self.delta)
