"""The criteria for a search: which groups of combinations may be published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.criteria.criterion import Criterion, PopulationCriterion, SensitiveCriterion
from discreet.criteria.histograms import Overall
from discreet.release.anonymize.frequencies import Frequencies, Histogram

if TYPE_CHECKING:
    from discreet.release.anonymize.frequencies import Frequencies


@dataclass(frozen=True)
class Judge:
    """The criteria of one table, tested on any grouping of its combinations.

    Its criteria are those of `measure`, so that what is enforced is what is measured afterwards.
    `columns[i]` is the sensitive column of the histogram at i, `overalls[i]` its distribution.
    """

    criteria: tuple[Criterion, ...]
    columns: tuple[str, ...] = ()
    overalls: tuple[Overall, ...] = ()
    has_units: bool = False
    trials: tuple[tuple[int, SensitiveCriterion], ...] = field(init=False)

    def __post_init__(self) -> None:
        found = [
            (self.columns.index(criterion.column), criterion)
            for criterion in self.criteria
            if isinstance(criterion, SensitiveCriterion)
        ]
        object.__setattr__(self, "trials", tuple(found))

    @cached_property
    def k(self) -> int:
        """The least number of people in a class that any criterion requires; 1 when none does."""
        return max([1, *(c.least_people(has_units=self.has_units) for c in self.criteria)])

    @cached_property
    def population(self) -> tuple[PopulationCriterion, ...]:
        """The criteria that compare a class with its population."""
        return tuple(c for c in self.criteria if isinstance(c, PopulationCriterion))

    @cached_property
    def is_monotone(self) -> bool:
        """Whether merging classes that all hold gives classes that hold.

        If people have several rows, a merged class may have fewer people than its parts together,
        and shares may grow.
        """
        return self.is_absorbing or (
            not self.has_units and all(criterion.is_monotone for criterion in self.criteria)
        )

    @cached_property
    def is_absorbing(self) -> bool:
        """Whether a class that holds still does after any row joins it."""
        return all(criterion.is_absorbing for criterion in self.criteria)

    def holds(self, table: Frequencies, labels: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
        """Return, for each of `count` groups of the table's combinations, whether it may be a class.

        `labels` gives the group of each combination. Criteria about a population are not tested
        here: they depend on what the class is called.
        """
        sizes = table.sizes(labels, count)
        held = sizes >= self.k
        for index, criterion in self.trials:
            if not held.any():
                break
            numbers = np.cumsum(held) - 1
            chosen = held[labels]
            some = table.take(chosen) if not chosen.all() else table
            groups = some.groups(
                index, numbers[labels[chosen]], int(numbers[-1]) + 1, sizes=sizes[held]
            )
            scores = criterion.measure.score(groups, self.overalls[index])
            held[held] = criterion.holds(groups, scores)
        return held


def holds_as_one(judge: Judge, table: Frequencies) -> bool:
    """Return whether all of `table` taken as one class meets the criteria."""
    if not len(table):
        return True
    return bool(judge.holds(table, np.zeros(len(table), dtype=np.int64), 1)[0])


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
