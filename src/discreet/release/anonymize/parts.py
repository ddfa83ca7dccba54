"""Combinations dealt into parts, and how wide each part is along each attribute."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.release.anonymize.attribute import CodedAttribute
from discreet.release.anonymize.frequencies import Frequencies, renumber_keys, sum_by_label


@dataclass(frozen=True)
class Axis:
    """An attribute with its values in an order in which every group of every level is a run.

    `places[code]` is where a value is; `starts[level, place]` is where the group of the value at a
    place begins, and `losses[level, place]` what its label loses. `known` is the number of values
    that are not missing; in a range, a missing value is last.
    """

    attribute: CodedAttribute
    places: NDArray[np.int64]
    starts: NDArray[np.int64]
    losses: NDArray[np.float64]
    known: int

    def label(
        self, lows: NDArray[np.int64], highs: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return level and loss of the narrowest labels that cover the places from low to high."""
        if self.attribute.is_range:
            widths = (highs - lows + 1).astype(np.float64)
            losses = self.attribute.loss_of(widths * self.attribute.leaf)
            losses[(lows < self.known) & (highs >= self.known)] = 1.0
            return np.zeros(len(lows), dtype=np.int64), losses
        # Runs nest, so that all between two places are in the group that holds both.
        levels = np.zeros(len(lows), dtype=np.int64)
        for starts in self.starts:
            levels += starts[lows] != starts[highs]
        return levels, self.losses[levels, lows]


def make_axis(attribute: CodedAttribute) -> Axis:
    """Return the axis of an attribute."""
    order = np.arange(attribute.size)
    if not attribute.is_range:
        order = np.lexsort(attribute.groups)  # the last level sorts first
    places = np.empty(attribute.size, dtype=np.int64)
    places[order] = np.arange(attribute.size)
    groups = np.stack(attribute.groups)[:, order]
    begins = np.diff(groups, axis=1, prepend=-1) != 0
    starts = np.maximum.accumulate(np.where(begins, np.arange(attribute.size), 0), axis=1)
    return Axis(
        attribute,
        places,
        starts=starts,
        losses=np.stack(attribute.losses)[:, order],
        known=attribute.size - attribute.has_missing,
    )


@dataclass(frozen=True)
class Partition:
    """Combinations in parts: `labels` are from 0 to `count` - 1, and every part has some.

    `places` is where each combination is on one axis, or has a row for each axis. `ranks` order the
    combinations by their codes, for any order of the table.
    """

    table: Frequencies
    places: NDArray[np.int64]
    ranks: NDArray[np.int64]
    labels: NDArray[np.int64]
    count: int

    def along(self, axis: int) -> Partition:
        """Return the parts with the places on one axis only."""
        return replace(self, places=self.places[axis])

    def take(self, chosen: NDArray[np.bool_]) -> Partition:
        """Return the parts where `chosen` is true, renumbered in their order."""
        if chosen.all():
            return self
        members = chosen[self.labels]
        return Partition(
            self.table.take(members),
            self.places[..., members],
            self.ranks[members],
            (np.cumsum(chosen) - 1)[self.labels[members]],
            int(chosen.sum()),
        )

    def split(self, sides: NDArray[np.int64]) -> Partition:
        """Return parts that are cut into the given sides, in the order of parts, then sides."""
        width = int(sides.max(initial=0)) + 1
        labels, count = renumber_keys(self.labels * width + sides, self.count * width)
        return replace(self, labels=labels, count=count)

    def of_each(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each part the value that all its combinations share."""
        found = np.empty(self.count, dtype=np.int64)
        found[self.labels] = values
        return found

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The number of rows of each part."""
        return sum_by_label(self.labels, self.table.rows, self.count)

    @cached_property
    def bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The lowest and the highest place of each part on the axis."""
        lows = np.full(self.count, np.iinfo(np.int64).max)
        highs = np.full(self.count, -1, dtype=np.int64)
        np.minimum.at(lows, self.labels, self.places)
        np.maximum.at(highs, self.labels, self.places)
        return lows, highs

    def by_place(self, places: NDArray[np.int64]) -> Partition:
        """Return each part split by other places, which are within its bounds, in their order."""
        lows, highs = self.bounds
        # Parts side by side, each as wide as it is: a short line even if the axis is long.
        ends = np.cumsum(highs - lows + 1)
        keys = (ends - highs - 1)[self.labels] + places
        labels, count = renumber_keys(keys, int(ends[-1]) if self.count else 0)
        return replace(self, labels=labels, count=count)
