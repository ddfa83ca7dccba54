"""Quantiles, smallest and largest values: one of the public candidates, chosen by its rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.dp.event import Choice
from discreet.dp.mechanisms.add import as_integers
from discreet.dp.mechanisms.choice import permute_and_flip
from discreet.dp.mechanisms.parameters import (
    noise_or_system,
    require_count,
    require_epsilon,
    require_sensitivity,
)
from discreet.dp.noise import Noise
from discreet.errors import InvalidMechanism

Candidate = TypeVar("Candidate")


@dataclass(frozen=True)
class Quantile:
    """The candidate that a share a/b of the rows is below.

    A candidate's score is how many rows are wrong about it, in exact integers: b·below - a·n or
    b·above - (b-a)·n rows too many. One row changes either by at most max(a, b-a).
    """

    share: Fraction

    def __post_init__(self) -> None:
        """Refuse what is no share."""
        if not 0 <= self.share <= 1:
            raise InvalidMechanism("A quantile is from 0 to 1; the median is 1/2.")

    @property
    def change(self) -> int:
        """How far one row moves a score."""
        return max(self.share.numerator, self.share.denominator - self.share.numerator)

    def scores(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Return the scores of candidates with so many rows each, the higher the better."""
        a, b = self.share.numerator, self.share.denominator
        rows = _as_wide(counts, b)
        upto = np.cumsum(rows, axis=-1)
        total = upto[..., -1:]
        excess_below = b * (upto - rows) - a * total
        excess_above = b * (total - upto) - (b - a) * total
        return -np.maximum(np.maximum(excess_below, excess_above), 0)


@dataclass(frozen=True)
class Rank:
    """The candidate that is the `rank`-th smallest row's, or the `rank`-th largest one's.

    A candidate's score is how far `rank` is from the ranks of its rows, which one row changes by at
    most 1.
    """

    rank: int
    is_from_top: bool = False
    change = 1

    def __post_init__(self) -> None:
        """Refuse what is no rank."""
        require_count(self.rank, of="the rank")

    def scores(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Return the scores of candidates with so many rows each, the higher the better."""
        if self.is_from_top:
            return Rank(self.rank).scores(counts[..., ::-1])[..., ::-1]
        rows = _as_wide(counts, 1)
        upto = np.cumsum(rows, axis=-1)
        return -np.maximum(np.maximum(upto - rows + 1 - self.rank, self.rank - upto), 0)


def choose_in_each(
    counts: NDArray[Any],
    target: Quantile | Rank,
    *,
    epsilon: Fraction,
    rows_per_unit: int,
    noise: Noise | None = None,
) -> tuple[NDArray[np.int64], Choice]:
    """Return the place of a candidate near `target` in each group: `counts` has a row for each group.

    Guarantee: epsilon-DP between tables that differ in the rows of one unit, at most `rows_per_unit`
    of them in all groups together, where groups are public, candidates are public and ascending, and
    each row is counted at one of them in one group (permute-and-flip, McKenna & Sheldon 2020; the privacy loss of a
    choice is in proportion to how far its scores move, and these moves add up over the groups
    to that of all rows).

    Example:
        >>> from fractions import Fraction
        >>> counts = np.array([[300, 500, 300], [0, 0, 900]])
        >>> choose_in_each(
        ...     counts, Quantile(Fraction(1, 2)), epsilon=Fraction(1), rows_per_unit=1
        ... )[0].tolist()
        [1, 2]
    """
    change = require_sensitivity(require_count(rows_per_unit, of="rows per unit") * target.change)
    share = require_epsilon(epsilon)
    scores = target.scores(as_integers(counts))
    return noise_or_system(noise).choose_each(scores, epsilon=share, sensitivity=change), Choice(
        share
    )


def choose_by_rank(
    candidates: Sequence[Candidate],
    counts: Sequence[int] | NDArray[Any],
    target: Quantile | Rank,
    *,
    epsilon: Fraction,
    rows_per_unit: int,
    noise: Noise | None = None,
) -> tuple[Candidate, Choice]:
    """Return a candidate near `target`.

    Guarantee: epsilon-DP between tables that differ in the rows of one unit, at most `rows_per_unit`
    of them, where `candidates` are public and ascending and each row is counted at one of them
    (permute-and-flip, McKenna & Sheldon 2020).

    Example:
        >>> from fractions import Fraction
        >>> choose_by_rank(
        ...     ["low", "middle", "high"], [300, 500, 300],
        ...     Quantile(Fraction(1, 2)), epsilon=Fraction(1), rows_per_unit=1,
        ... )[0]
        'middle'
    """
    whole = as_integers(counts)
    if whole.size == 0 or whole.size != len(candidates):
        raise InvalidMechanism("Each candidate needs one count of rows, and there must be some.")
    change = require_count(rows_per_unit, of="rows per unit") * target.change
    place, event = permute_and_flip(
        target.scores(whole), epsilon=epsilon, sensitivity=change, noise=noise
    )
    return candidates[place], event


def _as_wide(counts: NDArray[Any], factor: int) -> NDArray[Any]:
    """Return counts of which sums times `factor` do not overflow."""
    largest = int(np.max(counts)) * counts.shape[-1] * 2 * factor
    return counts if largest < 1 << 62 else counts.astype(object)
