"""Everything a method needs: combinations, attributes, criteria, and what may be suppressed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arrow import ArrowArray
from discreet.measure.classes import Cells
from discreet.release.anonymize.attribute import CodedAttribute
from discreet.release.anonymize.frequencies import Frequencies
from discreet.release.anonymize.judge import Judge


@dataclass(frozen=True)
class Population:
    """The people the table was drawn from: distinct combinations, on the same codes, and counts."""

    codes: NDArray[np.int32]
    people: NDArray[np.int64]


@dataclass(frozen=True)
class Problem:
    """A table to be recoded so that every class meets the criteria, with little loss.

    `limit` is the largest number of rows that may be suppressed.
    """

    table: Frequencies
    attributes: tuple[CodedAttribute, ...]
    judge: Judge
    limit: int = 0
    population: Population | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.table.rows.sum())

    @property
    def weights(self) -> NDArray[np.float64]:
        """What each attribute's loss counts for; they add up to 1."""
        weights = np.array([attribute.weight for attribute in self.attributes])
        return weights / weights.sum()

    @property
    def heights(self) -> tuple[int, ...]:
        """The top node of the lattice: every attribute hidden."""
        return tuple(attribute.height for attribute in self.attributes)


@dataclass(frozen=True)
class CellWeights:
    """The sampling weights of a survey, by cell: of which combination, whose, and how many rows.

    `sums` are those of the rows' weights, `heaviest` the largest of them.
    """

    owners: NDArray[np.int64]
    units: NDArray[np.int64] | None
    rows: NDArray[np.int64]
    sums: NDArray[np.float64]
    heaviest: NDArray[np.float64]


@dataclass(frozen=True)
class EncodedProblem:
    """A problem, and how its codes are written on the engine.

    `values[j]` are the values of attribute j in the order of its codes, a missing one last. `weights` are there
    where a column has that role.
    """

    problem: Problem
    cells: Cells
    values: tuple[ArrowArray, ...]
    weights: CellWeights | None = None
