"""l-diversity: how many well-represented sensitive values each class has.

Machanavajjhala, Gehrke, Kifer & Venkitasubramaniam 2006 (entropy, recursive), and the simpler
distinct and probabilistic kinds. `evaluate` decides what a missing value counts for. Every function
returns one number per class; the level of a table is that of its worst class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from discreet.measure.classes import ClassHistograms


def distinct(groups: ClassHistograms) -> NDArray[np.float64]:
    """Return the number of different values in each class."""
    return groups.lengths.astype(np.float64)


def probabilistic(groups: ClassHistograms) -> NDArray[np.float64]:
    """Return the largest l such that no value can be guessed with a chance above 1/l."""
    return groups.sizes / groups.largest


def guessing_confidence(groups: ClassHistograms) -> NDArray[np.float64]:
    """Return the chance of guessing right with each class's most frequent value."""
    return groups.largest / groups.sizes


def entropy(groups: ClassHistograms) -> NDArray[np.float64]:
    """Return exp(H) of each class's values: the number of equally likely values it is worth."""
    return np.exp(-np.add.reduceat(groups.shares * np.log(groups.shares), groups.first))


def recursive(groups: ClassHistograms, l: int) -> NDArray[np.float64]:
    """Return the bound that c must exceed for each class to be recursively (c, l)-diverse.

    With r1 >= r2 >= … the counts of a class's values, r1 < c (r_l + … + r_m) must hold. The bound is
    infinite for a class with fewer than l values.
    """
    summed = np.concatenate([[0], np.cumsum(groups.descending)])
    ends = groups.starts[1:]
    tail = summed[ends] - summed[np.minimum(groups.first + l - 1, ends)]
    with np.errstate(divide="ignore"):
        return np.where(tail > 0, groups.largest / tail, np.inf)
