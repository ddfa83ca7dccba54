"""Nested resolutions of a column: few coarse values first, then finer ones, chosen from noisy counts."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.release.synthesize.fit import sum_coarse
from discreet.release.synthesize.junction_tree import Codes, Floats

# A value is kept apart if its noisy count exceeds so many standard errors.
_NOTICEABLE = 3


@dataclass(frozen=True)
class Resolutions:
    """How coarsely a column can be seen.

    Attributes:
        finest: The finest code of each value of the column.
        levels: For each level, coarse to fine, the level's code of each finest code.
        sizes: How many codes each level has.
    """

    finest: Codes
    levels: tuple[Codes, ...]
    sizes: tuple[int, ...]

    def onto(self, working: int, level: int) -> Codes:
        """Return the code at `level` of each code at the finer level `working`."""
        codes = np.zeros(self.sizes[working], np.intp)
        codes[self.levels[working]] = self.levels[level]
        return codes

    def of_values(self, level: int) -> Codes:
        """Return the code at `level` of each value of the column."""
        return self.levels[level][self.finest]


@dataclass(frozen=True)
class ColumnShape:
    """What is public about the values of a column.

    Attributes:
        size: How many values it has.
        is_ordered: Whether neighboring values belong together.
        levels: Coarser codes of the values, nested; none where noisy counts decide.
        has_missing: Whether the last value means that it is missing.
    """

    size: int
    is_ordered: bool
    levels: tuple[Codes, ...] = ()
    has_missing: bool = False


def choose_resolutions(
    frequencies: Floats,
    counts: Floats,
    *,
    scale: float,
    shape: ColumnShape,
    caps: Sequence[int],
) -> Resolutions:
    """Return nested resolutions with at most `caps` codes, coarse to fine.

    Ordered values are cut at the median of the heaviest interval, again and again; a missing value stays
    apart. Of unordered values the most frequent ones are kept apart, and those that noise hides are
    merged. Where public levels are given, the finest one within each cap is taken, and only values of
    the coarsest one are cut or merged further.

    Args:
        frequencies: The share of each value, from noisy counts.
        counts: The noisy count of each value.
        scale: The standard error of a count.
        shape: What is public about the column.
        caps: How many codes each level may have.
    """
    public = _number_levels(shape.levels)
    if not public:
        return _nest_maps(_split_values(frequencies, counts, scale, shape, caps))
    base, size = public[0], int(public[0].max()) + 1
    split = _split_values(
        sum_coarse(frequencies, [base], [size]),
        sum_coarse(counts, [base], [size]),
        scale * float(np.sqrt(len(base) / size)),
        ColumnShape(size, shape.is_ordered and bool((np.diff(base) >= 0).all())),
        caps,
    )
    public.append(np.arange(shape.size))
    maps: list[Codes] = []
    for cap, codes in zip(caps, split, strict=True):
        fitting = [one for one in public if int(one.max()) < cap]
        maps.append(fitting[-1] if fitting else codes[base])
    return _nest_maps(maps)


def project_on_simplex(counts: Floats, total: float) -> Floats:
    """Return the nearest counts that are not negative and add up to `total`.

    >>> import numpy as np
    >>> project_on_simplex(np.array([5.0, -1.0]), 4.0)
    array([4., 0.])
    """
    descending = np.sort(counts)[::-1]
    excess = (np.cumsum(descending) - total) / np.arange(1, len(counts) + 1)
    kept = int(np.nonzero(descending > excess)[0][-1])
    return np.maximum(counts - excess[kept], 0)


def _number_levels(levels: Sequence[Codes]) -> list[Codes]:
    """Return levels with more than one code, coarse to fine, their codes numbered by first value."""
    numbered: list[Codes] = []
    for one in levels:
        _, first, codes = np.unique(one, return_index=True, return_inverse=True)
        ranks = np.empty(len(first), np.intp)
        ranks[np.argsort(first)] = np.arange(len(first))
        if len(first) > 1:
            numbered.append(ranks[codes.reshape(-1)])
    return sorted(numbered, key=lambda one: int(one.max()))


def _nest_maps(maps: Sequence[Codes]) -> Resolutions:
    finest = maps[-1]
    size = int(finest.max()) + 1
    levels: list[Codes] = []
    for codes in maps:
        level = np.zeros(size, np.intp)
        level[finest] = codes
        levels.append(level)
    return Resolutions(finest, tuple(levels), tuple(int(one.max()) + 1 for one in levels))


def _split_values(
    frequencies: Floats, counts: Floats, scale: float, shape: ColumnShape, caps: Sequence[int]
) -> list[Codes]:
    """Return for each cap a code of each value, by noisy counts."""
    is_noticeable = counts > _NOTICEABLE * scale
    if shape.is_ordered:
        has_missing = shape.has_missing and bool(is_noticeable[-1])
        return _cut_intervals(frequencies, caps, has_missing=has_missing)
    most = min(max(2, int(is_noticeable.sum()) + 1), len(frequencies))
    return _keep_frequent(frequencies, [min(cap, most) for cap in caps])


def _keep_frequent(frequencies: Floats, caps: Sequence[int]) -> list[Codes]:
    ranks = np.empty(len(frequencies), np.intp)
    ranks[np.argsort(-frequencies, kind="stable")] = np.arange(len(frequencies))
    return [np.minimum(ranks, cap - 1) for cap in caps]


def _cut_intervals(frequencies: Floats, caps: Sequence[int], *, has_missing: bool) -> list[Codes]:
    """Return codes of intervals; the last value is cut off first where it means missing."""
    cumulated = np.concatenate([[0.0], np.cumsum(frequencies)])
    end = len(frequencies) - 1 if has_missing and len(frequencies) > 1 else len(frequencies)
    cuts: list[int] = [end] if end < len(frequencies) else []
    heap = [(-cumulated[end], 0, end)]
    while heap and len(cuts) + 1 < max(caps):
        weight, start, end = heapq.heappop(heap)
        if end - start < 2 or weight >= 0:
            continue
        middle = _median_cut(cumulated, start, end)
        cuts.append(middle)
        for first, last in ((start, middle), (middle, end)):
            heapq.heappush(heap, (cumulated[first] - cumulated[last], first, last))
    maps: list[Codes] = []
    for cap in caps:
        marks = np.zeros(len(frequencies), np.intp)
        marks[cuts[: cap - 1]] = 1
        maps.append(np.cumsum(marks))
    return maps


def _median_cut(cumulated: Floats, start: int, end: int) -> int:
    """Return the place within an interval that divides its weight most evenly."""
    half = (cumulated[start] + cumulated[end]) / 2
    place = int(np.clip(np.searchsorted(cumulated, half), start + 1, end - 1))
    is_nearer = place - 1 > start and half - cumulated[place - 1] < cumulated[place] - half
    return place - 1 if is_nearer else place
