"""The scoreboard's inner loop, compiled: the sums of `score_plainly`, term by term in the same order."""

# numba reads these functions itself: they are plain loops, without types it does not know.
# pyright: basic
from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np


@numba.njit(nogil=True, cache=True)
def _look_up_nearness(here: int, there: int, table: Any) -> float:
    # The last entry is 0 and stands for all that is further apart: no branch, which would be slow.
    return table[min(abs(np.int64(here) - np.int64(there)), len(table) - 1)]


@numba.njit(nogil=True, cache=True)
def _nearest_entry(release: Any, entry: int, high: int, value: int, day: int) -> tuple[float, int]:
    """Return how near a person's nearest entry is, and where the next person begins."""
    holders, values, days, value_table, day_table = release
    person, nearest = holders[entry], 0.0
    while entry < high and holders[entry] == person:
        near = _look_up_nearness(values[entry], value, value_table) + _look_up_nearness(
            days[entry], day, day_table
        )
        nearest = max(nearest, near)
        entry += 1
    return nearest, entry


@numba.njit(nogil=True, cache=True)
def _scan(release: Any, span: Any, known: Any, scores: Any, touched: Any) -> int:
    """Score all who hold the item; return how many have a score now."""
    low, high, count = span
    value, day, weight, absent = known
    holders, values, days, value_table, day_table = release
    entry = low
    while entry < high:
        person = holders[entry]
        if entry + 1 == high or holders[entry + 1] != person:
            nearest = _look_up_nearness(values[entry], value, value_table) + _look_up_nearness(
                days[entry], day, day_table
            )
            entry += 1
        else:
            nearest, entry = _nearest_entry(release, entry, high, value, day)
        if nearest > 0 and person != absent:
            if scores[person] == 0:
                touched[count] = person
                count += 1
            scores[person] += weight * nearest
    return count


@numba.njit(nogil=True, cache=True)
def _score_one(arrays: Any, target: int, absent: int, scores: Any, touched: Any) -> int:
    """Score one target; return how many records have a score."""
    starts, holders, values, days, weights = arrays[:5]
    target_starts, items, target_values, target_days = arrays[5:9]
    release = (holders, values, days, arrays[9], arrays[10])
    count = 0
    for point in range(target_starts[target], target_starts[target + 1]):
        item = items[point]
        span = (starts[item], starts[item + 1], count)
        known = (target_values[point], target_days[point], weights[item], absent)
        count = _scan(release, span, known, scores, touched)
    return count


@numba.njit(nogil=True, cache=True)
def _first_two(scores: Any, touched: Any, count: int) -> Any:
    """Return the best record, the first of equal ones, with the best score and the second best."""
    best, top, second = -1, 0.0, 0.0
    for place in range(count):
        person, reached = touched[place], scores[touched[place]]
        if reached > top or (reached == top and person < best):
            second = top if best >= 0 else 0.0
            best, top = person, reached
        elif reached > second:
            second = reached
    return best, top, second


@numba.njit(nogil=True, cache=True)
def _summarize_scores(
    scores: Any, touched: Any, count: int, top: float, shares: Any, steps: int
) -> Any:
    """Return deviation, mass and moment, and clear the scores."""
    people, total, squares = len(scores), 0.0, 0.0
    for place in range(count):
        reached = scores[touched[place]]
        total += reached
        squares += reached * reached
    mean = total / people
    deviation = math.sqrt(max(0.0, squares / people - mean * mean))
    scale = steps / deviation if deviation > 0 else 0.0
    mass, moment = 0.0, 0.0
    for place in range(count):
        behind = min(np.int64((top - scores[touched[place]]) * scale), len(shares) - 1)
        scores[touched[place]] = 0.0
        mass += shares[behind]
        moment += shares[behind] * behind
    behind = min(np.int64(top * scale), len(shares) - 1)
    mass += shares[behind] * (people - count)
    moment += shares[behind] * (people - count) * behind
    return deviation, mass, moment


@numba.njit(nogil=True, cache=True)
def score_targets(
    arrays: Any,
    people: int,
    absent: Any,
    shares: Any,
    steps: int,
    bounds: Any,
    best: Any,
    outputs: Any,
) -> None:
    """Fill the outputs of the targets within `bounds`: top, second, deviation, mass, moment."""
    scores = np.zeros(people)
    touched = np.zeros(people, np.int32)
    for target in range(bounds[0], bounds[1]):
        count = _score_one(arrays, target, absent[target], scores, touched)
        first, top, second = _first_two(scores, touched, count)
        best[target] = np.int32(first)
        outputs[0, target], outputs[1, target] = top, second
        found = _summarize_scores(scores, touched, count, top, shares, steps)
        outputs[2, target], outputs[3, target], outputs[4, target] = found
