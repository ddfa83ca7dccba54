"""t-closeness: how far each class's sensitive values are from the whole table's.

Earth-mover distance with three ground distances (Li, Li & Venkatasubramanian 2007), each computed
from the values a class has, never from the whole domain per class: classes are many and small.
Every kernel returns one number in [0, 1] per class; the level of a table is the largest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from discreet.criteria.criterion import (
    TOLERANCE,
    Missing,
    Need,
    Parameter,
    SensitiveCriterion,
    lost_by_mixture,
)
from discreet.errors import Bug
from discreet.registry import CriterionSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.criteria.histograms import ClassHistograms, Measure, Overall

Distance = Literal["equal", "ordered", "hierarchical"]


@dataclass(frozen=True)
class TCloseness(SensitiveCriterion):
    """Every class is within earth-mover distance `t` of the table (Li, Li & Venkatasubramanian 2007).

    >>> TCloseness("salary", t=0.2, distance="ordered").name
    't-closeness'
    """

    name: ClassVar[str] = "t-closeness"
    is_relative: ClassVar[bool] = True
    needs: ClassVar[Mapping[str, Need]] = {"ordered": "order", "hierarchical": "hierarchy"}
    t: Annotated[float, Parameter("The largest earth-mover distance.", at_least=0, at_most=1)]
    distance: Annotated[Distance, Parameter("How far two values are apart.")] = "equal"

    @property
    def is_vacuous(self) -> bool:
        """Whether every distance will do."""
        return self.t >= 1

    def make_measure(self) -> Measure:
        """Return the measure of its distance."""
        return closeness_measure(self.distance, missing=self.missing)

    def holds(self, groups: ClassHistograms, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which classes are close enough."""
        del groups
        return scores <= self.t + TOLERANCE

    def lost_share(self, scores: NDArray[np.float64]) -> NDArray[np.float64] | float:
        """Return the share that must go: the distance is convex."""
        return lost_by_mixture(scores, self.t)


def closeness_measure(distance: Distance, *, missing: Missing = "unknown") -> Measure:
    """Return the measure of a distance."""
    from discreet.criteria.measures import measure_distance

    kernels = {"equal": equal, "ordered": ordered, "hierarchical": hierarchical}
    return measure_distance(distance, kernels[distance], missing=missing)


def equal(groups: ClassHistograms, overall: Overall) -> NDArray[np.float64]:
    """Return the variational distance: all values are equally far apart.

    Half the sum of |p - q| equals the sum of p - q where p > q, and p > q only where a class has
    the value at all.
    """
    import numpy as np

    excess = np.maximum(groups.shares - overall.shares[groups.codes], 0.0)
    return np.add.reduceat(excess, groups.first)


def ordered(groups: ClassHistograms, overall: Overall) -> NDArray[np.float64]:
    """Return the distance between neighbours in an order of m values being 1 / (m - 1).

    The sum over all values i of |P(i) - Q(i)|, P and Q cumulated, is split at the values the class
    has: between two of them P stands still while Q grows, so one binary search and two prefix sums
    give that stretch.
    """
    import numpy as np

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
    import numpy as np

    crossing = np.clip(np.searchsorted(q, level), begins, ends)
    below = level * (crossing - begins) - (prefix[crossing] - prefix[begins])
    above = (prefix[ends] - prefix[crossing]) - level * (ends - crossing)
    return below + above


def hierarchical(groups: ClassHistograms, overall: Overall) -> NDArray[np.float64]:
    """Return the distance of two values being the level at which they meet over the height.

    That ground distance is a tree metric whose edges all weigh 1 / (2 height), so the earth-mover
    distance is the mean, over the levels below the top, of the variational distance at that level.
    """
    import numpy as np

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


SPEC = CriterionSpec(
    TCloseness,
    summary="Every class is within distance t of the table.",
    option="t",
    option_summary="t-closeness: 0.2, or salary=ordered:0.2.",
    examples=("0.2", "salary=ordered:0.2"),
    metavar="T",
    position=40,
)
