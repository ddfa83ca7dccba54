"""Noisy counts of single columns; one of very many values is also counted at a coarser public level.

Without that, a list of thousands of codes would take most of what all columns have, and the noise of its
rare values, added up, would hide even its chapters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.dp.spending import ZcdpSpending, divide_budget
from discreet.release.synthesize.junction_tree import Codes, Floats
from discreet.release.synthesize.resolutions import ColumnShape, project_on_simplex

# A column's share of the budget grows with its values up to so many.
MOST_WEIGHED = 1_024
# A column of more values than that is also counted at its finest public level of at most so many codes.
_MOST_COARSE = 512
# A value among many is kept apart if its noisy count exceeds so many standard errors.
_NOTICEABLE = 3


@dataclass(frozen=True)
class ColumnLook:
    """Noisy counts of one column.

    Attributes:
        counts: Of each value.
        scale: The standard error of each.
        groups: The coarse code of each value, where these were counted, too.
        totals: The noisy count of each coarse code.
        total_scale: The standard error of each of these.
    """

    counts: Floats
    scale: float
    groups: Codes | None = None
    totals: Floats | None = None
    total_scale: float = 0.0

    @property
    def coarse_scale(self) -> float:
        """The standard error of a value's count in sums of whole groups."""
        if self.groups is None or self.totals is None:
            return self.scale
        return self.total_scale * math.sqrt(len(self.totals) / len(self.counts))


def coarse_groups(shape: ColumnShape) -> Codes | None:
    """Return the coarse codes at which a column is counted besides its values; None for most columns."""
    if shape.size <= MOST_WEIGHED or shape.is_ordered:
        return None
    fitting = [
        np.unique(one, return_inverse=True)[1].reshape(-1).astype(np.intp) for one in shape.levels
    ]
    fitting = [one for one in fitting if 1 < int(one.max()) + 1 <= _MOST_COARSE]
    return max(fitting, key=lambda one: int(one.max()), default=None)


def column_scales(
    shapes: Sequence[ColumnShape], allowance: ZcdpSpending, price: Fraction
) -> list[float]:
    """Return the standard error of a count of one value of each column, if all of them cost `price`."""
    shares = _divide_price(shapes, [coarse_groups(one) for one in shapes], allowance, price)
    return [allowance.scale(fine) for fine, _ in shares]


def look_at_columns(
    exact: Sequence[NDArray[np.int64]],
    shapes: Sequence[ColumnShape],
    allowance: ZcdpSpending,
    price: Fraction,
) -> list[ColumnLook]:
    """Return noisy counts of each column; all of them together cost `price`."""
    groups = [coarse_groups(one) for one in shapes]
    looks: list[ColumnLook] = []
    for counts, codes, (fine, coarse) in zip(
        exact, groups, _divide_price(shapes, groups, allowance, price), strict=True
    ):
        noisy, scale = allowance.measure(counts, fine), allowance.scale(fine)
        if codes is None:
            looks.append(ColumnLook(noisy, scale))
            continue
        sums = np.zeros(int(codes.max()) + 1, np.int64)
        np.add.at(sums, codes, counts)
        totals = allowance.measure(sums, coarse)
        looks.append(ColumnLook(noisy, scale, codes, totals, allowance.scale(coarse)))
    return looks


def combine_looks(looks: Sequence[ColumnLook]) -> ColumnLook:
    """Return what several looks at one column say, each weighted by its precision."""
    counts, scale = _average_looks([(one.counts, one.scale) for one in looks])
    groups = looks[0].groups
    if groups is None:
        return ColumnLook(counts, scale)
    totals, total_scale = _average_looks(
        [(one.totals, one.total_scale) for one in looks if one.totals is not None]
    )
    # Least squares: a group's total from both, and the difference shared by its values.
    sizes = np.bincount(groups)
    sums = np.bincount(groups, weights=counts)
    fine, coarse = 1 / (sizes * scale**2), 1 / total_scale**2
    settled = (sums * fine + totals * coarse) / (fine + coarse)
    return ColumnLook(
        counts + ((settled - sums) / sizes)[groups], scale, groups, settled, total_scale
    )


def settle_frequencies(look: ColumnLook, total: float) -> Floats:
    """Return the share of each value: nothing negative, and 1 in all.

    Within a coarse group, values that noise hides are merged: they share what the others leave.
    """
    if look.groups is None or look.totals is None:
        return project_on_simplex(look.counts, total) / total
    settled = np.zeros(len(look.counts))
    totals = project_on_simplex(look.totals, total)
    order = np.argsort(look.groups, kind="stable")
    ends = np.cumsum(np.bincount(look.groups))[:-1]
    for members, amount in zip(np.split(order, ends), totals, strict=True):
        if amount > 0:
            settled[members] = _divide_group(look.counts[members], float(amount), look.scale)
    return settled / total


def _divide_group(counts: Floats, amount: float, scale: float) -> Floats:
    is_kept = counts > _NOTICEABLE * scale
    kept = float(counts[is_kept].sum())
    settled = np.zeros(len(counts))
    if is_kept.any() and (is_kept.all() or kept >= amount):
        settled[is_kept] = project_on_simplex(counts[is_kept], amount)
        return settled
    settled[is_kept] = counts[is_kept]
    settled[~is_kept] = (amount - kept) / int((~is_kept).sum())
    return settled


def _divide_price(
    shapes: Sequence[ColumnShape],
    groups: Sequence[Codes | None],
    allowance: ZcdpSpending,
    price: Fraction,
) -> list[tuple[Fraction, Fraction]]:
    """Return what each column pays for its values, and for its coarse codes."""
    sizes = [
        one.size if codes is None else min(one.size, MOST_WEIGHED)
        for one, codes in zip(shapes, groups, strict=True)
    ]
    coarse = [int(codes.max()) + 1 for codes in groups if codes is not None]
    shares = divide_budget(price, [size**allowance.power for size in (*sizes, *coarse)])
    others = iter(shares[len(sizes) :])
    return [
        (fine, Fraction(0) if codes is None else next(others))
        for fine, codes in zip(shares, groups, strict=False)
    ]


def _average_looks(looks: Sequence[tuple[Floats, float]]) -> tuple[Floats, float]:
    precisions = [1 / scale**2 for _, scale in looks]
    weighted = [
        counts * precision for (counts, _), precision in zip(looks, precisions, strict=True)
    ]
    return np.sum(weighted, axis=0) / sum(precisions), 1 / math.sqrt(sum(precisions))
