"""From coarse values to fine ones: each by how frequent it is, and no impossible combination."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.release.synthesize.fit import sum_coarse
from discreet.release.synthesize.junction_tree import Codes, Floats
from discreet.release.synthesize.rules import ImpossibleRule, Rows
from discreet.release.synthesize.sample import draw_systematically

# A value that was never seen is taken only where no other one is possible.
_UNSEEN = 1e-12
# How many chances are reckoned at once.
_AT_ONCE = 1 << 22


def refine_rows(
    working: Rows,
    coarse: Sequence[Codes],
    shares: Sequence[Floats],
    zeros: Sequence[ImpossibleRule],
    chance: Generator,
) -> Rows:
    """Return rows of fine values for rows of coarse ones.

    Columns without rules are refined one by one. A column with rules takes values that are possible with
    what is refined already, each by how frequent it is and how likely it leaves possible values for the
    columns that follow. Where rules overlap, a row may still come out impossible: the caller checks.

    Args:
        working: The coarse value of each row and column.
        coarse: For each column, the coarse value of each fine one.
        shares: For each column, how frequent each fine value is.
        zeros: Impossible combinations of fine values.
        chance: Where randomness comes from.
    """
    weights = [np.maximum(one, 0) + _UNSEEN for one in shares]
    rows = np.array(working, np.int32)
    ruled = sorted({column for one in zeros for column in one.columns})
    for place in range(rows.shape[1]):
        if place not in ruled:
            rows[:, place] = _draw_fine(
                [], [], working[:, place], coarse[place], weights[place], chance
            )
    for number, place in enumerate(ruled):
        refined = set(ruled[:number])
        tables: list[Floats] = []
        known: list[NDArray[np.int32]] = []
        for one in zeros:
            if place in one.columns:
                tables.append(_possible_weights(one, place, refined, coarse, weights))
                known += [
                    (rows if each in refined else working)[:, each]
                    for each in one.columns
                    if each != place
                ]
        rows[:, place] = _draw_fine(
            tables, known, working[:, place], coarse[place], weights[place], chance
        )
    return rows


def _possible_weights(
    zero: ImpossibleRule,
    place: int,
    refined: set[int],
    coarse: Sequence[Codes],
    weights: Sequence[Floats],
) -> Floats:
    """Return the weight of possible combinations: of values, coarse where not refined; `place` comes last."""
    found = (~zero.cells).astype(float)
    maps: list[Codes] = []
    for axis, one in enumerate(zero.columns):
        if one == place or one in refined:
            maps.append(np.arange(found.shape[axis]))
        else:
            spread = [-1 if each == axis else 1 for each in range(found.ndim)]
            found = found * weights[one].reshape(spread)
            maps.append(coarse[one])
    summed = sum_coarse(found, maps, [int(one.max()) + 1 for one in maps])
    return np.moveaxis(summed, zero.columns.index(place), -1)


def _draw_fine(
    tables: Sequence[Floats],
    known: Sequence[NDArray[np.int32]],
    working: NDArray[np.int32],
    coarse: Codes,
    weights: Floats,
    chance: Generator,
) -> NDArray[np.int64]:
    """Return a fine value for each row, by its coarse value and the `known` codes that `tables` start with."""
    groups, numbers = _group_rows([working, *known])
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers, minlength=len(groups)))
    drawn = np.empty(len(working), np.int64)
    step = max(1, _AT_ONCE // len(coarse))
    for start in range(0, len(groups), step):
        some = groups[start : start + step]
        chances = np.where(some[:, :1] == coarse[None, :], weights[None, :], 0.0)
        column = 1
        for table in tables:
            places = tuple(some[:, column + axis] for axis in range(table.ndim - 1))
            chances *= table[places]
            column += table.ndim - 1
        first = ends[start - 1] if start else 0
        rows = order[first : ends[min(start + step, len(groups)) - 1]]
        drawn[rows] = draw_systematically(chances, numbers[rows] - start, chance)
    return drawn


def _group_rows(
    codes: Sequence[NDArray[np.int32]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct combinations of codes, and the place of each row's among them."""
    sizes = [int(one.max(initial=0)) + 1 for one in codes]
    if math.prod(sizes) >= 1 << 62:
        groups, numbers = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
        return groups.astype(np.int64), numbers.reshape(-1)
    keys = np.ravel_multi_index([one.astype(np.int64) for one in codes], sizes)
    if math.prod(sizes) <= len(keys):
        distinct, numbers = np.arange(math.prod(sizes)), keys
    else:
        distinct, numbers = np.unique(keys, return_inverse=True)
    return np.stack(np.unravel_index(distinct, sizes), axis=1), numbers
