"""Moments of a design and a number: exact sums from counts of the engine, measured with noise as one vector."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.dp.spending import RowChange
from discreet.learning.design import UNIT, Design, scale_numbers
from discreet.learning.training import Counts, Training

Floats = NDArray[np.float64]
_TARGET_WEIGHT = 2  # sums with the target count so many times, as their noise matters more


@dataclass(frozen=True)
class Moments:
    """Sums over rows whose target is there, with noise; numbers are scaled to -1 … 1.

    Attributes:
        rows: The number of rows.
        sums: Of what each coefficient is multiplied with.
        products: Of products of two of these.
        target_sum: Of the target.
        target_products: Of products with the target.
        target_squares: Of squares of the target.
        scale: The standard error of sums and products, and of the number of rows.
        target_scale: The standard error of sums with the target.
        is_noisy: Which products have noise; others are 0 by design.
    """

    rows: float
    sums: Floats
    products: Floats
    target_sum: float
    target_products: Floats
    target_squares: float
    scale: float
    target_scale: float
    is_noisy: NDArray[np.bool_]


def measure_moments(training: Training, design: Design, price: Fraction) -> Moments:
    """Return the noisy moments of the design and the target.

    Guarantee: that of `training.spending` for `price`. Each code has one coefficient, and multiplies it with at
    most `UNIT` in whole numbers, as does the target. So a row changes one product of each pair of features,
    one of each feature with itself, the sum of each scale, the number of rows and the sum of squares by at most
    `UNIT²` each, and one product of each feature with the target and the sum of the target by at most
    `_TARGET_WEIGHT` times that.
    """
    exact = _sum_exactly(training, design)
    spans, columns = design.spans, design.columns
    pairs = list(itertools.combinations(range(len(columns)), 2))
    scales = [place for place, one in enumerate(columns) if one.is_scale]
    parts = [
        np.array([exact.rows * UNIT**2, exact.target_squares], exact.products.dtype),
        *(exact.products[spans[a], spans[b]].ravel() for a, b in pairs),
        *(np.diag(exact.products[span, span]) for span in spans),
        *(exact.sums[spans[place].start : spans[place].start + 1] * UNIT for place in scales),
        _TARGET_WEIGHT * np.append(exact.target_products, exact.target_sum * UNIT),
    ]
    others, weighted = 2 + len(pairs) + len(columns) + len(scales), len(columns) + 1
    change = RowChange(
        (others + weighted * _TARGET_WEIGHT) * UNIT**2,
        (others + weighted * _TARGET_WEIGHT**2) * UNIT**4,
    )
    spending = training.spending
    noisy = spending.measure(np.concatenate(parts), price, change=change) / UNIT**2
    scale = spending.scale(price, change=change) / UNIT**2
    found = np.split(noisy, np.cumsum([len(one) for one in parts])[:-1])
    return _assemble_moments(design, found, scale)


def _assemble_moments(design: Design, found: list[Floats], scale: float) -> Moments:
    """Return the moments of what was measured, in the order in which it was."""
    spans, columns = design.spans, design.columns
    products = np.zeros((design.size, design.size))
    is_noisy = np.eye(design.size, dtype=bool)
    sums = np.zeros(design.size)
    parts = iter(found)
    rows, squares = next(parts)
    for a, b in itertools.combinations(range(len(columns)), 2):
        shape = columns[a].size, columns[b].size
        products[spans[a], spans[b]] = next(parts).reshape(shape)
        products[spans[b], spans[a]] = products[spans[a], spans[b]].T
        is_noisy[spans[a], spans[b]] = is_noisy[spans[b], spans[a]] = True
    for span in spans:
        own = next(parts)
        products[span, span] = np.diag(own)
        sums[span] = own  # what counts as 0 or 1 is its own square
    for column, span in zip(columns, spans, strict=True):
        if column.is_scale:
            sums[span.start] = next(parts)[0]
    with_target = next(parts) / _TARGET_WEIGHT
    return Moments(
        float(rows),
        sums,
        products,
        float(with_target[-1]),
        with_target[:-1],
        float(squares),
        scale,
        scale / _TARGET_WEIGHT,
        is_noisy,
    )


@dataclass(frozen=True)
class _ExactMoments:
    """Whole numbers of counted units times `UNIT` for each factor."""

    rows: int
    sums: Counts
    products: Counts
    target_sum: int
    target_products: Counts
    target_squares: int


def _sum_exactly(training: Training, design: Design) -> _ExactMoments:
    """Return exact sums, from counts of levels; rows whose target is missing are left out."""
    place, columns, spans = training.target_place, design.columns, design.spans
    levels = [one.levels for one in columns]
    size = training.space.sizes[place]
    values = scale_target(training)
    is_missing = np.zeros(size, np.intp)
    is_missing[-1] = 1
    pairs = list(itertools.combinations(range(place), 2))
    counted = training.counts.count([(a, b, place) for a, b in pairs], [*levels, is_missing])
    by_target = training.counts.count(
        [(one, place) for one in range(place)], [*levels, np.arange(size)]
    )
    counted, by_target = widen_counts(counted), widen_counts(by_target)
    kind = by_target[0].dtype
    products = np.zeros((design.size, design.size), kind)
    target_products, sums = np.zeros(design.size, kind), np.zeros(design.size, kind)
    for column, span, counts in zip(columns, spans, by_target, strict=True):
        by_level = counts[:, :-1].sum(axis=1)
        sums[span] = column.matrix.T @ by_level
        products[span, span] = (column.matrix.T * by_level) @ column.matrix
        target_products[span] = column.matrix.T @ (counts[:, :-1] @ values)
    for (a, b), counts in zip(pairs, counted, strict=True):
        block = columns[a].matrix.T @ counts[:, :, 0] @ columns[b].matrix
        products[spans[a], spans[b]] = block
        products[spans[b], spans[a]] = block.T
    alone = by_target[0][:, :-1].sum(axis=0)
    return _ExactMoments(
        int(alone.sum()),
        sums,
        products,
        int(alone @ values),
        target_products,
        int(alone @ values**2),
    )


def widen_counts(counts: list[Counts]) -> list[Counts]:
    """Return counts as whole numbers of any size where sums of products of them could exceed 64 bits.

    Wrapped around, a sum would change by more than one row does. All counts are of the same rows.
    """
    most = max((int(one.sum()) for one in counts), default=0)
    if most * _TARGET_WEIGHT * UNIT**2 < 1 << 62:
        return counts
    return [one.astype(object) for one in counts]


def scale_target(training: Training) -> Counts:
    """Return what each code of the target stands for, from -1 to 1 in whole parts of `UNIT`; no missing one."""
    scaled = scale_numbers(training.space.target_numbers)
    return np.round(scaled * UNIT).astype(np.int64)
