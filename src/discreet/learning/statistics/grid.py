"""Numbers as whole units of a fine grid between public bounds, so that their sums are exact."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.domain.binned_range import BinnedRange, RangePart
from discreet.domain.coded_column import CodedColumn
from discreet.domain.listed_values import number_of
from discreet.errors import WrongUsage

FINEST = 1 << 16  # cells of a grid: sums of squares of two thousand million rows fit into 64 bits


@dataclass(frozen=True)
class Grid:
    """A column of numbers as whole units; all of it is public.

    A number is `center + step * unit`, but for `error` at most.

    Attributes:
        column: The column with a code for each cell of the grid.
        steps: For each code but that of missing values, how many cells it lies above the lowest one.
        most: The farthest unit from 0.
        center: The number of unit 0.
        step: How much a unit is.
        error: How far a number may lie from that of its cell; 0 where cells are single numbers.
    """

    column: CodedColumn
    steps: NDArray[np.int64]
    most: int
    center: float
    step: float
    error: float

    @property
    def units(self) -> NDArray[np.int64]:
        """The unit of each code but that of missing values: a cell is two units wide."""
        return 2 * self.steps - self.most


def make_grid(column: CodedColumn) -> Grid:
    """Return the grid of a column of numbers, from its public bounds or its listed numbers.

    Whole numbers that span less than 65,536 have a cell each. Others lie in one of 65,536 cells of equal width,
    and count as its middle.

    Raises:
        WrongUsage: There is only one number.
    """
    coding = column.coding
    if isinstance(coding, BinnedRange):
        return _grid_of_range(column, coding)
    numbers = np.array([number_of(one) for one in coding.values], float)
    low, high = float(numbers.min()), float(numbers.max())
    _require_range(column, low, high)
    center = (low + high) / 2
    if np.array_equal(numbers, np.rint(numbers)) and high - low < FINEST:
        steps = np.rint(numbers - low).astype(np.int64)
        return Grid(column, steps, int(high - low), center, 0.5, 0.0)
    width = (high - low) / (FINEST - 1)
    steps = np.rint((numbers - low) / width).astype(np.int64)
    return Grid(column, steps, FINEST - 1, center, width / 2, width / 2)


def _grid_of_range(column: CodedColumn, coding: BinnedRange) -> Grid:
    low, high = coding.parts[0].low, coding.parts[-1].high
    if coding.unit == "real":
        first, last = float(coding.low), float(coding.high)
        _require_range(column, first, last)
        width = (last - first) / FINEST
        part = RangePart(first, last, width)
        count, middle, error = part.bins, first + width / 2, width / 2
    else:
        _require_range(column, low, high - 1)
        size = max(1, -(-int(high - low) // FINEST))
        part = RangePart(int(low), int(high), size)
        count, width = part.bins, float(size)
        middle, error = int(low) + (size - 1) / 2, (size - 1) / 2
    fine = replace(column, coding=replace(coding, parts=(part,)), levels=())
    center = middle + width * (count - 1) / 2
    return Grid(fine, np.arange(count), count - 1, center, width / 2, error)


def _require_range(column: CodedColumn, low: float, high: float) -> None:
    if not low < high:
        raise WrongUsage(
            f"The bounds of '{column.name}' leave one number: there is nothing to compute. Correct them in the policy."
        )
