"""Which marginals are worth their noise: candidates, their scores, and the choice among them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.release.synthesize.fit import sum_coarse
from discreet.release.synthesize.junction_tree import (
    Columns,
    Floats,
    count_cells,
    pairs_of,
    triangulate,
)
from discreet.release.synthesize.resolutions import Resolutions
from discreet.release.synthesize.spending import PureSynthesisBudget

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


def choose_candidates(
    candidates: Sequence[Candidate],
    scores: Floats,
    *,
    spread: float,
    numbers: Sequence[int],
    scale_of: Sequence[float],
    penalty: float,
) -> tuple[list[int], int]:
    """Return the places of those worth measuring, and for how many the noise was reckoned.

    A candidate gains its score, less what noise adds to its cells. The more are measured, the noisier
    each is: of `numbers` the one is taken whose best candidates gain most in all.

    Args:
        candidates: What may be measured.
        scores: How far the model is off, for each.
        spread: The standard error of a score.
        numbers: How many to measure, tried in turn.
        scale_of: For each of `numbers`, the standard error of a count.
        penalty: How much an error by noise weighs against an error of the model.
    """
    cells = np.array([one.cells for one in candidates], float)
    best: tuple[float, list[int], int] = (-1.0, [], numbers[0])
    for number, scale in zip(numbers, scale_of, strict=True):
        gains = scores - penalty * MEAN_ERROR * scale * cells
        picked: dict[Columns, int] = {}
        for place in np.argsort(-gains, kind="stable"):
            if gains[place] <= max(0.0, spread) or len(picked) >= number:
                break
            picked.setdefault(candidates[place].columns, int(place))
        places = list(picked.values())
        total = float(gains[places].sum()) if places else 0.0
        if total > best[0]:
            best = (total, places, number)
    return sorted(best[1], key=lambda place: -scores[place]), best[2]


def pick_candidates(
    candidates: Sequence[Candidate],
    scores: Sequence[int],
    allowance: PureSynthesisBudget,
    *,
    price: Fraction,
    picks: int,
    scale: float,
    penalty: float,
) -> list[Candidate]:
    """Return candidates chosen one by one, each for its share of `price`; fewer if no more are worth it.

    Measuring nothing is always a candidate, with a gain of 0: once it is chosen, choosing ends.

    Guarantee: a candidate's gain is its score less a public number, so that one unit changes it by no more
    than the score.

    Args:
        candidates: What may be measured.
        scores: How far the model is off, for each.
        allowance: What choices are paid from.
        price: What all choices may cost.
        picks: How many to choose at most.
        scale: The standard error of a count, in the unit of the scores.
        penalty: How much an error by noise weighs against an error of the model.
    """
    gains = [
        score - round(penalty * MEAN_ERROR * scale * one.cells)
        for one, score in zip(candidates, scores, strict=True)
    ]
    left = list(range(len(candidates)))
    picked: list[Candidate] = []
    for _ in range(picks):
        place = allowance.choose([*(gains[one] for one in left), 0], price / picks)
        if place == len(left):
            break
        picked.append(candidates[left[place]])
        left = [one for one in left if candidates[one].columns != picked[-1].columns]
    return picked


def choose_target_pairs(
    candidates: Sequence[Candidate],
    scores: Floats,
    *,
    target: int,
    known: set[Columns],
    scale: float,
    penalty: float,
) -> list[int]:
    """Return the place of each pair with `target` that is not `known`, at its best level."""
    best: dict[Columns, tuple[float, int]] = {}
    for place, one in enumerate(candidates):
        if target not in one.columns or len(one.columns) != 2 or one.columns in known:
            continue
        gain = float(scores[place]) - penalty * MEAN_ERROR * scale * one.cells
        if one.level == 1:
            gain = max(gain, 0.0)
        if one.columns not in best or gain > best[one.columns][0]:
            best[one.columns] = (gain, place)
    return [place for _, place in best.values()]


def fit_into_tree(
    wanted: Iterable[Candidate],
    known: Sequence[Candidate],
    resolutions: Sequence[Resolutions],
    *,
    together: Sequence[Columns],
    most_cells: int,
    most: int,
) -> list[Candidate]:
    """Return candidates that can be fitted together with `known` ones, coarser where they must be.

    Args:
        wanted: The candidates, best ones first.
        known: What is fitted already.
        resolutions: How coarsely each column can be seen.
        together: Columns that are fitted together in any case.
        most_cells: How large the junction tree may become.
        most: How many candidates are taken.
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
        if len(taken) >= most:
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
