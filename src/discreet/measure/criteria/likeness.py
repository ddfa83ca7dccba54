"""β-likeness and δ-disclosure: how much each value's share in a class differs from the table's.

Relative, not absolute, change: a rare value that becomes ten times as likely is seen, where
t-closeness would hide it. Every function returns one number per class; a table's level is the
largest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.measure.criteria.t_closeness import Overall

if TYPE_CHECKING:
    from discreet.measure.classes import ClassHistograms


def basic_beta(groups: ClassHistograms, overall: Overall) -> NDArray[np.float64]:
    """Return the largest relative gain (p - q) / q of a value (Cao & Karras 2012, definition 2)."""
    return np.maximum.reduceat(_relative_gains(groups, overall), groups.first)


def enhanced_beta(groups: ClassHistograms, overall: Overall) -> NDArray[np.float64]:
    """Return the largest relative gain, infinite where one exceeds -ln q (ibid., definition 3).

    The enhanced bound min(β, -ln q) also keeps frequent values from reaching certainty, for every β.
    """
    gains = _relative_gains(groups, overall)
    caps = -np.log(overall.shares[groups.codes])
    # The tolerance keeps a gain that equals its cap from failing by rounding.
    broken = gains > caps + 1e-12
    return np.maximum.reduceat(np.where(broken, np.inf, gains), groups.first)


def delta_disclosure(groups: ClassHistograms, overall: Overall) -> NDArray[np.float64]:
    """Return the largest |ln(p / q)| of a value (Brickell & Shmatikov 2008, definition 3).

    A class that lacks a value of the table excludes that value for its people: infinite.
    """
    change = np.abs(np.log(groups.shares / overall.shares[groups.codes]))
    lacking = groups.lengths < np.count_nonzero(overall.shares)
    return np.where(lacking, np.inf, np.maximum.reduceat(change, groups.first))


def _relative_gains(groups: ClassHistograms, overall: Overall) -> NDArray[np.float64]:
    shares = overall.shares[groups.codes]
    return np.maximum(groups.shares - shares, 0.0) / shares
