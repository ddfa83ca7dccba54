"""Nested resolutions of a column: few coarse values first, then finer ones, chosen from noisy counts."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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


def choose_resolutions(
    frequencies: Floats,
    counts: Floats,
    *,
    scale: float,
    is_ordered: bool,
    caps: Sequence[int],
) -> Resolutions:
    """Return nested resolutions with at most `caps` codes, coarse to fine.

    Ordered values are cut at the median of the heaviest interval, again and again. Of unordered values
    the most frequent ones are kept apart, and those that noise hides are merged.

    Args:
        frequencies: The share of each value, from noisy counts.
        counts: The noisy count of each value.
        scale: The standard error of a count.
        is_ordered: Whether neighboring values belong together.
        caps: How many codes each level may have.
    """
    if is_ordered:
        maps = _cut_intervals(frequencies, caps)
    else:
        kept = int((counts > _NOTICEABLE * scale).sum()) + 1
        most = min(max(2, kept), len(frequencies))
        maps = _keep_frequent(frequencies, [min(cap, most) for cap in caps])
    finest = maps[-1]
    size = int(finest.max()) + 1
    levels: list[Codes] = []
    for codes in maps:
        level = np.zeros(size, np.intp)
        level[finest] = codes
        levels.append(level)
    return Resolutions(finest, tuple(levels), tuple(int(one.max()) + 1 for one in levels))


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


def _keep_frequent(frequencies: Floats, caps: Sequence[int]) -> list[Codes]:
    ranks = np.empty(len(frequencies), np.intp)
    ranks[np.argsort(-frequencies, kind="stable")] = np.arange(len(frequencies))
    return [np.minimum(ranks, cap - 1) for cap in caps]


def _cut_intervals(frequencies: Floats, caps: Sequence[int]) -> list[Codes]:
    cumulated = np.concatenate([[0.0], np.cumsum(frequencies)])
    cuts: list[int] = []
    heap = [(-cumulated[-1], 0, len(frequencies))]
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
