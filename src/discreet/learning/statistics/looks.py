"""What a statistic measures: whole-number sums over rows, with how much a row changes each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.dp.spending import ONE_CELL, RowChange
from discreet.learning.statistics.grid import Grid
from discreet.learning.training import TrainingCounts

Codes = NDArray[np.int64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """One vector that is measured.

    Attributes:
        name: How it is found afterwards.
        shape: Its shape.
        change: How much a row changes it.
        weight: Its share of the price, beside those of the other parts.
    """

    name: str
    shape: tuple[int, ...]
    change: RowChange = ONE_CELL
    weight: float = 1.0


class Look(Protocol):
    """What is measured of the coded rows of a table."""

    @property
    def parts(self) -> Sequence[Part]:
        """The vectors that are measured, each with its own noise."""
        ...

    def sum_rows(self, counts: TrainingCounts) -> Sequence[Counts]:
        """Return the exact vectors, in the order of `parts`; they stay where noise is added."""
        ...

    def to_content(self) -> Any:
        """Return all of it in plain values: equal looks at equal columns are paid once."""
        ...


@dataclass(frozen=True)
class CellAxis:
    """How the codes of one column become cells.

    Attributes:
        place: The place of the column among those that are coded.
        cells: The cell of each code; -1 where rows do not count, as those without a value.
    """

    place: int
    cells: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many cells there are."""
        return max(self.cells) + 1


@dataclass(frozen=True)
class CellLook:
    """Counts of rows in the cells of a table of some columns.

    Guarantee: a row is in at most one cell, so that it changes the vector by at most 1 in either norm.
    """

    axes: tuple[CellAxis, ...]
    name: str = "cells"
    weight: float = 1.0

    @property
    def parts(self) -> Sequence[Part]:
        """One vector: the cells."""
        return [Part(self.name, tuple(axis.size for axis in self.axes), weight=self.weight)]

    def sum_rows(self, counts: TrainingCounts) -> Sequence[Counts]:
        """Return the counts of the cells."""
        found = counts.count([tuple(axis.place for axis in self.axes)], None)[0]
        for place, axis in enumerate(self.axes):
            found = merge_cells(found, place, axis)
        return [found]

    def to_content(self) -> Any:
        """Return all of it in plain values."""
        return {"cells": [[axis.place, list(axis.cells)] for axis in self.axes]}


@dataclass(frozen=True)
class LevelsLook:
    """Several tables of the same rows, such as counts of narrow and of wide ranges.

    Guarantee: that of each table, which has its own share of the price.
    """

    looks: tuple[CellLook, ...]

    @property
    def parts(self) -> Sequence[Part]:
        """A vector for each table."""
        return [part for look in self.looks for part in look.parts]

    def sum_rows(self, counts: TrainingCounts) -> Sequence[Counts]:
        """Return the counts of each table."""
        return [one for look in self.looks for one in look.sum_rows(counts)]

    def to_content(self) -> Any:
        """Return all of it in plain values."""
        return {"levels": [look.to_content() for look in self.looks]}


@dataclass(frozen=True)
class GroupLook:
    """Number of rows, sum and centered squares of a number, in each group.

    Guarantee: a unit u of the grid is at most `most` from 0, so that a row, which is in one group, changes the
    sums of u by at most `most`, and those of 2u² - most² by at most most², in either norm.

    Attributes:
        grid: The number.
        place: The place of its column.
        axes: The columns whose cells are groups.
        weights: The shares of rows, sums and squares; what has none is not measured.
    """

    grid: Grid
    place: int
    axes: tuple[CellAxis, ...]
    weights: tuple[float, float, float] = (0.35, 0.45, 0.2)

    @property
    def parts(self) -> Sequence[Part]:
        """Rows, sums and squares, of those that have a share."""
        most, shape = self.grid.most, tuple(axis.size for axis in self.axes)
        rows, sums, squares = self.weights
        found = [
            Part("rows", shape, weight=rows),
            Part("sums", shape, RowChange(most, most**2), sums),
            Part("squares", shape, RowChange(most**2, most**4), squares),
        ]
        return [part for part in found if part.weight > 0]

    def sum_rows(self, counts: TrainingCounts) -> Sequence[Counts]:
        """Return the exact sums in each group."""
        found = counts.count([(*(axis.place for axis in self.axes), self.place)], None)[0]
        for place, axis in enumerate(self.axes):
            found = merge_cells(found, place, axis)
        held = found[..., : len(self.grid.steps)]
        units = self.grid.units
        weights = [np.ones_like(units), units, 2 * units**2 - self.grid.most**2]
        return [
            sum_exactly(held, one)
            for one, share in zip(weights, self.weights, strict=True)
            if share > 0
        ]

    def to_content(self) -> Any:
        """Return all of it in plain values."""
        axes = [[axis.place, list(axis.cells)] for axis in self.axes]
        return {"groups": axes, "number": self.place, "weights": list(self.weights)}


@dataclass(frozen=True)
class MomentLook:
    """Number of rows, sums, centered squares and products of several numbers, over rows that have all of them.

    Guarantee: units are at most `most` from 0, so that a row changes a sum by at most its `most`, a sum of
    centered squares by at most its square, and a sum of products by at most the product of both, each a
    vector of one number.

    The engine counts rows by the sum of the cells of one column or of two; products follow from squares of such
    sums, in whole numbers.
    """

    grids: tuple[Grid, ...]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The places of every two numbers."""
        count = len(self.grids)
        return [(first, second) for first in range(count) for second in range(first + 1, count)]

    @property
    def parts(self) -> Sequence[Part]:
        """A vector of one number for each moment."""
        most = [grid.most for grid in self.grids]
        bounds = [one * one for one in most]
        bounds += [most[first] * most[second] for first, second in self.pairs]
        squares = [f"square{place}" for place in range(len(most))]
        products = [f"product{first}-{second}" for first, second in self.pairs]
        sums = [Part(f"sum{i}", (1,), RowChange(one, one**2)) for i, one in enumerate(most)]
        others = [
            Part(name, (1,), RowChange(one, one**2))
            for name, one in zip([*squares, *products], bounds, strict=True)
        ]
        return [Part("rows", (1,)), *sums, *others]

    @property
    def missing(self) -> int:
        """The code of missing values in every column: a sum that has it is larger than all others."""
        return 2 * max(int(grid.steps.max()) + 1 for grid in self.grids)

    def sum_rows(self, counts: TrainingCounts) -> Sequence[Counts]:
        """Return the exact moments."""
        alone = [self._count_sums(counts, (place,)) for place in range(len(self.grids))]
        cells = np.arange(self.missing - 1)
        first = [int(sum_exactly(one, cells)) for one in alone]
        second = [int(sum_exactly(one, cells**2)) for one in alone]
        rows = int(alone[0].sum())
        made = [rows]
        for grid, one in zip(self.grids, first, strict=True):
            made.append(2 * one - grid.most * rows)
        for grid, one, two in zip(self.grids, first, second, strict=True):
            squared = 4 * two - 4 * grid.most * one + grid.most**2 * rows
            made.append(2 * squared - grid.most**2 * rows)
        for a, b in self.pairs:
            both = int(sum_exactly(self._count_sums(counts, (a, b)), cells**2))
            product = (both - second[a] - second[b]) // 2
            left, right = self.grids[a].most, self.grids[b].most
            crossed = right * first[a] + left * first[b]
            made.append(4 * product - 2 * crossed + left * right * rows)
        return [np.array([one], object) for one in made]

    def _count_sums(self, counts: TrainingCounts, places: tuple[int, ...]) -> Counts:
        """Return how many rows have each sum of the cells of some columns, among rows that have all columns."""
        absent = self.missing
        weights: list[Counts] = []
        for place, grid in enumerate(self.grids):
            held = np.zeros(len(grid.steps), np.int64)
            if place in places:
                held = grid.steps
            # Where cells are codes, no weight needs to be looked up: the engine adds codes.
            is_plain = place in places and np.array_equal(held, np.arange(len(held)))
            filled = np.arange(absent + 1) if is_plain else np.zeros(absent + 1, np.int64)
            filled[: len(held)] = held
            filled[absent] = absent
            weights.append(filled)
        return counts.count_scored(weights, list(range(1, absent)), [()])[0].reshape(-1)[:-1]

    def to_content(self) -> Any:
        """Return all of it in plain values."""
        return {"moments": len(self.grids)}


def merge_cells(counts: Counts, axis: int, merged: CellAxis) -> Counts:
    """Return counts whose codes along one axis are put into cells; rows that do not count are left out."""
    moved = np.moveaxis(counts, axis, 0)
    cells = np.array(merged.cells)
    counted = cells >= 0
    found = np.zeros((merged.size, *moved.shape[1:]), np.int64)
    np.add.at(found, cells[counted], moved[: len(cells)][counted])
    return np.moveaxis(found, 0, axis)


def sum_exactly(counts: Counts, weights: Counts) -> NDArray[Any]:
    """Return the sums of weights over counted rows, in whole numbers of any size.

    >>> int(sum_exactly(np.array([2**40, 1]), np.array([2**30, 1])))
    1180591620717411303425
    """
    if int(np.abs(weights).max(initial=0)) * int(counts.sum()) < 1 << 62:
        return counts @ weights
    return counts.astype(object) @ weights.astype(object)


def keep_values(place: int, size: int) -> CellAxis:
    """Return an axis with a cell for each of `size` codes; missing values, the next code, do not count."""
    return CellAxis(place, (*range(size), -1))


def content_of_parts(parts: Sequence[Part]) -> Mapping[str, Any]:
    """Return what decides how parts are measured, in plain values."""
    return {part.name: [list(part.shape), part.change.l1, part.weight] for part in parts}
