"""t-closeness: how far each class's sensitive values are from the whole table's.

Earth-mover distance with three ground distances (Li, Li & Venkatasubramanian 2007), each computed
from the values a class has, never from the whole domain per class: classes are many and small.
Every function returns one number in [0, 1] per class; the level of a table is the largest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Bug

if TYPE_CHECKING:
    from discreet.measure.classes import ClassHistograms


@dataclass(frozen=True)
class Overall:
    """The whole table's distribution of a sensitive column.

    Attributes:
        shares: The share of each code; they add up to 1.
        ranks: Each code's place in the natural order, None when the values have no order.
        levels: For each level of the hierarchy from the values upward (the top left out), the group
            of each code; None without a hierarchy.
        missing: The code of missing values, the last one; None where there are none.
    """

    shares: NDArray[np.float64]
    ranks: NDArray[np.int64] | None = None
    levels: tuple[NDArray[np.int64], ...] | None = None
    missing: int | None = None

    @cached_property
    def known(self) -> Overall:
        """The distribution among those whose value is not missing."""
        if self.missing is None:
            return self
        shares = self.shares[:-1]
        return Overall(
            shares / max(float(shares.sum()), np.finfo(float).tiny),
            None if self.ranks is None else self.ranks[:-1],
            None if self.levels is None else tuple(level[:-1] for level in self.levels),
        )


def equal(groups: ClassHistograms, overall: Overall) -> NDArray[np.float64]:
    """Return the variational distance: all values are equally far apart.

    Half the sum of |p - q| equals the sum of p - q where p > q, and p > q only where a class has
    the value at all.
    """
    excess = np.maximum(groups.shares - overall.shares[groups.codes], 0.0)
    return np.add.reduceat(excess, groups.first)


def ordered(groups: ClassHistograms, overall: Overall) -> NDArray[np.float64]:
    """Return the distance between neighbours in an order of m values being 1 / (m - 1).

    The sum over all values i of |P(i) - Q(i)|, P and Q cumulated, is split at the values the class
    has: between two of them P stands still while Q grows, so one binary search and two prefix sums
    give that stretch.
    """
    ranks = overall.ranks
    if ranks is None:
        raise Bug("The ordered distance was asked for values without an order.")
    m = len(overall.shares)
    if m == 1:
        return np.zeros(len(groups))
    first, lengths = groups.first, groups.lengths
    places, counts = ranks[groups.codes], groups.counts
    if np.any(np.diff(ranks) < 0):  # codes are not in the natural order
        by_place = np.lexsort((places, groups.owners))
        places, counts = places[by_place], counts[by_place]
    # Whole numbers until the division: no rounding adds up over the classes of a batch.
    cumulated = np.cumsum(counts)
    before = np.repeat(cumulated[first] - counts[first], lengths)
    totals = np.repeat(cumulated[groups.starts[1:] - 1], lengths) - before
    level = (cumulated - before) / totals  # P from this place up to the class's next one
    ends = np.empty_like(places)
    ends[:-1] = places[1:]
    ends[groups.starts[1:] - 1] = m
    in_order = np.empty(m)
    in_order[ranks] = overall.shares
    q = np.cumsum(in_order)
    q[-1] = 1.0
    prefix = np.concatenate([[0.0], np.cumsum(q)])
    stretches = _absolute_deviation_sum(q, prefix, places, ends, level)
    # Before its first value a class has P = 0, and the area is that under Q.
    area = np.add.reduceat(stretches, first) + prefix[places[first]]
    return np.maximum(area, 0.0) / (m - 1)  # differences of sums may end just below 0


def _absolute_deviation_sum(
    q: NDArray[np.float64],
    prefix: NDArray[np.float64],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    level: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the sum of |level - q[i]| for begins <= i < ends, q ascending."""
    crossing = np.clip(np.searchsorted(q, level), begins, ends)
    below = level * (crossing - begins) - (prefix[crossing] - prefix[begins])
    above = (prefix[ends] - prefix[crossing]) - level * (ends - crossing)
    return below + above


def hierarchical(groups: ClassHistograms, overall: Overall) -> NDArray[np.float64]:
    """Return the distance of two values being the level at which they meet over the height.

    That ground distance is a tree metric whose edges all weigh 1 / (2 height), so the earth-mover
    distance is the mean, over the levels below the top, of the variational distance at that level.
    """
    levels = overall.levels
    if levels is None:
        raise Bug("The hierarchical distance was asked for without a hierarchy.")
    distance = np.zeros(len(groups))
    for members in levels:
        whole = np.bincount(members, weights=overall.shares)
        width = len(whole)
        pairs, index = np.unique(groups.owners * width + members[groups.codes], return_inverse=True)
        share = np.bincount(index, weights=groups.shares)
        excess = np.maximum(share - whole[pairs % width], 0.0)
        distance += np.bincount(pairs // width, weights=excess, minlength=len(groups))
    return distance / len(levels)
