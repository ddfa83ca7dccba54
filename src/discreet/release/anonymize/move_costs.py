"""Classes that combinations move between, and what every move would cost, kept up to date."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.release.anonymize.frequencies import sum_by_label
from discreet.release.anonymize.label_cost import Space

# Attributes are looked up together while their joint values are at most so many.
_JOINT = 256


class MoveCosts:
    """Combinations in classes, with tables of what each class's label costs when a value joins.

    For each attribute, or few small ones together, a table holds what the label of each class (a
    column) costs after each value (a row) joined, so that one combination's cost of joining any
    class is a sum of few rows. A class that changes has its columns written anew.

    `losses` is what a row of each class loses, `rows` how many rows it has, `totals` their product.
    """

    def __init__(
        self, space: Space, members: NDArray[np.int64], classes: NDArray[np.int64], count: int
    ) -> None:
        """Put `members`, combinations of the space, into classes 0 … `count` - 1, or into none."""
        self.space = space
        self.table_members = members
        self.places = space.places[members]
        rows = space.rows[members]
        self.row_weights = rows.astype(np.float64)
        self.weights: list[float] = self.row_weights.tolist()
        self.classes = classes.copy()
        kept = np.flatnonzero(classes >= 0)
        order = kept[np.argsort(classes[kept], kind="stable")]
        starts = np.searchsorted(classes[order], np.arange(count + 1))
        self.members: list[list[int]] = [
            order[low:high].tolist() for low, high in pairwise(starts.tolist())
        ]
        self.rows = sum_by_label(classes[kept], rows[kept], count).astype(np.float32)
        self.lows = np.minimum.reduceat(self.places[order], starts[:-1], axis=0)
        self.highs = np.maximum.reduceat(self.places[order], starts[:-1], axis=0)
        self._parts = space.parts(self.lows, self.highs)
        self.losses = self._parts.sum(axis=1)
        self.totals = self.losses * self.rows
        self._joints = _join(space.sizes)
        self._tables = [self._cost_table(joint) for joint in self._joints]
        entries = self._look_up()
        self._entries: list[list[int]] = entries.tolist()
        self._columns = [column.copy() for column in entries.T]

    @property
    def score(self) -> float:
        """The loss of all rows together."""
        return float(self.totals.sum(dtype=np.float64))

    def joining(self, member: int, own: int | None = None) -> NDArray[np.float32]:
        """Return by how much the total grows when a combination joins each class but its own."""
        entries = self._entries[member]
        costs = self._tables[0][entries[0]].copy()
        for table, entry in zip(self._tables[1:], entries[1:], strict=True):
            costs += table[entry]
        costs *= self.rows + np.float32(self.weights[member])
        costs -= self.totals
        if own is not None:
            costs[own] = np.inf
        return costs

    def label_with(self, members: list[int], others: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return what the label of some members loses when each of the others joins them."""
        places = self.places[members]
        low, high = places.min(axis=0), places.max(axis=0)
        own = self.space.parts(low, high)
        found = np.zeros(len(others), dtype=np.float32)
        for joint, entries in zip(self._joints, self._columns, strict=True):
            found += self._join_columns(joint, low, high, own)[entries[others]]
        return found

    def without_each(self, own: int) -> NDArray[np.float32]:
        """Return what a row of a class would lose if each of its members, at least 2, left."""
        return self.space.without_each(self.table_members[self.members[own]]).sum(axis=1)

    def join(self, member: int, target: int) -> None:
        """Put a combination into a class, too; it leaves no other by that."""
        self.members[target].append(member)
        np.minimum(self.lows[target], self.places[member], out=self.lows[target])
        np.maximum(self.highs[target], self.places[member], out=self.highs[target])
        self._write(target)

    def set_members(self, target: int, members: list[int]) -> None:
        """Make these the members of a class; one without members stays empty."""
        self.members[target] = members
        if not members:
            self.rows[target] = self.losses[target] = self.totals[target] = 0
            for table in self._tables:
                table[:, target] = np.inf
            return
        places = self.places[members]
        self.lows[target], self.highs[target] = places.min(axis=0), places.max(axis=0)
        self._write(target)

    def settle(self, targets: Sequence[int]) -> None:
        """Note the class of every member of these classes."""
        for target in targets:
            self.classes[self.members[target]] = target

    def _write(self, target: int) -> None:
        own = self.space.parts(self.lows[target], self.highs[target])
        self._parts[target] = own
        self.losses[target] = own.sum()
        self.rows[target] = sum(self.weights[member] for member in self.members[target])
        self.totals[target] = self.losses[target] * self.rows[target]
        for table, joint in zip(self._tables, self._joints, strict=True):
            table[:, target] = self._join_columns(joint, self.lows[target], self.highs[target], own)

    def _join_columns(
        self,
        joint: Sequence[int],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
        own: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """Return what a label loses on some attributes together when each of their values joins."""
        found = np.zeros(1, dtype=np.float32)
        for j in joint:
            spread = self.space.label_costs[j]
            column = np.maximum(spread.pairs[low[j]], own[j])
            if spread.is_range:
                np.maximum(column, spread.pairs[high[j]], out=column)
            found = (found[:, None] + column).ravel()
        return found

    def _cost_table(self, joint: Sequence[int]) -> NDArray[np.float32]:
        found = np.zeros((1, len(self.rows)), dtype=np.float32)
        for j in joint:
            spread = self.space.label_costs[j]
            # `take`, as indexing would lay the columns out one after another, and rows are read.
            single = np.maximum(spread.pairs.take(self.lows[:, j], axis=1), self._parts[:, j])
            if spread.is_range:
                np.maximum(single, spread.pairs.take(self.highs[:, j], axis=1), out=single)
            found = (found[:, None] + single[None, :]).reshape(-1, len(self.rows))
        return np.ascontiguousarray(found)

    def _look_up(self) -> NDArray[np.int64]:
        """Return the row of each table that each combination looks at."""
        entries = np.zeros((len(self.places), len(self._joints)), dtype=np.int64)
        for index, joint in enumerate(self._joints):
            for j in joint:
                entries[:, index] = entries[:, index] * self.space.sizes[j] + self.places[:, j]
        return entries


def _join(sizes: NDArray[np.int64]) -> list[list[int]]:
    """Return attributes put together such that few tables stay small; larger ones stay alone."""
    joints: list[list[int]] = []
    products: list[int] = []
    for j in np.argsort(-sizes, kind="stable").tolist():
        size = int(sizes[j])
        fitting = [i for i, product in enumerate(products) if product * size <= _JOINT]
        if fitting:
            # The fullest that still fits, so that the others stay open for larger ones.
            best = max(fitting, key=lambda i: products[i])
            joints[best].append(j)
            products[best] *= size
        else:
            joints.append([j])
            products.append(size)
    return joints
