"""Combinations dealt into parts, and how wide each part is along each attribute."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.release.anonymize.frequencies import total

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.release.anonymize.attribute import Attribute
    from discreet.release.anonymize.frequencies import Frequencies


@dataclass(frozen=True)
class Axis:
    """An attribute with its values in an order in which every group of every level is a run.

    `groups[level, place]` and `losses[level, place]` are those of the value at a place; `known` is
    the number of values that are not missing, and a missing value of a range is last.
    """

    attribute: Attribute
    places: NDArray[np.int64]
    groups: NDArray[np.int64]
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
        levels = (self.groups[:, lows] != self.groups[:, highs]).sum(axis=0)
        return levels, self.losses[levels, lows]


def make_axis(attribute: Attribute) -> Axis:
    """Return the axis of an attribute; `places[code]` is where each of its values is."""
    order = np.arange(attribute.size)
    if not attribute.is_range:
        order = np.lexsort(attribute.groups)  # the last level sorts first
    places = np.empty(attribute.size, dtype=np.int64)
    places[order] = np.arange(attribute.size)
    return Axis(
        attribute,
        places,
        groups=np.stack(attribute.groups)[:, order],
        losses=np.stack(attribute.losses)[:, order],
        known=attribute.size - attribute.has_missing,
    )


@dataclass(frozen=True)
class Parts:
    """Combinations in parts: `labels` are from 0 to `count` - 1, and every part has some.

    `places[i, j]` is where combination i is on axis j. `ranks` order the combinations by their
    codes, whatever the order of the table.
    """

    table: Frequencies
    places: NDArray[np.int64]
    ranks: NDArray[np.int64]
    labels: NDArray[np.int64]
    count: int

    def take(self, chosen: NDArray[np.bool_]) -> Parts:
        """Return the parts where `chosen` is true, renumbered in their order."""
        if chosen.all():
            return self
        members = chosen[self.labels]
        return Parts(
            self.table.take(members),
            self.places[members],
            self.ranks[members],
            (np.cumsum(chosen) - 1)[self.labels[members]],
            int(chosen.sum()),
        )

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The number of rows of each part."""
        return total(self.labels, self.table.rows, self.count)

    @cached_property
    def runs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The combinations sorted by part, and where each part begins."""
        order = np.argsort(self.labels, kind="stable")
        return order, np.searchsorted(self.labels[order], np.arange(self.count))

    def bounds(self, axis: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the lowest and the highest place of each part on an axis."""
        order, first = self.runs
        places = self.places[order, axis]
        return np.minimum.reduceat(places, first), np.maximum.reduceat(places, first)
