"""Rows from a fitted table: down the tree, and from coarse values to fine ones.

Sampling is systematic: within each group of rows that share what is known so far, values are spread as
evenly as their chances allow, so that rows differ from the table they are drawn from by rounding only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.release.synthesize.fit import FittedTable
from discreet.release.synthesize.junction_tree import Floats

Rows = NDArray[np.int32]


def sample_rows(table: FittedTable, count: int, chance: Generator) -> Rows:
    """Return `count` rows of working values."""
    tree = table.tree
    rows = np.zeros((count, len(tree.sizes)), np.int32)
    known: set[int] = set()
    for place in tree.order:
        clique = tree.cliques[place]
        old = [one for one in clique if one in known]
        new = [one for one in clique if one not in known]
        if not new:
            continue
        axes = [clique.index(one) for one in (*old, *new)]
        groups = int(np.prod([tree.sizes[one] for one in old], dtype=np.int64))
        chances = np.transpose(table.beliefs[place], axes).reshape(groups, -1)
        given = _combine_codes(rows, old, tree.sizes)
        drawn = draw_systematically(chances, given, chance)
        for one in reversed(new):
            rows[:, one] = drawn % tree.sizes[one]
            drawn //= tree.sizes[one]
        known.update(new)
    return rows


def draw_systematically(
    chances: Floats, groups: NDArray[np.int64], chance: Generator
) -> NDArray[np.int64]:
    """Return a value for each row, with the chances of the row's group.

    Within a group of n rows a value of chance p occurs ⌊n·p⌋ or ⌈n·p⌉ times, at random places.
    """
    cumulated = np.cumsum(chances, axis=1)
    totals = cumulated[:, -1:].copy()
    totals[totals <= 0] = 1
    cumulated /= totals
    count = len(groups)
    mixed = chance.permutation(count)
    order = mixed[np.argsort(groups[mixed], kind="stable")]
    sorted_groups = groups[order]
    sizes = np.bincount(sorted_groups, minlength=len(chances))
    ranks = np.arange(count) - (np.cumsum(sizes) - sizes)[sorted_groups]
    offsets = chance.random(len(chances))[sorted_groups]
    points = np.minimum((ranks + offsets) / sizes[sorted_groups], 1 - 1e-12)
    width = chances.shape[1]
    steps = (cumulated + np.arange(len(chances))[:, None]).ravel()
    found = np.searchsorted(steps, sorted_groups + points, side="right") - sorted_groups * width
    # Where floats round up to the next group, the last value that can occur is meant.
    last = width - 1 - np.argmax(chances[:, ::-1] > 0, axis=1)
    drawn = np.empty(count, np.int64)
    drawn[order] = np.clip(found, 0, last[sorted_groups])
    return drawn


def _combine_codes(rows: Rows, columns: Sequence[int], sizes: Sequence[int]) -> NDArray[np.int64]:
    combined = np.zeros(len(rows), np.int64)
    for one in columns:
        combined = combined * sizes[one] + rows[:, one]
    return combined
