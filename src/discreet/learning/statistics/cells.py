"""Tables of counts: which cells they have, and what follows from their noisy counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.domain.coded_column import CodedColumn
from discreet.errors import WrongUsage
from discreet.learning.statistics.conclusion import StatisticRow
from discreet.learning.statistics.intervals import share_interval
from discreet.learning.statistics.looks import CellLook, keep_values
from discreet.learning.statistics.released import NoisySums, ReleasedSums
from discreet.learning.statistics.variables import MOST_CELLS, label_codes
from discreet.release.synthesize.resolutions import project_on_simplex

Floats = NDArray[np.float64]
ALL = "all"


@dataclass(frozen=True)
class CellNames:
    """What the cells of a table are called.

    Attributes:
        columns: The columns, an axis each.
        values: The names of the cells along each axis.
    """

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]

    @staticmethod
    def of(columns: Sequence[CodedColumn]) -> CellNames:
        """Return the names of all values of some columns."""
        return CellNames(
            tuple(column.name for column in columns),
            tuple(tuple(label_codes(column)) for column in columns),
        )

    def label(self, cell: Sequence[int]) -> dict[str, str]:
        """Return the values of a cell by column."""
        named = zip(self.columns, self.values, cell, strict=True)
        return {column: values[place] for column, values, place in named}

    def cells(self) -> Iterator[tuple[int, ...]]:
        """Yield all cells, the last axis quickest."""
        yield from np.ndindex(*(len(values) for values in self.values))


def look_at_table(columns: Sequence[CodedColumn]) -> CellLook:
    """Return the look at all cells of some columns.

    Raises:
        WrongUsage: There are too many.
    """
    size = math.prod(column.coding.size for column in columns)
    if size > MOST_CELLS:
        raise WrongUsage(
            f"The table would have {size:,} cells; {MOST_CELLS:,} are the most. Use columns with fewer values."
        )
    return CellLook(
        tuple(keep_values(place, column.coding.size) for place, column in enumerate(columns))
    )


def project_counts(values: Floats) -> Floats:
    """Return the nearest counts that are not negative and have the same sum, so that margins agree with cells."""
    total = float(values.sum())
    if total <= 0:
        return np.zeros_like(values)
    return project_on_simplex(values.reshape(-1), total).reshape(values.shape)


def describe_counts(noisy: NoisySums, names: CellNames, half: float) -> list[StatisticRow]:
    """Return the count of each cell, give or take `half`."""
    projected = project_counts(noisy.values)
    made: list[StatisticRow] = []
    for cell in names.cells():
        value, best = float(noisy.values[cell]), float(projected[cell])
        low, high = max(0.0, value - half), max(0.0, value + half)
        label = names.label(cell)
        made.append(StatisticRow("count", label, best, min(low, best), max(high, best)))
    return made


def describe_shares(
    released: ReleasedSums, names: CellNames, confidence: float
) -> list[StatisticRow]:
    """Return the share of each cell in the population, with its interval."""
    noisy, chance = released["cells"], released.start_chance()
    rows, projected = float(noisy.values.sum()), project_counts(noisy.values)
    made: list[StatisticRow] = []
    for cell in names.cells():
        low, high = share_interval(
            chance,
            noisy,
            confidence,
            count=float(noisy.values[cell]),
            cells=noisy.values.size,
            rows=rows,
        )
        best = float(projected[cell] / rows) if rows > 0 else None
        if best is not None:
            low, high = min(low, best), max(high, best)
        made.append(StatisticRow("share", names.label(cell), best, low, high))
    return made
