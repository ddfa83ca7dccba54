"""Many combinations cut into blocks of near ones, so that work within blocks stays linear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from discreet.release.anonymize.label_cost import LabelCost


def cut_into_blocks(
    places: NDArray[np.int64], spreads: Sequence[LabelCost], *, most: int
) -> list[NDArray[np.int64]]:
    """Return the numbers of the rows of `places` in blocks of at most `most` rows.

    Each block is cut in two near the middle of the attribute on which that gains most, until it is
    small enough, as in a k-d tree (Bentley 1975).
    """
    blocks: list[NDArray[np.int64]] = []
    stack = [np.arange(len(places))]
    while stack:
        block = stack.pop()
        if len(block) <= most:
            blocks.append(block)
            continue
        left = _split_block(places[block], spreads)
        stack += [block[~left], block[left]]
    return blocks


def _split_block(places: NDArray[np.int64], spreads: Sequence[LabelCost]) -> NDArray[np.bool_]:
    gains, borders = np.full(len(spreads), -np.inf), np.zeros(len(spreads), dtype=np.int64)
    for j, spread in enumerate(spreads):
        counts = np.bincount(places[:, j], minlength=spread.size)
        held = np.flatnonzero(counts)
        if len(held) > 1:
            gains[j], borders[j] = _best_cut_gain(spread, held, counts[held])
    best = int(gains.argmax())
    if gains[best] == -np.inf:  # all alike: any cut will do
        return np.arange(len(places)) < len(places) // 2
    return places[:, best] <= borders[best]


def _best_cut_gain(
    spread: LabelCost, held: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[float, int]:
    """Return what the best cut between the held places gains, and the last place before it."""
    before = np.cumsum(counts)[:-1]
    after = int(counts.sum()) - before
    first, last = held[0], held[-1]
    whole = spread.pairs[first, last]
    gains = before * (whole - spread.pairs[first, held[:-1]])
    gains += after * (whole - spread.pairs[held[1:], last])
    # A cut must leave a fair part on both sides, or blocks would be many and thin.
    balance = np.minimum(before, after) / (before + after)
    gains = np.where(balance >= min(0.25, float(balance.max())), gains, -1.0)
    # Among equals the cut nearest to the middle.
    best = int(np.lexsort((-balance, -gains))[0])
    return float(gains[best]), int(held[best])
