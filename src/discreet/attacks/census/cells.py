"""The unknown is how many people have each record: for blocks of any size with few possible records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.census.block import Cell, CensusBlock, Where

MOST_ON_THE_WAY = 2_000_000  # records that are looked at before what is impossible is left out


class CellEncoding:
    """A count for every record that is possible; no two solutions are the same people in other order."""

    name = "cells"

    def __init__(self, block: CensusBlock, cells: NDArray[np.int32]) -> None:
        from ortools.sat.python import cp_model

        self.model: Any = cp_model.CpModel()
        self._sum: Any = cp_model.LinearExpr.weighted_sum
        self._cells = cells
        self._counts = [self.model.new_int_var(0, block.people, "") for _ in range(len(cells))]
        self._places = {tuple(map(int, cell)): place for place, cell in enumerate(cells)}
        self.model.add(sum(self._counts) == block.people)

    def weigh(self, where: Where, variable: int | None, weights: Sequence[int]) -> Any:
        """Return the sum over people of `where` of the weight of their value, 1 without a variable."""
        chosen = np.flatnonzero(matches(self._cells, where))
        if variable is None:
            given = np.ones(len(chosen), dtype=np.int64)
        else:
            given = np.array(weights, dtype=np.int64)[self._cells[chosen, variable]]
        chosen, given = chosen[given != 0], given[given != 0]
        return self._sum([self._counts[place] for place in chosen], given.tolist())

    def record(self, cell: Cell) -> Any:
        """Return how many people have this record."""
        return self._counts[self._places[cell]]

    def read(self, value: Callable[[Any], int]) -> Counter[Cell]:
        """Return the people that the solver found."""
        found = {cell: value(self._counts[place]) for cell, place in self._places.items()}
        return Counter({cell: count for cell, count in found.items() if count})


def possible_cells(block: CensusBlock, *, most: int) -> NDArray[np.int32] | None:
    """Return every record that the empty groups and cells leave possible; None if there are too many.

    Records are built variable by variable, and whatever is already impossible grows no further.
    """
    cells = np.zeros((1, 0), dtype=np.int32)
    for last, variable in enumerate(block.variables):
        width = len(variable.values)
        if len(cells) * width > MOST_ON_THE_WAY:
            return None
        values = np.tile(np.arange(width, dtype=np.int32), len(cells))
        cells = np.column_stack([np.repeat(cells, width, axis=0), values])
        cells = cells[_is_possible(block, cells, last)]
    return cells if len(cells) <= most else None


def matches(cells: NDArray[np.int32], where: Where) -> NDArray[np.bool_]:
    """Return which records are in a group."""
    found = np.ones(len(cells), dtype=np.bool_)
    for variable, places in where.items():
        found &= np.isin(cells[:, variable], places)
    return found


def _is_possible(block: CensusBlock, cells: NDArray[np.int32], last: int) -> NDArray[np.bool_]:
    """Return which records nothing that ends with the variable `last` excludes."""
    possible = np.ones(len(cells), dtype=np.bool_)
    for where in (*block.impossible, *(g.where for g in block.groups if g.count.high == 0)):
        if where and max(where) == last:
            possible &= ~matches(cells, where)
    for marginal in block.marginals:
        if max(marginal.variables) == last:
            listed = [cell for cell, held in marginal.cells.items() if held.high > 0]
            possible &= _is_listed(cells, marginal.variables, listed, block)
    return possible


def _is_listed(
    cells: NDArray[np.int32],
    variables: Sequence[int],
    listed: Sequence[tuple[int, ...]],
    block: CensusBlock,
) -> NDArray[np.bool_]:
    if not listed:
        return np.zeros(len(cells), dtype=np.bool_)
    widths = [len(block.variables[variable].values) for variable in variables]
    wanted = np.ravel_multi_index(np.array(listed, dtype=np.int64).T, widths)
    held = np.ravel_multi_index(cells[:, list(variables)].T.astype(np.int64), widths)
    return np.isin(held, wanted)
