"""Releases joined row to row: who is left when every column that they share must agree.

A release hides a person among the rows whose labels fit. Rows of two releases can be one person's
only if they agree in every column that both publish, sensitive or not. So a person is among at most
Σ over values v of min(rows with v here, rows with v there), and a row without a partner in one of
the other releases belongs to no one: that is applied to all releases at once, until nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.releases.intersection import CandidateValues, intersect

if TYPE_CHECKING:
    from discreet.attacks.releases.rows import Joined, ReleaseRows


Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Pairs = list[tuple[Integers, Integers]]  # of each release: who, and a row that may be theirs

# So many (person, row) pairs are held at a time.
MOST_PAIRS = 2_000_000


@dataclass(frozen=True)
class RemainingRows:
    """What is left of known people, by single releases and by all of them.

    Attributes:
        located: Who may be in each of the releases.
        fewest: The fewest rows in one release that fit.
        candidates: Among how many rows people are at most, by all releases.
        alone: The values of each sensitive column that each release with it leaves.
        together: The same where all releases are joined.
        was_true: Whose own row fits in the first release.
        is_true: Whose own row is also left there by all releases.
    """

    located: Flags
    fewest: Integers
    candidates: Integers
    alone: Mapping[str, tuple[CandidateValues, ...]]
    together: Mapping[str, CandidateValues]
    was_true: Flags
    is_true: Flags


def find_remaining(
    joined: Joined,
    truth: Mapping[str, Integers],
    *,
    people: int,
    secrets: Sequence[str],
) -> RemainingRows:
    """Return who is left among which rows, before and after all releases are joined.

    Args:
        joined: The rows of all releases that may be whose.
        truth: The codes of people's own values, of columns of which they are known.
        people: How many there are.
        secrets: The sensitive columns.
    """
    counts = np.zeros((2, people), dtype=np.int64)
    is_true = np.zeros((2, people), dtype=np.bool_)
    parts: dict[tuple[int, str, int], list[CandidateValues]] = {}
    for first, last in joined.batches(people, most=MOST_PAIRS):
        pairs = [one.of(first, last) for one in joined.releases]
        for when in (0, 1):
            part = when, slice(first, last)
            counts[part] = _count_rows(joined, pairs, first, last, is_joined=when == 1)
            is_true[part] = _holds_truth(joined, pairs[0], truth, first, last)
            for place, (one, pair) in enumerate(zip(joined.releases, pairs, strict=True)):
                for name in secrets:
                    if name in one.values:
                        found = _list_values(one, pair, name, people=people)
                        parts.setdefault((when, name, place), []).append(found)
            if when == 0:
                pairs = _drop_partnerless(joined, pairs)
    before, after = (
        {
            name: tuple(
                _concatenate_candidates(parts.get((when, name, place), []), people=people)
                for place, one in enumerate(joined.releases)
                if name in one.values
            )
            for name in secrets
        }
        for when in (0, 1)
    )
    located = [np.bincount(one.people, minlength=people) > 0 for one in joined.releases]
    together = {
        name: reduce(partial(intersect, prior=joined.shares(name)), each)
        for name, each in after.items()
    }
    return RemainingRows(
        located=np.all(located, axis=0),
        fewest=counts[0],
        candidates=counts[1],
        alone=before,
        together=together,
        was_true=is_true[0],
        is_true=is_true[1],
    )


def _drop_partnerless(joined: Joined, pairs: Pairs) -> Pairs:
    """Return the pairs of people and rows whose rows have a partner in each other release."""
    pairs, is_changed = list(pairs), True
    while is_changed:
        is_changed = False
        for a, b in joined.keys:
            mine, theirs = _joint_keys(joined, pairs, a, b), _joint_keys(joined, pairs, b, a)
            fits = np.isin(mine, theirs)
            if not fits.all():
                pairs[a] = (pairs[a][0][fits], pairs[a][1][fits])
                is_changed = True
    return pairs


def _joint_keys(joined: Joined, pairs: Pairs, a: int, b: int) -> Integers:
    people, rows = pairs[a]
    width = 1 + max(int(joined.keys[one].max(initial=0)) for one in ((a, b), (b, a)))
    return people * width + joined.keys[a, b][rows]


def _count_rows(
    joined: Joined, pairs: Pairs, first: int, last: int, *, is_joined: bool
) -> Integers:
    """Return among how many rows each person is at most."""

    def total(people: Integers, counts: Integers) -> Integers:
        found = np.bincount(people - first, weights=counts, minlength=last - first)
        return found.astype(np.int64)

    counts = [one.counts[rows] for one, (_, rows) in zip(joined.releases, pairs, strict=True)]
    bounds = [total(people, own) for (people, _), own in zip(pairs, counts, strict=True)]
    for a, b in combinations(range(len(pairs)), 2):
        if not is_joined or (a, b) not in joined.keys:
            continue
        sums: list[tuple[Integers, Integers, Integers]] = []
        for one, other in ((a, b), (b, a)):
            keys, places = np.unique(_joint_keys(joined, pairs, one, other), return_inverse=True)
            rows = np.bincount(places, weights=counts[one], minlength=len(keys)).astype(np.int64)
            owners = np.empty(len(keys), dtype=np.int64)
            owners[places] = pairs[one][0]
            sums.append((keys, rows, owners))
        _, mine, theirs = np.intersect1d(
            sums[0][0], sums[1][0], assume_unique=True, return_indices=True
        )
        least = np.minimum(sums[0][1][mine], sums[1][1][theirs])
        bounds.append(total(sums[0][2][mine], least))
    return np.min(bounds, axis=0)


def _list_values(
    one: ReleaseRows, pair: tuple[Integers, Integers], column: str, *, people: int
) -> CandidateValues:
    """Return the values of a column that rows leave for people."""
    owners, rows = pair
    codes = one.values[column]
    width = 1 + int(codes.max(initial=0))
    keys, places = np.unique(owners * width + codes[rows], return_inverse=True)
    counts = np.bincount(places, weights=one.counts[rows], minlength=len(keys)).astype(np.float64)
    located = np.bincount(owners, minlength=people) > 0
    return CandidateValues(keys // width, keys % width, counts, located)


def _concatenate_candidates(parts: Sequence[CandidateValues], *, people: int) -> CandidateValues:
    """Return the values of people who were looked at one part after the other."""
    empty = np.zeros(0, dtype=np.int64)
    return CandidateValues(
        np.concatenate([empty, *(part.person for part in parts)]),
        np.concatenate([empty, *(part.value for part in parts)]),
        np.concatenate([np.zeros(0), *(part.rows for part in parts)]),
        np.any([np.zeros(people, dtype=np.bool_), *(part.located for part in parts)], axis=0),
    )


def _holds_truth(
    joined: Joined,
    pair: tuple[Integers, Integers],
    truth: Mapping[str, Integers],
    first: int,
    last: int,
) -> Flags:
    people, rows = pair
    fits = np.ones(len(people), dtype=np.bool_)
    for name, codes in joined.releases[0].values.items():
        if name in truth:
            fits &= codes[rows] == truth[name][people]
    return np.bincount(people[fits] - first, minlength=last - first) > 0
