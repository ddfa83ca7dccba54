"""Rows of several releases with the values that they share, as numbers that mean the same in all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from discreet.arrow import ArrowArray, pc
from discreet.attacks.locating.locate import KnownCombinations, Located, locate
from discreet.attacks.releases.intersection import text_values
from discreet.engines.engine import ArrowTable, Table
from discreet.policy.hierarchy import Hierarchy
from discreet.sql import build

Integers = NDArray[np.int64]

# A column joins two releases where at least this share of the rows of one has values of the other.
LEAST_COMMON = 0.5


@dataclass(frozen=True)
class ReleaseRows:
    """The different rows of a release, by class, and which classes may be whose.

    Row r is there `counts[r]` times and has the code `values[column][r]` in a shared column. The rows
    of class c are `starts[c]` to `starts[c + 1]`; entry i says that `people[i]` may be in
    `classes[i]`.
    """

    starts: Integers
    counts: Integers
    values: Mapping[str, Integers]
    people: Integers
    classes: Integers

    def work(self, people: int) -> Integers:
        """Return how many rows may be each person's."""
        sizes = np.diff(self.starts)[self.classes]
        return np.bincount(self.people, weights=sizes, minlength=people).astype(np.int64)

    def of(self, first: int, last: int) -> tuple[Integers, Integers]:
        """Return (person, row) for every row that may belong to the people from `first` to `last`."""
        low, high = np.searchsorted(self.people, [first, last])
        people, classes = self.people[low:high], self.classes[low:high]
        sizes = self.starts[classes + 1] - self.starts[classes]
        begins = np.cumsum(sizes) - sizes
        offsets = np.arange(int(sizes.sum())) - np.repeat(begins, sizes)
        return np.repeat(people, sizes), np.repeat(self.starts[classes], sizes) + offsets


@dataclass(frozen=True)
class Joined:
    """Releases whose rows can be joined: `keys[a, b]` numbers a's rows by what a and b share.

    Equal numbers in `keys[a, b]` and `keys[b, a]` are equal values; a pair of releases that share no
    column is not listed. `texts` are the values behind the codes of each column. `strange` are columns,
    with the place of the release, whose values are written otherwise there: nothing can be joined by
    them.
    """

    releases: Sequence[ReleaseRows]
    keys: Mapping[tuple[int, int], Integers]
    texts: Mapping[str, ArrowArray]
    strange: Sequence[tuple[int, str]] = ()

    def codes(self, column: str, values: ArrowArray) -> Integers:
        """Return the codes of values of a column, -1 for one that no release has."""
        found = pc.index_in(text_values(values), value_set=self.texts[column])
        return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)

    def shares(self, column: str) -> NDArray[np.float64]:
        """Return the share of each value of a column among the rows of all releases with it."""
        size = len(self.texts[column])
        counts = np.sum(
            [
                np.bincount(one.values[column], weights=one.counts, minlength=size)
                for one in self.releases
                if column in one.values
            ],
            axis=0,
        )
        return counts / max(float(counts.sum()), 1.0)

    def batches(self, people: int, *, most: int) -> Iterator[tuple[int, int]]:
        """Return ranges of people whose rows in all releases together are not many."""
        work = np.sum([one.work(people) for one in self.releases], axis=0)
        blocks = np.cumsum(work) // most
        edges = [0, *(np.flatnonzero(np.diff(blocks)) + 1).tolist(), people]
        yield from ((a, b) for a, b in pairwise(edges) if a < b)


def join_releases(
    known: KnownCombinations,
    releases: Sequence[Table],
    *,
    on: Mapping[str, str],
    shared: Sequence[str],
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Joined:
    """Find known people in each release by the columns of `on` that it has, and read its rows.

    `shared` are the columns whose values are read, where a release has them.
    """
    located: list[Located] = []
    names: list[list[str]] = []
    for one in releases:
        found_by = {mine: name for mine, name in on.items() if one.column(name) is not None}
        names.append([name for name in shared if one.column(name) is not None])
        located.append(locate(known, one, on=found_by, members=names[-1], hierarchies=hierarchies))
    tables = [
        one.known.engine.run(_members_query(one, len(own)))
        for one, own in zip(located, names, strict=True)
    ]
    values = [
        {name: text_values(_combine_chunks(table[f"m{i}"])) for i, name in enumerate(own)}
        for table, own in zip(tables, names, strict=True)
    ]
    texts = {
        name: pa.concat_arrays([own[name] for own in values if name in own]).unique().sort()
        for name in shared
    }
    coded = [{name: _text_positions(own[name], texts[name]) for name in own} for own in values]
    counts = [table["rows"].to_numpy().astype(np.int64) for table in tables]
    strange = _find_strange_columns(coded, counts)
    coded = [
        {name: codes for name, codes in own.items() if (place, name) not in strange}
        for place, own in enumerate(coded)
    ]
    rows = [_build_release_rows(*parts) for parts in zip(located, tables, coded, strict=True)]
    return Joined(rows, _join_keys(coded), texts, strange)


def _find_strange_columns(
    coded: Sequence[Mapping[str, Integers]], counts: Sequence[Integers]
) -> list[tuple[int, str]]:
    """Return the columns of later places that have hardly a value of the first release that has them.

    A column that was generalized in one release and kept in the other has labels here and values
    there: no row would have a partner, and it would seem as if no one could be found.
    """
    found: list[tuple[int, str]] = []
    for name in {name: None for own in coded for name in own}:
        first, *others = [place for place, own in enumerate(coded) if name in own]
        for place in others:
            fits = np.isin(coded[place][name], coded[first][name])
            if counts[place][fits].sum() < LEAST_COMMON * counts[place].sum():
                found.append((place, name))
    return found


def _build_release_rows(
    located: Located, table: ArrowTable, values: Mapping[str, Integers]
) -> ReleaseRows:
    owners = table["class"].to_numpy().astype(np.int64) - 1
    query = build.select(build.column("person"), build.column("class"), source=located.pairs.copy())
    found = located.known.engine.run(build.order_nulls_last(query, [build.column("person")]))
    people, classes = (found[name].to_numpy().astype(np.int64) - 1 for name in ("person", "class"))
    count = max(int(owners.max(initial=-1)), int(classes.max(initial=-1))) + 1
    starts = np.searchsorted(owners, np.arange(count + 1))
    return ReleaseRows(starts, table["rows"].to_numpy().astype(np.int64), values, people, classes)


def _members_query(located: Located, columns: int) -> exp.Select:
    wanted = ("class", *(f"m{index}" for index in range(columns)), "rows")
    query = build.select(*map(build.column, wanted), source=located.members.copy())
    return build.order_nulls_last(query, [build.column("class")])


def _join_keys(coded: Sequence[Mapping[str, Integers]]) -> dict[tuple[int, int], Integers]:
    found: dict[tuple[int, int], Integers] = {}
    for a, b in combinations(range(len(coded)), 2):
        names = [name for name in coded[a] if name in coded[b]]
        if not names:
            continue
        keys = np.zeros(sum(len(coded[one][names[0]]) for one in (a, b)), dtype=np.int64)
        for name in names:
            codes = np.concatenate([coded[a][name], coded[b][name]])
            _, keys = np.unique(keys * (int(codes.max()) + 1) + codes, return_inverse=True)
        middle = len(coded[a][names[0]])
        found[a, b], found[b, a] = keys[:middle], keys[middle:]
    return found


def _text_positions(values: ArrowArray, texts: ArrowArray) -> Integers:
    return pc.index_in(values, value_set=texts).to_numpy(zero_copy_only=False).astype(np.int64)


def _combine_chunks(column: ArrowArray) -> ArrowArray:
    return pa.chunked_array(column).combine_chunks()
