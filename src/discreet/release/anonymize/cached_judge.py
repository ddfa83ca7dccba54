"""Whether sets of combinations may be classes, asked for a few of them at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.release.anonymize.frequencies import Frequencies, Histogram
from discreet.release.anonymize.judge import Judge


class CachedJudge:
    """A judge of a table who looks only at the combinations asked for.

    `is_simple` when only the number of rows counts, `k` of them; `takes_all` when every row that joins a
    class does it no harm.
    """

    def __init__(self, table: Frequencies, judge: Judge) -> None:
        self.table = table
        self.judge = judge
        self.k = judge.k
        self.takes_all = judge.is_absorbing
        self.is_simple = not judge.trials and table.people is None
        numbers = np.arange(len(table) + 1)
        self._starts = [np.searchsorted(one.owners, numbers) for one in table.histograms]
        if table.people is not None:
            self._people = np.searchsorted(table.people[0], numbers)

    def hold(self, groups: Sequence[NDArray[np.int64]]) -> NDArray[np.bool_]:
        """Return for each set of combinations whether it may be a class; none may be empty."""
        sizes = np.array([len(group) for group in groups])
        members = np.concatenate(groups)
        labels = np.repeat(np.arange(len(groups)), sizes)
        if self.is_simple:
            rows = np.bincount(labels, weights=self.table.rows[members], minlength=len(groups))
            return rows >= self.k
        return self.judge.holds(self._pick_members(members), labels, len(groups))

    def _pick_members(self, members: NDArray[np.int64]) -> Frequencies:
        table = self.table
        histograms: list[Histogram] = []
        for starts, one in zip(self._starts, table.histograms, strict=True):
            owners, entries = _member_entries(starts, members)
            units = None if one.units is None else one.units[entries]
            histograms.append(Histogram(owners, one.codes[entries], one.counts[entries], units))
        people = None
        if table.people is not None:
            owners, entries = _member_entries(self._people, members)
            people = (owners, table.people[1][entries])
        return Frequencies(table.codes[members], table.rows[members], tuple(histograms), people)


def _member_entries(
    starts: NDArray[np.int64], members: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the entries of each member one after another, and whose they are by position."""
    first, lengths = starts[members], starts[members + 1] - starts[members]
    owners = np.repeat(np.arange(len(members)), lengths)
    before = np.cumsum(lengths) - lengths
    return owners, np.arange(len(owners)) + (first - before)[owners]
