"""People against classes, all columns at once: whose values each class may stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from discreet.attacks.locating.label_matches import LabelMatches


Numbers = NDArray[np.int64]
Pairs = tuple[Numbers, Numbers]

_CELLS = 2**24  # candidate pairs, or cells of a table, that are held in memory at once
_WORD = 64
_ROOM = 2**62  # packed keys stay below, so that 64 bits hold them


def match_people(people: Numbers, classes: Numbers, held: Sequence[LabelMatches]) -> Pairs:
    """Return the pairs (row of `people`, row of `classes`) that agree in every column.

    Classes are taken by which of their labels stand for one atom only: on those columns people and
    classes are joined by equality, on the others compared, by whichever way is less work.

    Args:
        people: The atoms of each person's values, a column each; -1 agrees with nothing.
        classes: The labels of each class, a column each.
        held: What the labels of each column stand for.
    """
    known = np.flatnonzero((people >= 0).all(axis=1))
    tables = [_Labels.of(one) for one in held]
    singles = np.stack([table.single[classes[:, j]] for j, table in enumerate(tables)], axis=1)
    patterns, group = np.unique(singles >= 0, axis=0, return_inverse=True)
    found: list[Pairs] = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    for index, pattern in enumerate(patterns):
        rows = np.flatnonzero(group.ravel() == index)
        part = _PatternPart(people[known], classes[rows], singles[rows], pattern, tables)
        found += [(known[firsts], rows[seconds]) for firsts, seconds in part.pairs()]
    firsts, seconds = (np.concatenate(side) for side in zip(*found, strict=True))
    return firsts, seconds


@dataclass(frozen=True)
class _Labels:
    """What the labels of one column hold: slices of atoms, in the order of labels and atoms."""

    atoms: int
    labels: int
    single: Numbers  # the only atom of a label, -1 for a label of several or none
    owners: Numbers
    first: Numbers
    last: Numbers

    @staticmethod
    def of(held: LabelMatches) -> _Labels:
        first, last = held.atom_slices
        order = np.lexsort((first, held.owners))
        owners, first, last = held.owners[order], first[order], last[order]
        counts = np.bincount(owners, weights=last - first, minlength=held.labels)
        single = np.full(held.labels, -1, np.int64)
        single[owners] = first
        single[counts != 1] = -1
        return _Labels(len(held.cuts) + 1, held.labels, single, owners, first, last)

    def hold(self, labels: Numbers, atoms: Numbers) -> NDArray[np.bool_]:
        """Return whether each label holds the atom beside it."""
        if not len(self.owners):
            return np.zeros(len(labels), np.bool_)
        width = self.atoms + 1
        starts = self.owners * width + self.first
        place = np.searchsorted(starts, labels * width + atoms, side="right") - 1
        return (place >= 0) & (self.owners[place] == labels) & (atoms < self.last[place])

    def bits(self, labels: Numbers) -> NDArray[np.uint64]:
        """Return for each atom a bit per label: whether the label holds the atom."""
        distinct, inverse = np.unique(labels, return_inverse=True)
        place = np.full(self.labels, -1, np.int64)
        place[distinct] = np.arange(len(distinct))
        wanted = place[self.owners] >= 0
        owners = place[self.owners[wanted]]
        steps = np.zeros((self.atoms + 1, len(distinct)), np.int8)
        np.add.at(steps, (self.first[wanted], owners), 1)
        np.add.at(steps, (self.last[wanted], owners), -1)
        held = np.cumsum(steps[:-1], axis=0, dtype=np.int8).astype(np.bool_)
        width = -(-len(labels) // _WORD) * _WORD
        wide = np.zeros((self.atoms, width), np.bool_)
        wide[:, : len(labels)] = held[:, inverse.ravel()]
        return np.packbits(wide, axis=1, bitorder="little").view(np.uint64)


@dataclass(frozen=True)
class _PatternPart:
    """People, and the classes whose labels stand for one atom in the columns of `pattern`."""

    people: Numbers
    classes: Numbers
    singles: Numbers
    pattern: NDArray[np.bool_]
    tables: Sequence[_Labels]

    def pairs(self) -> Iterator[Pairs]:
        """Yield the pairs that agree in every column."""
        equal, other = np.flatnonzero(self.pattern), np.flatnonzero(~self.pattern)
        if not len(equal):
            yield from self._by_bits()
            return
        runs = _Runs.of(self.people[:, equal], self.singles[:, equal])
        words = len(self.people) * len(self.classes) // _WORD * len(self.tables)
        if len(other) and runs.candidates > words:
            yield from self._by_bits()
            return
        for firsts, seconds in runs.pairs():
            kept = firsts, seconds
            for j in other.tolist():
                is_held = self.tables[j].hold(self.classes[kept[1], j], self.people[kept[0], j])
                kept = kept[0][is_held], kept[1][is_held]
            yield kept

    def _by_bits(self) -> Iterator[Pairs]:
        """Yield the pairs by a bit per pair, of which one operation compares 64."""
        atoms = max(table.atoms for table in self.tables)
        width = max(_WORD, min(4096, _CELLS // atoms) // _WORD * _WORD)
        height = max(1, 8 * _CELLS // width)
        for left in range(0, len(self.classes), width):
            labels = self.classes[left : left + width]
            bits = [table.bits(labels[:, j]) for j, table in enumerate(self.tables)]
            for top in range(0, len(self.people), height):
                people = self.people[top : top + height]
                agree = bits[0][people[:, 0]]
                for j in range(1, len(bits)):
                    agree &= bits[j][people[:, j]]
                firsts, seconds = _set_bits(agree)
                yield firsts + top, seconds + left


@dataclass(frozen=True)
class _Runs:
    """People and classes with equal keys, as runs of both in the order of keys."""

    people: Numbers  # rows, in the order of their keys
    starts: Numbers  # where the run of each class begins
    counts: Numbers

    @staticmethod
    def of(people: Numbers, classes: Numbers) -> _Runs:
        groups, size = _pack_keys(np.concatenate([people, classes]))
        order = np.argsort(groups[: len(people)], kind="stable")
        counts = np.bincount(groups[: len(people)], minlength=size)
        starts = np.cumsum(counts) - counts
        wanted = groups[len(people) :]
        return _Runs(order, starts[wanted], counts[wanted])

    @property
    def candidates(self) -> int:
        """The number of pairs with equal keys."""
        return int(self.counts.sum())

    def pairs(self) -> Iterator[Pairs]:
        """Yield the pairs with equal keys, so many at once as memory allows."""
        ends = np.cumsum(self.counts)
        edges = np.searchsorted(ends, np.arange(0, self.candidates, _CELLS), side="right")
        bounds = [*np.unique(edges).tolist(), len(self.counts)]
        for low, high in pairwise(bounds):
            counts = self.counts[low:high]
            seconds = np.repeat(np.arange(low, high), counts)
            offset = np.arange(len(seconds)) - np.repeat(np.cumsum(counts) - counts, counts)
            yield self.people[np.repeat(self.starts[low:high], counts) + offset], seconds


def _pack_keys(keys: Numbers) -> tuple[Numbers, int]:
    """Return a number from 0 for each different row of keys, and how many there are."""
    packed = np.zeros(len(keys), np.int64)
    size = 1
    for column in keys.T:
        radix = int(column.max(initial=0)) + 1
        if size * radix >= _ROOM:
            packed = np.unique(packed, return_inverse=True)[1]
            size = int(packed.max(initial=0)) + 1
        packed, size = packed * radix + column, size * radix
    distinct, groups = np.unique(packed, return_inverse=True)
    return groups, len(distinct)


def _set_bits(bits: NDArray[np.uint64]) -> Pairs:
    """Return rows and columns of the bits that are set."""
    rows, words = np.nonzero(bits)
    octets = np.ascontiguousarray(bits[rows, words]).view(np.uint8).reshape(-1, 8)
    places, offsets = np.nonzero(np.unpackbits(octets, axis=1, bitorder="little"))
    return rows[places], words[places] * _WORD + offsets
