"""Sparse vector: which of many questions are above a threshold, at the price of those that are."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from discreet.dp.event import Pure
from discreet.dp.mechanisms.parameters import (
    noise_or_system,
    require_count,
    require_epsilon,
    require_sensitivity,
)
from discreet.dp.noise import Noise, representable
from discreet.errors import BudgetExceeded


class SparseVector:
    """Reports for each integer in turn whether it is about above a threshold, until `limit` were.

    Guarantee: epsilon-DP for all answers together, however many questions were below, between tables
    of which each question's integer differs by at most `sensitivity`; the questions may depend on
    the answers before them (Dwork & Roth 2014, algorithm 1 and theorem 3.23; for `limit` > 1 Lyu,
    Su & Li 2017, algorithm 1 and theorem 2). The threshold's noise has scale 2 sensitivity / epsilon
    and is drawn once; each question's noise is new, has scale 4 limit · sensitivity / epsilon, and
    is not released. The proofs move noise by `sensitivity` and twice that, which integers allow.

    Example:
        >>> from fractions import Fraction
        >>> vector = SparseVector(threshold=1000, epsilon=Fraction(1), sensitivity=1, limit=1)
        >>> vector.is_above(0), vector.is_above(5000), vector.is_exhausted
        (False, True, True)
    """

    def __init__(
        self,
        *,
        threshold: int,
        epsilon: Fraction,
        sensitivity: Fraction | int,
        limit: int,
        noise: Noise | None = None,
    ) -> None:
        change, share = require_sensitivity(sensitivity), require_epsilon(epsilon)
        self.event = Pure(share)
        self._left = require_count(limit, of="answers above the threshold")
        self._noise = noise_or_system(noise)
        self._scale = representable(4 * limit * change / share)
        self._threshold = threshold + int(
            self._noise.laplace(representable(2 * change / share), 1)[0]
        )

    @property
    def is_exhausted(self) -> bool:
        """Whether as many were above the threshold as were paid for."""
        return self._left == 0

    def is_above(self, value: int) -> bool:
        """Return whether `value` plus noise is at least the threshold plus its noise."""
        if self.is_exhausted:
            raise BudgetExceeded(
                "All answers above the threshold that were paid for have been given. "
                "Start a new sparse vector with a new epsilon."
            )
        is_above = value + int(self._noise.laplace(self._scale, 1)[0]) >= self._threshold
        self._left -= is_above
        return is_above


def above_threshold(
    values: Iterable[int],
    *,
    threshold: int,
    epsilon: Fraction,
    sensitivity: Fraction | int,
    limit: int = 1,
    noise: Noise | None = None,
) -> tuple[tuple[bool, ...], Pure]:
    """Return for each of `values` whether it is about above `threshold`, until `limit` were.

    Guarantee: that of `SparseVector`. Values after the last answer are not read.
    """
    vector = SparseVector(
        threshold=threshold, epsilon=epsilon, sensitivity=sensitivity, limit=limit, noise=noise
    )
    answers: list[bool] = []
    for value in values:
        answers.append(vector.is_above(value))
        if vector.is_exhausted:
            break
    return tuple(answers), vector.event
