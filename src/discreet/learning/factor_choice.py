"""Which column goes with the target the most: a choice by the exponential mechanism, and nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.domain.coded_column import CodedColumn
from discreet.dp.accounting import price
from discreet.dp.budget import Price
from discreet.dp.event import Choice
from discreet.dp.mechanisms.choice import exponential_mechanism
from discreet.dp.noise import Noise
from discreet.errors import InvalidBudget, WrongUsage
from discreet.learning.features import FeatureSpace, is_on_scale
from discreet.learning.training import Codes, Counts, TrainingCounts
from discreet.result import Result

_GRAIN = 2**10  # parts of a counted unit, in which a score is rounded down
_CHANGE = 2 * _GRAIN + 1  # how far one counted unit moves a score: see `score_dependence`
_SURE = 19  # odds of 19 to 1


@dataclass(frozen=True)
class FactorChoice(Result):
    """The factor that was chosen.

    Attributes:
        source: What it was chosen from.
        table: The table's name.
        verdict: One sentence.
        target: What the factors were compared for.
        chosen: The factor that matters most, as far as the choice is not chance.
        among: The factors that were compared.
        margin: A factor whose score is so many rows ahead of all others is chosen with a chance of 95 % or more.
        epsilon: What it cost.
        unit: Whose rows are protected together.
        rows_per_unit: How many rows of a unit counted.
        spent: What was charged this time.
        remaining: What is left.
        cached: Whether it was chosen before, so that it was free.
        cautions: What to know.
    """

    source: str
    table: str
    verdict: str
    target: str
    chosen: str
    among: tuple[str, ...]
    margin: float
    epsilon: float
    unit: str
    rows_per_unit: int
    spent: Mapping[str, float]
    remaining: Mapping[str, Any]
    cached: bool
    cautions: tuple[str, ...]


@dataclass(frozen=True)
class FactorExplanation(Result):
    """What a choice would cost; no row was read, and nothing was spent."""

    source: str
    table: str
    verdict: str
    target: str
    among: tuple[str, ...]
    margin: float
    epsilon: float
    unit: str
    rows_per_unit: int
    remaining: Mapping[str, Any]
    cautions: tuple[str, ...]


@dataclass(frozen=True)
class FactorRequest:
    """A choice that is asked for.

    Attributes:
        space: The factors and the target.
        bins: Into how many ranges of the same width numbers are divided.
        epsilon: What it may cost.
    """

    space: FeatureSpace
    bins: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise InvalidBudget("A choice needs an epsilon above 0, such as 1.")
        if len(self.space.features) < 2:
            raise WrongUsage("There is nothing to choose from. Name two columns or more.")
        if not 2 <= self.bins <= 1000:
            raise WrongUsage("Numbers are divided into 2 to 1000 ranges, such as 8.")

    @property
    def price(self) -> Price:
        """What the ledger is charged: that of the exponential mechanism."""
        return price(Choice(self.epsilon, is_exponential=True))

    def key(self) -> str:
        """Return one text for all that decides the choice; equal requests are paid once."""
        content = {
            "choose factor": 1,
            "space": self.space.to_content(),
            "bins": self.bins,
            "epsilon": str(self.epsilon),
        }
        return json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))

    def choose(self, counts: TrainingCounts, *, noise: Noise | None = None) -> int:
        """Return the place of a factor with a high score.

        Guarantee: epsilon-DP between tables that differ in the rows of one unit, which change each table of counts by
        at most `counts.sensitivity` in all (exponential mechanism; McSherry & Talwar 2007, theorem 6).
        """
        scores = self.score_factors(counts)
        change = counts.sensitivity * _CHANGE
        place, _ = exponential_mechanism(
            scores, epsilon=self.epsilon, sensitivity=change, noise=noise
        )
        return place

    def score_factors(self, counts: TrainingCounts) -> list[int]:
        """Return the exact score of each factor, which is not to be released."""
        target = len(self.space.features)
        maps = [coarsen_codes(column, self.bins) for column in self.space.columns]
        pairs = counts.count([(place, target) for place in range(target)], maps)
        # The last code of the target is that of missing values.
        return [score_dependence(pair[:, :-1]) for pair in pairs]

    def margin(self, rows_per_unit: int) -> float:
        """Return by how many rows a score must be ahead to be chosen with a chance of 95 % or more."""
        others = len(self.space.features) - 1
        worth = float(self.epsilon) * _GRAIN / (2 * rows_per_unit * _CHANGE)
        return math.log(_SURE * others) / worth


def score_dependence(counts: Counts) -> int:
    """Return how many rows a table of counts has more, in some cells, than it had if columns were independent.

    With cells c, sums of rows r and of columns s, and n in all, that is the sum of max(0, c - r s / n), in parts of
    1/1024: half of the L1 distance from independence, or n times the score R of PrivBayes (Zhang,
    Cormode, Procopiuc, Srivastava & Xiao 2017, section 4.3).

    Guarantee: one counted unit more or less changes it by at most 2 · 1024 + 1. Derivative by a cell (a, b): the
    expected counts r s / n change by 1 + 2 (1 - r_a/n) (1 - s_b/n) ≤ 3 in the L1 norm, the counts by 1, and half of the
    L1 distance by at most half of both together, 2. Rounding down adds less than 1.

    >>> score_dependence(np.array([[50, 0], [0, 50]])) / 1024, score_dependence(np.array([[50, 50], [9, 9]]))
    (50.0, 0)
    """
    cells = counts.astype(object)
    total = int(cells.sum())
    if total == 0:
        return 0
    excess = cells * total - cells.sum(axis=1, keepdims=True) * cells.sum(axis=0, keepdims=True)
    return int(np.maximum(excess, 0).sum()) * _GRAIN // total


def coarsen_codes(column: CodedColumn, bins: int) -> Codes:
    """Return the coarser code of each code: numbers in ranges of the same width, all else as it is.

    The last code is that of missing values, and stays apart.
    """
    size = column.size
    if size - 1 <= bins or not is_on_scale(column):
        return np.arange(size)
    found: NDArray[np.intp] = np.append(np.arange(size - 1) * bins // (size - 1), bins)
    return found
