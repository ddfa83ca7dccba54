"""The best cut of one ordered attribute into a number of ranges, all else as it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UnknownColumn, WrongUsage, did_you_mean
from discreet.release.anonymize.frequencies import label_rows, sum_by_label
from discreet.release.anonymize.problem import Problem
from discreet.release.anonymize.recoding import Recoding

# Every pair of cuts is a cell of a table that is held in memory.
MOST_VALUES = 4_000


def best_ranges(problem: Problem, attribute: str, *, ranges: int) -> Recoding:
    """Return the recoding of an ordered attribute into `ranges` ranges that makes k greatest.

    The other quasi-identifiers keep their values, each range holds a row at least, and a missing
    value is a class of its own. Among the cuts with the greatest k the one with the least loss
    counts, then the one whose last range begins first. `notes["k"]` is the k that is reached; the
    criteria of the problem are not looked at.

    Exact: k is found by bisection, and whether a k can be reached by dynamic programming over all
    ranges in which no group of the others has some rows but fewer than k.

    Raises:
        UnknownColumn: There is no such quasi-identifier.
        WrongUsage: The attribute is not ordered, has too few or too many values, or people have
            several rows.
    """
    index = _attribute_index(problem, attribute, ranges)
    chosen = problem.attributes[index]
    values = problem.table.codes[:, index].astype(np.int64)
    known = chosen.size - chosen.has_missing
    others, count = label_rows(
        [(np.zeros(len(values), dtype=np.int64), 1)]
        + [
            (problem.table.codes[:, j], other.size)
            for j, other in enumerate(problem.attributes)
            if j != index
        ]
    )
    present = values < known
    groups = _Groups(others[present], values[present], problem.table.rows[present], known)
    low, high = 1, int(groups.rows.sum())
    while low < high:  # the greatest k that some cut reaches: 1 always is
        middle = (low + high + 1) // 2
        if np.isfinite(_cheapest_ranges(groups, middle, ranges)[0]):
            low = middle
        else:
            high = middle - 1
    starts = _cheapest_ranges(groups, low, ranges)[1]
    return _recode_ranges(problem, index, starts, others=others, count=count)


def _attribute_index(problem: Problem, attribute: str, ranges: int) -> int:
    names = [one.name for one in problem.attributes]
    if attribute not in names:
        raise UnknownColumn(
            f"'{attribute}' is not a quasi-identifier.{did_you_mean(attribute, names)}"
        )
    chosen = problem.attributes[names.index(attribute)]
    known = chosen.size - chosen.has_missing
    if not chosen.is_range:
        raise WrongUsage(
            f"'{attribute}' cannot be cut into ranges: it is not ordered, or has a hierarchy. "
            "Name a column of numbers or dates without a hierarchy."
        )
    if not 1 <= ranges <= known:
        raise WrongUsage(
            f"'{attribute}' has {known:,} different values, so that it can be cut into 1 to "
            f"{known:,} ranges, not into {ranges:,}."
        )
    if known > MOST_VALUES:
        raise WrongUsage(
            f"'{attribute}' has {known:,} different values; best ranges are sought among "
            f"{MOST_VALUES:,} at most. Round it first."
        )
    if problem.table.people is not None:
        raise WrongUsage(
            "Best ranges count rows, and here people have several. Keep one row of each person."
        )
    return names.index(attribute)


class _Groups:
    """The rows of each group of the other attributes by value, sorted by group, then value."""

    def __init__(
        self,
        owners: NDArray[np.int64],
        values: NDArray[np.int64],
        rows: NDArray[np.int64],
        known: int,
    ) -> None:
        order = np.lexsort((values, owners))
        self.owners, self.values, self.rows = owners[order], values[order], rows[order]
        self.known = known
        weights = sum_by_label(self.values, self.rows, known)
        before = np.append(0, np.cumsum(weights))
        starts, ends = np.arange(known + 1)[:, None], np.arange(known + 1)
        widths = ends - starts - 1
        # What the range from a start to before an end loses, in rows times values too many.
        self.costs = np.where(widths >= 0, (before - before[:, None]) * widths, np.inf)

    def too_few(self, k: int) -> NDArray[np.bool_]:
        """Return, by start and end of a range, whether some group has from 1 to k - 1 rows in it."""
        first = np.append(True, self.owners[1:] != self.owners[:-1])
        previous = np.where(first, -1, np.append(-1, self.values[:-1]))
        cumulated = np.cumsum(self.rows)
        reached = np.searchsorted(cumulated, cumulated - self.rows + k)
        inside = np.minimum(reached, len(self.rows) - 1)
        enough = (reached < len(self.rows)) & (self.owners[inside] == self.owners)
        # A range that starts after the group's value before this one, and ends after this one but
        # before the one with which there are k, has too few.
        last = np.where(enough, self.values[inside], self.known)
        corners = np.zeros((self.known + 2, self.known + 2), dtype=np.int32)
        for start, sign in ((previous + 1, 1), (self.values + 1, -1)):
            np.add.at(corners, (start, self.values + 1), sign)
            np.add.at(corners, (start, last + 1), -sign)
        bad = corners.cumsum(axis=0, dtype=np.int32).cumsum(axis=1, dtype=np.int32) > 0
        return bad[: self.known + 1, : self.known + 1]


def _cheapest_ranges(groups: _Groups, k: int, ranges: int) -> tuple[float, NDArray[np.int64]]:
    """Return the least cost of a cut in which every group has no row or k, and its ranges' starts."""
    costs = np.where(groups.too_few(k), np.inf, groups.costs)
    best = costs[0]
    taken: list[NDArray[np.int64]] = []
    for _ in range(ranges - 1):
        sums = best[:, None] + costs
        taken.append(sums.argmin(axis=0))
        best = sums.min(axis=0)
    starts = [groups.known]
    for choice in reversed(taken):
        starts.append(int(choice[starts[-1]]))
    return float(best[-1]), np.array([0, *reversed(starts[1:])], dtype=np.int64)


def _recode_ranges(
    problem: Problem,
    index: int,
    starts: NDArray[np.int64],
    *,
    others: NDArray[np.int64],
    count: int,
) -> Recoding:
    attribute = problem.attributes[index]
    known = attribute.size - attribute.has_missing
    values = problem.table.codes[:, index].astype(np.int64)
    bounds = np.concatenate([starts, np.arange(known, attribute.size)])
    place = np.searchsorted(bounds, values, side="right") - 1
    lows = problem.table.codes.astype(np.int64)
    highs = lows.copy()
    lows[:, index] = bounds[place]
    highs[:, index] = np.append(bounds[1:], attribute.size)[place] - 1
    classes, found = label_rows([(others, count), (place, len(bounds))])
    members = np.empty(found, dtype=np.int64)
    members[classes] = np.arange(len(classes))
    sizes = sum_by_label(classes, problem.table.rows, found)
    notes = {"method": "best-ranges", "k": int(sizes.min()), "ranges": len(starts)}
    levels = np.zeros((found, len(problem.attributes)), dtype=np.int64)
    return Recoding(classes, levels, lows[members], highs[members], notes)
