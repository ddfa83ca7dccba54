"""The scoreboard's inner loop, compiled: one pass over the rare items, then only who can still win."""

# numba reads these functions itself: they are plain loops, without types it does not know.
# pyright: basic
from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np


@numba.njit(nogil=True, cache=True)
def _near(here: int, there: int, table: Any) -> float:
    # The last entry is 0 and stands for all that is further apart: no branch, which would be slow.
    return table[min(abs(np.int64(here) - np.int64(there)), len(table) - 1)]


@numba.njit(nogil=True, cache=True)
def _first_of(holders: Any, low: int, high: int, person: int) -> int:
    """Return where `person` first stands in a sorted column."""
    while low < high:
        middle = (low + high) // 2
        if holders[middle] < person:
            low = middle + 1
        else:
            high = middle
    return low


@numba.njit(nogil=True, cache=True)
def _nearest(release: Any, entry: int, high: int, value: int, day: int) -> tuple[float, int]:
    """Return how near a person's nearest entry is, and where the next person begins."""
    holders, values, days, value_table, day_table = release
    person, nearest = holders[entry], 0.0
    while entry < high and holders[entry] == person:
        near = _near(values[entry], value, value_table) + _near(days[entry], day, day_table)
        nearest = max(nearest, near)
        entry += 1
    return nearest, entry


@numba.njit(nogil=True, cache=True)
def _add(scores: Any, person: int, gain: float, leader: Any) -> None:
    """Add to a score; `leader` is (best, its score, the second best score)."""
    scores[person] += gain
    reached = scores[person]
    if person == leader[0]:
        leader[1] = reached
    elif reached > leader[1]:
        leader[2] = leader[1]
        leader[0], leader[1] = person, reached
    elif reached > leader[2]:
        leader[2] = reached


@numba.njit(nogil=True, cache=True)
def _scan(release: Any, span: Any, known: Any, scores: Any, touched: Any, leader: Any) -> int:
    """Score everybody who holds the item; return how many have a score now."""
    low, high, count = span
    value, day, weight, absent = known
    holders, values, days, value_table, day_table = release
    entry = low
    while entry < high:
        person = holders[entry]
        if entry + 1 == high or holders[entry + 1] != person:
            nearest = _near(values[entry], value, value_table) + _near(days[entry], day, day_table)
            entry += 1
        else:
            nearest, entry = _nearest(release, entry, high, value, day)
        if nearest > 0 and person != absent:
            if scores[person] == 0:
                touched[count] = person
                count += 1
            _add(scores, person, weight * nearest, leader)
    return count


@numba.njit(nogil=True, cache=True)
def _seek(release: Any, span: Any, known: Any, scores: Any, touched: Any, leader: Any) -> None:
    """Score those of the touched who can still come second, by looking them up."""
    low, high, count = span
    value, day, weight, left = known
    for place in range(count):
        person = touched[place]
        if scores[person] + left < leader[2]:
            continue
        entry = _first_of(release[0], low, high, person)
        if entry < high and release[0][entry] == person:
            nearest, _ = _nearest(release, entry, high, value, day)
            if nearest > 0:
                _add(scores, person, weight * nearest, leader)


@numba.njit(nogil=True, cache=True)
def _summarize(scores: Any, touched: Any, count: int, people: int, spread: float) -> Any:
    """Return deviation, entropy and certainty, and clear the scores.

    `spread` is the variance of what was not added, because it could not change who is first.
    """
    total, squares, top = 0.0, 0.0, 0.0
    for place in range(count):
        reached = scores[touched[place]]
        total += reached
        squares += reached * reached
        top = max(top, reached)
    deviation = math.sqrt(spread + max(0.0, squares / people - (total / people) ** 2))
    mass, moment = 0.0, 0.0
    for place in range(count):
        behind = (top - scores[touched[place]]) / deviation if deviation > 0 else 0.0
        scores[touched[place]] = 0.0
        if behind < 40:  # e^-40 is nothing beside the best's 1, and exp takes long
            share = math.exp(-behind)
            mass += share
            moment += behind * share
    behind = top / deviation if deviation > 0 else 0.0
    mass += (people - count) * math.exp(-behind)
    moment += (people - count) * behind * math.exp(-behind)
    return deviation, (math.log(mass) + moment / mass) / math.log(2.0), 1.0 / mass


@numba.njit(nogil=True, cache=True)
def _score_one(
    arrays: Any, target: int, absent: int, moments: Any, scores: Any, touched: Any, leader: Any
) -> Any:
    """Score one target; return how many records have a score, and the spread of the others."""
    starts, holders, values, days, weights = arrays[:5]
    target_starts, items, target_values, target_days = arrays[5:9]
    release = (holders, values, days, arrays[9], arrays[10])
    most, people = arrays[9][0] + arrays[10][0], len(scores)
    points = range(target_starts[target], target_starts[target + 1])
    leader[0], leader[1], leader[2] = -1.0, 0.0, 0.0
    spread, left = 0.0, 0.0
    for point in points:
        left += weights[items[point]] * most
    count, is_open = 0, True
    for point in points:
        item = items[point]
        weight = weights[item]
        # Whoever has no score yet can reach `left` at most: when that is not more than the second
        # best, newcomers change neither of the first two.
        is_open = is_open and leader[2] < left
        span = (starts[item], starts[item + 1], count)
        value, day = target_values[point], target_days[point]
        if is_open:
            known = (value, day, weight, absent)
            count = _scan(release, span, known, scores, touched, leader)
        else:
            _seek(release, span, (value, day, weight, left), scores, touched, leader)
            share = (starts[item + 1] - starts[item]) / people
            spread += weight * weight * max(0.0, share * moments[1] - (share * moments[0]) ** 2)
        left -= weight * most
    return count, spread


@numba.njit(nogil=True, cache=True)
def score_targets(
    arrays: Any, people: int, absent: Any, moments: Any, bounds: Any, best: Any, outputs: Any
) -> None:
    """Fill the outputs of the targets within `bounds`: top, second, deviation, entropy, certainty."""
    scores = np.zeros(people)
    touched = np.zeros(people, np.int32)
    leader = np.zeros(3)
    for target in range(bounds[0], bounds[1]):
        count, spread = _score_one(arrays, target, absent[target], moments, scores, touched, leader)
        found = _summarize(scores, touched, count, people, spread)
        if count:
            best[target] = np.int32(leader[0])
        outputs[0, target], outputs[1, target] = leader[1], leader[2]
        outputs[2, target], outputs[3, target], outputs[4, target] = found
