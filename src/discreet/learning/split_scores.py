"""How good splits of a decision tree are: whole numbers that one row changes by a known range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Criterion = Literal["information-gain", "gini", "max"]
CRITERIA = ("information-gain", "gini", "max")
_FINENESS = 1 << 4  # a purity of 1 is so many parts
# A side counts at most so much, so that doubles are exact to about half a part.
_LARGEST = 1 << 40


@dataclass(frozen=True)
class SplitScore:
    """A criterion as whole numbers: the purity of a side is higher where one class prevails.

    A split's score is the sum of the purities of its sides, so that it ranks splits as the criterion does
    (Friedman & Schuster 2010, section 4.2, where the number of rows is the same for all splits of a node).

    Guarantee: one counted row more, which is in one cell of one side, changes a score by a number from an
    interval of length `reach`, the same interval for all splits of the node.

    - `max`, the rows of the most frequent class: by 0 or 1.
    - `gini`, the sum of c²/n over classes: the derivative by a class's count c is 2p - Σp², which lies between
      -1 and 1. So the interval has length 2, and roundings on either end add less than 3 parts.
    - `information-gain`, the sum of c·log2(c/n): the change lies between -log2(n + 1) - 1/ln 2 and 0, where n
      is at most the number of classes times `cap`, at which cells are cut off. Cutting off changes no cell by
      more than the row did. Roundings of four numbers on either end add less than 12 parts.

    Attributes:
        criterion: Which criterion.
        cap: Up to how many a cell counts; a public number.
    """

    criterion: Criterion
    cap: int = _LARGEST

    def reach(self, classes: int) -> int:
        """Return the length of the interval that a row's change of a score lies in."""
        if self.criterion == "max":
            return 1
        if self.criterion == "gini":
            return 2 * _FINENESS + 3
        most = math.log2(classes * self._limit_cells(classes) + 1) + 1 / math.log(2)
        return math.ceil(most * _FINENESS) + 12

    def _limit_cells(self, classes: int) -> int:
        return min(self.cap, _LARGEST // classes)

    def purity(self, counts: NDArray[Any]) -> Counts:
        """Return the purity of sides; the last axis of `counts` has the classes."""
        if self.criterion == "max":
            return np.asarray(counts).max(axis=-1).astype(np.int64)
        cells = np.clip(np.asarray(counts, float), 0, self._limit_cells(counts.shape[-1]))
        whole = cells.sum(axis=-1)
        if self.criterion == "gini":
            shares = cells / np.maximum(whole, 1e-300)[..., None]
            return np.rint((cells * shares).sum(axis=-1) * _FINENESS).astype(np.int64)
        parts = np.rint(_times_logarithm(cells)).astype(np.int64).sum(axis=-1)
        return parts - np.rint(_times_logarithm(whole)).astype(np.int64)

    def score_values(self, counts: NDArray[Any]) -> Counts:
        """Return the score of a split by all codes, from counts by node, code and class."""
        return self.purity(counts).sum(axis=1)

    def score_thresholds(self, counts: NDArray[Any]) -> Counts:
        """Return the scores of splits after each code but the last, from counts by node, code and class."""
        below = np.cumsum(counts, axis=1)
        return self.purity(below[:, :-1]) + self.purity(below[:, -1:] - below[:, :-1])


def _times_logarithm(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    return numbers * np.log2(np.maximum(numbers, 1)) * _FINENESS
