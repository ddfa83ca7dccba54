"""Rows from a fitted table of which some columns are known: children of parents that were drawn before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.release.synthesize.fit import FittedTable
from discreet.release.synthesize.junction_tree import Columns, Floats

Rows = NDArray[np.int32]
# How many numbers the beliefs of the rows that are drawn together may have.
_MOST_NUMBERS = 1 << 22


def sample_rows_given(
    table: FittedTable, known: Mapping[int, NDArray[np.int32]], count: int, chance: Generator
) -> Rows:
    """Return `count` rows of working values, drawn from what the table says given the known columns.

    A row whose known values cannot occur together takes the other values that its cliques have alone.

    Args:
        table: The fitted table.
        known: The working values of each known column, one for each row.
        count: How many rows.
        chance: Where randomness comes from.
    """
    rows = np.zeros((count, len(table.tree.sizes)), np.int32)
    for column, values in known.items():
        rows[:, column] = values
    tree = _ConditionalTree(table, frozenset(known))
    step = max(1, _MOST_NUMBERS // tree.largest)
    for start in range(0, count, step):
        tree.draw_into(rows[start : start + step], chance)
    return rows


class _ConditionalTree:
    """A fitted table, one row of known values at a time in each line of its arrays."""

    def __init__(self, table: FittedTable, known: frozenset[int]) -> None:
        self._tree, self._known = table.tree, known
        self._chances = [
            _conditional_chances(belief, clique, shared)
            for belief, clique, shared in zip(
                table.beliefs, table.tree.cliques, table.tree.separators, strict=True
            )
        ]

    @property
    def largest(self) -> int:
        """The most numbers that one row has in one clique."""
        tree = self._tree
        return max(
            int(np.prod([tree.sizes[one] for one in self._unknown_columns(clique)], dtype=np.int64))
            for clique in tree.cliques
        )

    def draw_into(self, rows: Rows, chance: Generator) -> None:
        """Draw the unknown columns of rows whose known ones are there."""
        weights = [self._chances_given(place, rows) for place in range(len(self._tree.cliques))]
        for place in reversed(self._tree.order[1:]):
            self._send_upward(place, weights)
        drawn: set[int] = set()
        for place in self._tree.order:
            new = [
                one for one in self._unknown_columns(self._tree.cliques[place]) if one not in drawn
            ]
            if new:
                self._draw_clique(place, weights[place], rows, chance, drawn)
                drawn.update(new)

    def _unknown_columns(self, columns: Sequence[int]) -> Columns:
        return tuple(one for one in columns if one not in self._known)

    def _chances_given(self, place: int, rows: Rows) -> Floats:
        """Return, for each row, the chances of a clique's unknown columns."""
        clique = self._tree.cliques[place]
        fixed = [axis for axis, one in enumerate(clique) if one in self._known]
        free = [axis for axis, one in enumerate(clique) if one not in self._known]
        chances = np.transpose(self._chances[place], [*fixed, *free])
        if not fixed:
            return np.repeat(chances[None], len(rows), axis=0)
        return chances[tuple(rows[:, clique[axis]] for axis in fixed)]

    def _send_upward(self, place: int, weights: list[Floats]) -> None:
        """Multiply what the parent of a clique has by what the clique says about their shared columns."""
        tree, parent = self._tree, self._tree.parents[place]
        mine = self._unknown_columns(tree.cliques[place])
        shared = set(mine) & tree.separators[place]
        message = weights[place].sum(
            axis=tuple(1 + axis for axis, one in enumerate(mine) if one not in shared)
        )
        largest = message.reshape(len(message), -1).max(axis=1)
        # Known values that cannot occur together say nothing.
        message[largest <= 0] = 1
        largest[largest <= 0] = 1
        above = self._unknown_columns(tree.cliques[parent])
        shape = [tree.sizes[one] if one in shared else 1 for one in above]
        lines = (len(message), *(1 for _ in message.shape[1:]))
        weights[parent] = weights[parent] * (message / largest.reshape(lines)).reshape(-1, *shape)

    def _draw_clique(
        self, place: int, weights: Floats, rows: Rows, chance: Generator, drawn: set[int]
    ) -> None:
        columns = self._unknown_columns(self._tree.cliques[place])
        old = [axis for axis, one in enumerate(columns) if one in drawn]
        new = [axis for axis, one in enumerate(columns) if one not in drawn]
        lines = np.arange(len(rows))
        ordered = np.transpose(weights, [0, *(1 + axis for axis in (*old, *new))])
        chances = ordered[(lines, *(rows[:, columns[axis]] for axis in old))]
        sizes = [self._tree.sizes[columns[axis]] for axis in new]
        codes = _draw_lines(
            chances.reshape(len(rows), -1), self._chances_alone(place, columns, new), chance
        )
        for axis, size in zip(reversed(new), reversed(sizes), strict=True):
            rows[:, columns[axis]] = codes % size
            codes //= size

    def _chances_alone(self, place: int, columns: Columns, new: Sequence[int]) -> Floats:
        """Return the chances of the new columns of a clique when nothing else is known."""
        kept = {columns[axis] for axis in new}
        return self._chances[place].sum(axis=self._tree.other_axes(place, kept)).ravel()


def _conditional_chances(belief: Floats, clique: Columns, shared: frozenset[int]) -> Floats:
    """Return the chances of a clique's values given those that it shares with its parent."""
    axes = tuple(axis for axis, one in enumerate(clique) if one not in shared)
    total = belief.sum(axis=axes, keepdims=True)
    return np.divide(belief, total, out=np.zeros_like(belief), where=total > 0)


def _draw_lines(chances: Floats, alone: Floats, chance: Generator) -> NDArray[np.int64]:
    """Return one value for each line of `chances`; a line without any takes one of `alone`."""
    chances = np.where(chances.sum(axis=1, keepdims=True) > 0, chances, alone)
    steps = np.cumsum(chances, axis=1)
    points = chance.random(len(chances))[:, None] * steps[:, -1:]
    found = (steps <= points).sum(axis=1)
    last = chances.shape[1] - 1 - np.argmax(chances[:, ::-1] > 0, axis=1)
    return np.minimum(found, last).astype(np.int64)
