"""Quantiles, smallest and largest values: one of the public candidates, chosen by its rank."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from discreet.dp.mechanisms.add import as_integers
from discreet.dp.mechanisms.choice import permute_and_flip
from discreet.dp.mechanisms.parameters import require_count
from discreet.errors import InvalidMechanism

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.dp.event import Choice
    from discreet.dp.noise import Noise

Candidate = TypeVar("Candidate")


def choose_quantile(
    candidates: Sequence[Candidate],
    counts: Sequence[int] | NDArray[Any],
    *,
    quantile: Fraction,
    epsilon: Fraction,
    rows_per_unit: int,
    noise: Noise | None = None,
) -> tuple[Candidate, Choice]:
    """Return a candidate that about a share `quantile` of the rows is below.

    Guarantee: epsilon-DP between tables that differ in the rows of one unit, at most `rows_per_unit`
    of them, where `candidates` are public and ascending and each row is counted at one of them
    (permute-and-flip, McKenna & Sheldon 2020). A candidate's score is how many rows are wrong about
    it, in exact integers: for a quantile a/b, b·below - a·n or b·above - (b-a)·n rows too many. One
    row changes either by at most max(a, b-a).

    Example:
        >>> choose_quantile(
        ...     ["low", "middle", "high"], [300, 500, 300],
        ...     quantile=Fraction(1, 2), epsilon=Fraction(1), rows_per_unit=1,
        ... )[0]
        'middle'
    """
    if not 0 <= quantile <= 1:
        raise InvalidMechanism("A quantile is from 0 to 1; the median is 1/2.")
    share = Fraction(quantile)
    whole = _check(candidates, counts)
    rows = _as_wide(whole, share.denominator)
    total, upto = rows.sum(), np.cumsum(rows)
    a, b = share.numerator, share.denominator
    excess_below = b * (upto - rows) - a * total
    excess_above = b * (total - upto) - (b - a) * total
    scores = -np.maximum(np.maximum(excess_below, excess_above), 0)
    change = require_count(rows_per_unit, of="rows per unit") * max(a, b - a)
    place, event = permute_and_flip(scores, epsilon=epsilon, sensitivity=change, noise=noise)
    return candidates[place], event


def choose_rank_from_bottom(
    candidates: Sequence[Candidate],
    counts: Sequence[int] | NDArray[Any],
    *,
    rank: int,
    epsilon: Fraction,
    rows_per_unit: int,
    noise: Noise | None = None,
) -> tuple[Candidate, Choice]:
    """Return a candidate that is about the `rank`-th smallest row's; 1 is the minimum.

    Guarantee: epsilon-DP between tables that differ in the rows of one unit, at most `rows_per_unit`
    of them, where `candidates` are public and ascending and each row is counted at one of them
    (permute-and-flip, McKenna & Sheldon 2020). A candidate's score is how far `rank` is from the
    ranks of its rows, which one row changes by at most 1.
    """
    require_count(rank, of="the rank")
    rows = _as_wide(_check(candidates, counts), 1)
    upto = np.cumsum(rows)
    scores = -np.maximum(np.maximum(upto - rows + 1 - rank, rank - upto), 0)
    change = require_count(rows_per_unit, of="rows per unit")
    place, event = permute_and_flip(scores, epsilon=epsilon, sensitivity=change, noise=noise)
    return candidates[place], event


def choose_rank_from_top(
    candidates: Sequence[Candidate],
    counts: Sequence[int] | NDArray[Any],
    *,
    rank: int,
    epsilon: Fraction,
    rows_per_unit: int,
    noise: Noise | None = None,
) -> tuple[Candidate, Choice]:
    """Return a candidate that is about the `rank`-th largest row's; 1 is the maximum.

    Guarantee: that of `choose_rank_from_bottom`, of which this is the mirror image.
    """
    return choose_rank_from_bottom(
        candidates[::-1],
        as_integers(counts)[::-1],
        rank=rank,
        epsilon=epsilon,
        rows_per_unit=rows_per_unit,
        noise=noise,
    )


def _check(candidates: Sequence[Candidate], counts: Sequence[int] | NDArray[Any]) -> NDArray[Any]:
    whole = as_integers(counts)
    if whole.size == 0 or whole.size != len(candidates):
        raise InvalidMechanism("Each candidate needs one count of rows, and there must be some.")
    return whole


def _as_wide(counts: NDArray[Any], factor: int) -> NDArray[Any]:
    """Return counts of which sums times `factor` do not overflow."""
    largest = int(np.max(counts)) * counts.size * 2 * factor
    return counts if largest < 1 << 62 else counts.astype(object)
