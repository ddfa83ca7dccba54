"""Which marginals are worth their noise: candidates, and the choice among them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.dp.spending import ZcdpSpending
from discreet.release.synthesize.fit import sum_coarse
from discreet.release.synthesize.junction_tree import (
    Columns,
    count_cells,
    pairs_of,
    triangulate,
)
from discreet.release.synthesize.resolutions import Resolutions

# The mean of |x| of a standard Gaussian x, rounded: what noise adds to a cell.
MEAN_ERROR = 0.8
# How many of the levels triples are tried at.
_LEVELS_OF_TRIPLES = 3


@dataclass(frozen=True)
class Candidate:
    """Columns at one level of resolution each, which may be measured together."""

    columns: Columns
    level: int
    shape: tuple[int, ...]

    @property
    def cells(self) -> int:
        """How many counts it has."""
        return math.prod(self.shape)


def list_pairs(count: int) -> list[Columns]:
    """Return all pairs of `count` columns."""
    return list(itertools.combinations(range(count), 2))


def list_triples(count: int, target: int) -> list[Columns]:
    """Return all triples of `count` columns that have `target`."""
    others = [one for one in range(count) if one != target]
    return [tuple(sorted((*pair, target))) for pair in itertools.combinations(others, 2)]


def list_candidates(
    columns: Iterable[Columns], resolutions: Sequence[Resolutions]
) -> list[Candidate]:
    """Return each of `columns` at every level where its shape differs."""
    found: list[Candidate] = []
    for some in columns:
        levels = len(resolutions[some[0]].levels)
        shapes: set[tuple[int, ...]] = set()
        for level in range(levels if len(some) == 2 else min(levels, _LEVELS_OF_TRIPLES)):
            shape = tuple(resolutions[one].sizes[level] for one in some)
            if shape not in shapes:
                shapes.add(shape)
                found.append(Candidate(some, level, shape))
    return found


def measure_misfit(
    candidates: Iterable[Candidate], differences: NDArray[np.int64], levels: Sequence[Resolutions]
) -> list[int]:
    """Return, for candidates of the same columns, the L1 norm of `differences` at their level.

    Guarantee: whole numbers. One row more changes one of the differences by 1, and each norm by at
    most 1.
    """
    scores: list[int] = []
    for one in candidates:
        maps = [levels[column].levels[one.level] for column in one.columns]
        scores.append(int(np.abs(sum_coarse(differences, maps, one.shape)).sum()))
    return scores


def list_target_pairs(
    candidates: Iterable[Candidate], target: int | None, level: int
) -> list[Candidate]:
    """Return each pair with `target`, at `level` or at a coarser one that is the same."""
    finest: dict[Columns, Candidate] = {}
    for one in candidates:
        if target in one.columns and len(one.columns) == 2 and one.level <= level:
            finest[one.columns] = one
    return list(finest.values())


def pick_candidates(
    candidates: Sequence[Candidate],
    gains: Sequence[int],
    allowance: ZcdpSpending,
    *,
    price: Fraction,
    picks: int,
) -> list[Candidate]:
    """Return candidates chosen one by one, each for its share of `price`; fewer if no more are worth it.

    Measuring nothing is always a candidate, with a gain of 0: once it is chosen, choosing ends.

    Args:
        candidates: What may be measured.
        gains: What measuring each gains.
        allowance: What choices are paid from.
        price: What all choices may cost.
        picks: How many to choose at most.
    """
    left = list(range(len(candidates)))
    picked: list[Candidate] = []
    for _ in range(picks):
        place = allowance.choose([*(gains[one] for one in left), 0], price / picks)
        if place == len(left):
            break
        picked.append(candidates[left[place]])
        left = [one for one in left if candidates[one].columns != picked[-1].columns]
    return picked


def fit_into_tree(
    wanted: Iterable[Candidate],
    known: Sequence[Candidate],
    resolutions: Sequence[Resolutions],
    *,
    together: Sequence[Columns],
    most_cells: int,
) -> list[Candidate]:
    """Return candidates that can be fitted together with `known` ones, coarser where they must be.

    Args:
        wanted: The candidates, best ones first.
        known: What is fitted already.
        resolutions: How coarsely each column can be seen.
        together: Columns that are fitted together in any case.
        most_cells: How large the junction tree may become.
    """
    taken: list[Candidate] = []
    for one in wanted:
        for level in range(one.level, -1, -1):
            shape = tuple(resolutions[column].sizes[level] for column in one.columns)
            tried = [*known, *taken, Candidate(one.columns, level, shape)]
            sizes = working_sizes(tried, resolutions)
            cliques = triangulate(sizes, pairs_of([*(each.columns for each in tried), *together]))
            if count_cells(cliques, sizes) <= most_cells:
                taken.append(tried[-1])
                break
    return taken


def working_levels(chosen: Iterable[Candidate], count: int) -> list[int]:
    """Return for each column the finest level that a chosen marginal sees it at."""
    levels = [0] * count
    for one in chosen:
        for column in one.columns:
            levels[column] = max(levels[column], one.level)
    return levels


def working_sizes(chosen: Sequence[Candidate], resolutions: Sequence[Resolutions]) -> list[int]:
    """Return how many working values each column has."""
    levels = working_levels(chosen, len(resolutions))
    return [one.sizes[level] for one, level in zip(resolutions, levels, strict=True)]
