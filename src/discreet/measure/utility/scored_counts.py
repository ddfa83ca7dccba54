"""Shares, ranks and their errors, from noisy counts of rows by what was predicted and what is true."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_FEWEST = 3  # a whole of fewer standard errors of its noise says nothing


@dataclass(frozen=True)
class NoisyFigure:
    """A figure that follows from noisy counts.

    Attributes:
        value: The figure.
        error: Its standard error: by the noise of the counts, and by which people are in the table.
    """

    value: float
    error: float


def rank_share(yes: Floats, no: Floats) -> float | None:
    """Return the chance that a row of `yes` has a higher score than one of `no`; equal scores count as half.

    Args:
        yes: Rows whose answer is yes by bucket of their score, ascending.
        no: The other rows.

    >>> import numpy as np
    >>> rank_share(np.array([0.0, 3.0]), np.array([2.0, 2.0]))
    0.75
    """
    pairs = float(yes.sum() * no.sum())
    if pairs <= 0:
        return None
    return float((yes * _count_below(no)).sum()) / pairs


def estimate_rank_share(yes: Floats, no: Floats, *, scale: float) -> NoisyFigure | None:
    """Return `rank_share` with its error, None where noise hides it; `scale` is the noise of one count.

    The error follows from the first derivatives by all counts, each of which varies by its noise and, as the
    number of people in a cell, by its own size (the delta method).
    """
    if not (_is_visible(yes, scale) and _is_visible(no, scale)):
        return None
    share = rank_share(yes, no)
    if share is None:
        return None
    all_yes, all_no = float(yes.sum()), float(no.sum())
    above = all_yes - _count_below(yes)
    by_yes = (_count_below(no) - share * all_no) / (all_yes * all_no)
    by_no = (above - share * all_yes) / (all_yes * all_no)
    error = _add_errors(np.concatenate([yes, no]), np.concatenate([by_yes, by_no]), scale)
    return NoisyFigure(_clip_unit(share), error)


def estimate_share(
    counts: Floats, is_part: NDArray[np.bool_], *, scale: float
) -> NoisyFigure | None:
    """Return the share of rows that are in some cells, None where noise hides how many rows there are.

    Args:
        counts: Noisy counts of rows by cell.
        is_part: Which cells count.
        scale: The noise of one count.

    >>> import numpy as np
    >>> estimate_share(np.array([30.0, 10.0]), np.array([True, False]), scale=0.0).value
    0.75
    """
    if not _is_visible(counts, scale):
        return None
    whole = float(counts.sum())
    share = float(counts[is_part].sum()) / whole
    slopes = (is_part.astype(float) - share) / whole
    return NoisyFigure(_clip_unit(share), _add_errors(counts.ravel(), slopes.ravel(), scale))


def _is_visible(counts: Floats, scale: float) -> bool:
    return float(counts.sum()) > max(0.5, _FEWEST * scale * math.sqrt(counts.size))


def _count_below(counts: Floats) -> Floats:
    """Return for each bucket the rows of lower ones, and half of its own."""
    return np.cumsum(counts) - counts / 2


def _add_errors(counts: Floats, slopes: Floats, scale: float) -> float:
    return math.sqrt(float(((np.maximum(counts, 0) + scale**2) * slopes**2).sum()))


def _clip_unit(share: float) -> float:
    return min(1.0, max(0.0, share))
