"""Combinations merged and counted as a dictionary would."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.release.anonymize.frequencies import Frequencies, Histogram, label_rows, renumber_keys

CODES = st.integers(0, 3)
# combination, sensitive value, person
ROWS = st.lists(st.tuples(CODES, CODES, CODES), min_size=1, max_size=30)
LABELS = st.tuples(CODES, CODES, CODES, CODES)


def frequencies(rows: list[tuple[int, int, int]], *, has_units: bool) -> Frequencies:
    """The table of `rows`, whose four combinations are all there."""
    rows = [*rows, *((code, 0, 0) for code in range(4))]
    owners, codes, units = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    loose = Frequencies(
        codes=np.arange(4, dtype=np.int32)[:, None],
        rows=np.bincount(owners),
        histograms=(Histogram(owners, codes, np.ones_like(owners), units if has_units else None),),
        people=(owners, units) if has_units else None,
    )
    return loose.merge(np.arange(4), 4)


def relabelled(labels: tuple[int, ...]) -> tuple[np.ndarray, int]:
    return renumber_keys(np.array(labels, dtype=np.int64), 4)


@given(ROWS, LABELS)
def test_rows_are_counted_per_group(rows, labels):
    numbers, count = relabelled(labels)
    merged = frequencies(rows, has_units=False).merge(numbers, count)
    every = [*(code for code, _, _ in rows), 0, 1, 2, 3]
    expected = Counter(int(numbers[code]) for code in every)
    assert merged.rows.tolist() == [expected[i] for i in range(count)]


@given(ROWS, LABELS)
def test_people_are_counted_once_per_group(rows, labels):
    numbers, count = relabelled(labels)
    people = defaultdict(set)
    for code, _, person in [*rows, *((code, 0, 0) for code in range(4))]:
        people[int(numbers[code])].add(person)
    table = frequencies(rows, has_units=True)
    expected = [len(people[i]) for i in range(count)]
    assert table.sizes(numbers, count).tolist() == expected
    merged = table.merge(numbers, count)
    assert merged.sizes(np.arange(count), count).tolist() == expected


@given(ROWS, LABELS, st.booleans())
def test_groups_have_the_histogram_of_their_members(rows, labels, has_units):
    numbers, count = relabelled(labels)
    table = frequencies(rows, has_units=has_units)
    sizes = table.sizes(numbers, count)
    groups = table.groups(0, numbers, count, sizes=sizes)
    held = [(int(numbers[code]), value, person) for code, value, person in rows]
    held += [(int(numbers[code]), 0, 0) for code in range(4)]
    counted = Counter((group, value) for group, value, _ in (set(held) if has_units else held))
    found = dict(
        zip(
            zip(groups.owners.tolist(), groups.codes.tolist(), strict=True),
            groups.counts.tolist(),
            strict=True,
        )
    )
    assert found == dict(counted)


@given(ROWS, st.tuples(*[st.booleans()] * 4), st.booleans())
def test_what_is_taken_is_what_is_left_of_the_rows(rows, chosen, has_units):
    kept = np.array(chosen)
    table = frequencies(rows, has_units=has_units).take(kept)
    assert table.codes[:, 0].tolist() == np.flatnonzero(kept).tolist()
    assert table.rows.tolist() == frequencies(rows, has_units=has_units).rows[kept].tolist()
    assert set(table.histograms[0].owners.tolist()) == set(range(len(table)))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2**40)), min_size=1))
def test_labels_follow_the_order_of_the_codes_and_distinguish_them(pairs):
    """Cardinalities whose product is beyond 64 bits are numbered on the way."""
    first, second = (np.array(column) for column in zip(*pairs, strict=True))
    labels, count = label_rows([(first, 10), (second, 2**41), (second, 2**41)])
    ranked = {pair: rank for rank, pair in enumerate(sorted(set(pairs)))}
    assert labels.tolist() == [ranked[pair] for pair in pairs]
    assert count == len(ranked)


@pytest.mark.parametrize("bound", [1, 1024, 1025, 2**40, 2**61])
def test_no_keys_have_no_numbers_whatever_bounds_them(bound):
    numbers, count = renumber_keys(np.array([], dtype=np.int64), bound)
    assert (numbers.tolist(), count) == ([], 0)
    assert label_rows([(np.array([], dtype=np.int32), bound)])[1] == 0


def test_a_table_that_was_merged_without_codes_can_be_merged_again():
    """Full-domain search with several criteria met such a table, and ended with an IndexError."""
    merged = Frequencies(codes=np.empty((0, 2), dtype=np.int32), rows=np.array([2, 3, 4]))
    again = merged.merge(np.array([0, 1, 0]), 2)
    assert again.rows.tolist() == [6, 3]
    assert again.codes.shape == (0, 2)
