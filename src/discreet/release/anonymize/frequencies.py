"""The distinct combinations of quasi-identifiers with their counts: all that any search looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.measure.classes import ClassHistograms

# A table of this many slots per entry is filled quicker than the entries are sorted.
_DENSE = 8
_KEY_LIMIT = 2**62


@dataclass(frozen=True)
class Histogram:
    """The values of one sensitive column: entry i is `counts[i]` rows of combination `owners[i]`.

    Entries are sorted by owner, then code. With units there is an entry for each different
    (combination, value, person), and counts are 1.
    """

    owners: NDArray[np.int64]
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    units: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Frequencies:
    """Distinct combinations: the codes of each, its rows, its people, its sensitive values.

    `codes[i, j]` is the code of combination i on attribute j. With units, `people` lists the
    different (combination, person) pairs, sorted; without, each row is a person.
    """

    codes: NDArray[np.int32]
    rows: NDArray[np.int64]
    histograms: tuple[Histogram, ...] = ()
    people: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, chosen: NDArray[np.bool_]) -> Frequencies:
        """Return the combinations where `chosen` is true, with all that belongs to them."""
        numbers = np.cumsum(chosen) - 1
        people = None
        if self.people is not None:
            kept = chosen[self.people[0]]
            people = (numbers[self.people[0][kept]], self.people[1][kept])
        return Frequencies(
            codes=self.codes[chosen],
            rows=self.rows[chosen],
            histograms=tuple(
                _take_entries(histogram, chosen, numbers) for histogram in self.histograms
            ),
            people=people,
        )

    def merge(self, labels: NDArray[np.int64], count: int) -> Frequencies:
        """Return the table in which all combinations with the same label are one.

        `labels` are from 0 to `count` - 1, each held by a combination. The merged combination has
        the codes of one of its members, so it means something only on levels where they agree.
        """
        representative = np.empty(count, dtype=np.int64)
        representative[labels[::-1]] = np.arange(len(self))[::-1]
        people = None
        if self.people is not None:
            people = _distinct_pairs(labels[self.people[0]], self.people[1])
        return Frequencies(
            # A table that was merged at a node of the lattice has no codes of its own.
            codes=self.codes[representative] if len(self.codes) else self.codes,
            rows=sum_by_label(labels, self.rows, count),
            histograms=tuple(_merge(one, labels, count) for one in self.histograms),
            people=people,
        )

    def sizes(self, labels: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """Return the number of people behind each label."""
        if self.people is None:
            return sum_by_label(labels, self.rows, count)
        owners, _ = _distinct_pairs(labels[self.people[0]], self.people[1])
        return np.bincount(owners, minlength=count)

    def groups(
        self, index: int, labels: NDArray[np.int64], count: int, *, sizes: NDArray[np.int64]
    ) -> ClassHistograms:
        """Return each label as a class with its histogram of the sensitive column at `index`.

        Every label must have an entry there.
        """
        merged = _merge(self.histograms[index], labels, count)
        owners, codes, counts = merged.owners, merged.codes, merged.counts
        if merged.units is not None:  # a person counts once for each value
            changed = np.flatnonzero(_find_changes(owners) | _find_changes(codes))
            counts = np.diff(np.append(changed, len(owners)))
            owners, codes = owners[changed], codes[changed]
        starts = np.searchsorted(owners, np.arange(count + 1))
        return ClassHistograms(np.arange(count)[:, None], starts, codes, counts, sizes)


def sum_by_label(
    labels: NDArray[np.int64], weights: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """Return the sum of `weights` for each label; sums below 2**53 are exact."""
    return np.bincount(labels, weights=weights, minlength=count).astype(np.int64)


def renumber_keys(keys: NDArray[np.int64], bound: int) -> tuple[NDArray[np.int64], int]:
    """Return `keys`, all below `bound`, renumbered from 0 in their order, and how many there are."""
    if not len(keys):  # whatever the bound: none of the ways below has a last place to read then
        return keys.astype(np.int64, copy=True), 0
    if bound <= _DENSE * len(keys) + 1024:
        seen = np.zeros(bound, dtype=np.int64)
        seen[keys] = 1
        places = np.cumsum(seen)
        return places[keys] - 1, int(places[-1])
    bits = len(keys).bit_length()
    if bound >= _KEY_LIMIT >> bits:
        known, labels = np.unique(keys, return_inverse=True)
        return labels.astype(np.int64, copy=False), len(known)
    # Sorting one packed number is twice as quick as sorting places by their keys.
    packed = (keys << bits) | np.arange(len(keys))
    packed.sort()
    places = np.cumsum(_find_changes(packed >> bits))
    labels = np.empty(len(keys), dtype=np.int64)
    labels[packed & ((1 << bits) - 1)] = places - 1
    return labels, int(places[-1])


def label_rows(columns: Sequence[tuple[NDArray[Any], int]]) -> tuple[NDArray[np.int64], int]:
    """Return one label for each row of several columns of codes, and how many labels there are.

    Rows with the same codes share a label, and labels are in the order of the codes, whatever other
    rows there are. `columns` are pairs of codes and the number that bounds them.
    """
    keys, bound = np.zeros(len(columns[0][0]), dtype=np.int64), 1
    for codes, cardinality in columns:
        if cardinality <= 1:
            continue
        if bound * cardinality >= _KEY_LIMIT:
            keys, bound = renumber_keys(keys, bound)
        keys = keys * cardinality + codes
        bound *= cardinality
    return renumber_keys(keys, bound)


def _take_entries(
    histogram: Histogram, chosen: NDArray[np.bool_], numbers: NDArray[np.int64]
) -> Histogram:
    kept = chosen[histogram.owners]
    return Histogram(
        owners=numbers[histogram.owners[kept]],
        codes=histogram.codes[kept],
        counts=histogram.counts[kept],
        units=None if histogram.units is None else histogram.units[kept],
    )


def _merge(histogram: Histogram, labels: NDArray[np.int64], count: int) -> Histogram:
    owners, codes = labels[histogram.owners], histogram.codes
    cardinality = int(codes.max(initial=-1)) + 1
    if histogram.units is not None:
        order = np.lexsort((histogram.units, codes, owners))
        owners, codes, units = owners[order], codes[order], histogram.units[order]
        first = _find_changes(owners) | _find_changes(codes) | _find_changes(units)
        owners, codes, units = owners[first], codes[first], units[first]
        return Histogram(owners, codes, np.ones(len(owners), dtype=np.int64), units)
    keys, bound = owners * cardinality + codes, count * cardinality
    if bound <= _DENSE * len(keys) + 1024:
        dense = np.bincount(keys, weights=histogram.counts, minlength=bound)
        held = np.flatnonzero(dense > 0)
        counts = dense[held].astype(np.int64)
    else:
        held, places = np.unique(keys, return_inverse=True)
        counts = sum_by_label(places, histogram.counts, len(held))
    owners = held // max(cardinality, 1)  # with the product, many times quicker than divmod
    codes = held - owners * cardinality
    return replace(histogram, owners=owners, codes=codes, counts=counts)


def _distinct_pairs(
    owners: NDArray[np.int64], units: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = np.lexsort((units, owners))
    owners, units = owners[order], units[order]
    first = _find_changes(owners) | _find_changes(units)
    return owners[first], units[first]


def _find_changes(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return where a value differs from the one before it; the first always does."""
    return np.concatenate([[True] * (len(values) > 0), values[1:] != values[:-1]]).astype(np.bool_)
