"""The records closest to given ones, where columns are numbers, words and gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from discreet.attacks.synthetic.trial import Feature, Records

# Queries by candidates whose distances fit into a core's own cache.
QUERIES_AT_ONCE = 16
CANDIDATES_AT_ONCE = 4096


@dataclass(frozen=True)
class Nearest:
    """For each query its closest candidates, nearest first: `rows[query, rank]` and `distances`."""

    rows: NDArray[np.int64]
    distances: NDArray[np.float32]


@dataclass(frozen=True)
class _Space:
    """Rows laid out so that their distance is a sum of differences and of mismatches."""

    lengths: tuple[NDArray[np.float32], ...]
    words: tuple[NDArray[np.int32], ...]


def find_nearest(
    queries: Records, candidates: Records, features: Sequence[Feature], *, k: int = 1
) -> Nearest:
    """Return the `k` candidates closest to each query, by Gower's distance over `features`.

    A number counts by its difference as a share of the column's span, a word by 0 or 1, and a gap is
    1 away from every value and 0 from another gap; the distance is their sum (Gower 1971). Every pair
    is looked at, block by block. `queries` and `candidates` have the same features in the same order.
    """
    k = min(k, len(candidates))
    asked, known = _lay_out(queries, features), _lay_out(candidates, features)
    total, many = len(queries), len(candidates)
    rows = np.zeros((total, k), dtype=np.int64)
    best = np.full((total, k), np.inf, dtype=np.float32)
    room = np.empty((2, QUERIES_AT_ONCE, CANDIDATES_AT_ONCE), dtype=np.float32)
    for first in range(0, many, CANDIDATES_AT_ONCE):
        block = slice(first, min(first + CANDIDATES_AT_ONCE, many))
        for start in range(0, total, QUERIES_AT_ONCE):
            part = slice(start, min(start + QUERIES_AT_ONCE, total))
            near = _block_distances(asked, known, part, block, room)
            _keep_closest(rows[part], best[part], near, first)
    return Nearest(rows, best)


def _block_distances(
    asked: _Space,
    known: _Space,
    part: slice,
    block: slice,
    room: NDArray[np.float32],
) -> NDArray[np.float32]:
    shape = (part.stop - part.start, block.stop - block.start)
    total, step = (space[: shape[0], : shape[1]] for space in room)
    total.fill(0)
    for theirs, ours in zip(known.lengths, asked.lengths, strict=True):
        np.subtract(theirs[None, block], ours[part, None], out=step)
        np.abs(step, out=step)
        np.add(total, step, out=total)
    for theirs, ours in zip(known.words, asked.words, strict=True):
        np.add(total, theirs[None, block] != ours[part, None], out=total)
    return total


def _keep_closest(
    rows: NDArray[np.int64], best: NDArray[np.float32], near: NDArray[np.float32], first: int
) -> None:
    """Merge a block's distances into the closest found so far, in place."""
    k = best.shape[1]
    lowest = near.min(axis=1)
    for query in np.flatnonzero(lowest < best[:, -1]):
        found = near[query]
        if k == 1:
            rows[query, 0], best[query, 0] = first + int(np.argmin(found)), lowest[query]
            continue
        closer = np.flatnonzero(found < best[query, -1])
        joined = np.concatenate([best[query], found[closer]])
        order = np.argsort(joined, kind="stable")[:k]
        rows[query] = np.concatenate([rows[query], first + closer])[order]
        best[query] = joined[order]


def _lay_out(records: Records, features: Sequence[Feature]) -> _Space:
    lengths: list[NDArray[np.float32]] = []
    words: list[NDArray[np.int32]] = []
    for feature, column in zip(features, records.values, strict=True):
        if not feature.is_ordered:
            words.append(np.nan_to_num(column, nan=-1).astype(np.int32))
            continue
        share = ((column - feature.low) / feature.span).astype(np.float32)
        if not feature.has_gaps:
            lengths.append(share)
            continue
        # Half the value and half its mirror image differ by as much as the value itself, and a gap at
        # (3/4, 3/4) is exactly 1 away from all of them: gaps need no case of their own.
        lengths.append(np.nan_to_num(share / 2, nan=0.75))
        lengths.append(np.nan_to_num((1 - share) / 2, nan=0.75))
    return _Space(tuple(lengths), tuple(words))
