"""Gathering: classes grown around rows, where the lattice is too large to be walked.

Within blocks of near rows, the row whose k nearest are nearest is taken first, and the row that
widens the label least joins until the class holds (k-member clustering, Byun et al. 2007, from the
densest places outwards).
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from discreet.release.anonymize.blocks import cut_into_blocks
from discreet.release.anonymize.judge import CachedJudge
from discreet.release.anonymize.label_cost import Space
from discreet.release.anonymize.recoding import SUPPRESSED

# Blocks of a few classes; the square of their size is held.
_LEAST_BLOCK, _MOST_BLOCK = 256, 1024
# A class of more rows would take up too much of its block.
MOST_K = 128
# A class that does not hold is asked again when it has grown by this part.
_GROWTH = 0.25


def grow_classes(
    space: Space,
    referee: CachedJudge,
    *,
    report: Callable[[int], None] | None = None,
) -> NDArray[np.int64]:
    """Return the class of each combination, `SUPPRESSED` for those left over."""
    places = space.places
    most = min(max(_LEAST_BLOCK, 8 * referee.k), _MOST_BLOCK)
    classes = np.full(len(places), SUPPRESSED, dtype=np.int64)
    count = done = 0
    for block in cut_into_blocks(places, space.label_costs, most=most):
        for group in _Block(space, referee, block).groups():
            classes[block[group]] = count
            count += 1
        done += len(block)
        if report is not None:
            report(len(places) - done)
    return classes


class _Block:
    """Combinations near one another; `apart[a, j, b]` is the pair of two of them on an attribute."""

    def __init__(self, space: Space, referee: CachedJudge, members: NDArray[np.int64]) -> None:
        places = space.places[members]
        self.apart = np.stack(
            [
                spread.pairs[places[:, j][:, None], places[:, j][None, :]]
                for j, spread in enumerate(space.label_costs)
            ],
            axis=1,
        )
        self.nearness = self.apart.sum(axis=1)
        self.judge = referee
        self.members = members
        self.rows = space.rows[members]
        self.waiting = np.ones(len(members), dtype=np.bool_)

    def groups(self) -> list[list[int]]:
        """Return classes that hold, as lists of positions in the block."""
        found: list[list[int]] = []
        seeds = [(self._seed_radius(seed), seed) for seed in range(len(self.members))]
        heapify(seeds)
        while seeds:
            reach, seed = heappop(seeds)
            if not self.waiting[seed]:
                continue
            now = self._seed_radius(seed)
            if now > reach and seeds and now > seeds[0][0]:
                heappush(seeds, (now, seed))
                continue
            group = self._grow_class(seed)
            if group is not None:
                found.append(group)
                self.waiting[group] = False
        return found

    def _seed_radius(self, seed: int) -> float:
        """Return how far the k-th nearest waiting row is."""
        near = self.nearness[seed][self.waiting]
        kth = min(max(self.judge.k - int(self.rows[seed]), 0), len(near) - 1)
        return float(np.partition(near, kth)[kth])

    def _grow_class(self, seed: int) -> list[int] | None:
        group, rows, asked = [seed], int(self.rows[seed]), self.judge.k
        costs = self.apart[seed].copy()
        free = self.waiting.copy()
        free[seed] = False
        while True:
            if rows >= asked:
                if self.judge.is_simple or self.judge.hold([self.members[group]])[0]:
                    return group
                asked = int(np.ceil(rows * (1 + _GROWTH)))
            if not free.any():
                return None
            chosen = int(np.where(free, costs.sum(axis=0), np.inf).argmin())
            np.maximum(costs, costs[:, chosen : chosen + 1], out=costs)
            np.maximum(costs, self.apart[chosen], out=costs)
            group.append(chosen)
            free[chosen] = False
            rows += int(self.rows[chosen])
