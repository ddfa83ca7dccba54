"""The best ranges of one attribute are those of trying every cut."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.errors import UnknownColumn, WrongUsage
from discreet.policy import model
from discreet.release.anonymize.attribute import CodedAttribute
from discreet.release.anonymize.frequencies import Frequencies, label_rows
from discreet.release.anonymize.judge import Judge
from discreet.release.anonymize.problem import Problem
from discreet.release.anonymize.ranges import best_ranges
from discreet.release.anonymize.recoding import Recoding, loss

AGES, PROVINCES = 8, 3


def build(rows: list[tuple[int, int]], *, has_missing: bool = False) -> Problem:
    """Ages are all there in some row, or the last one is a missing value."""
    cells = np.array(rows, dtype=np.int32)
    loose = Frequencies(cells, np.ones(len(cells), dtype=np.int64))
    table = loose.merge(*label_rows([(cells[:, 0], AGES), (cells[:, 1], PROVINCES)]))
    known = AGES - has_missing
    age, province = np.arange(AGES), np.arange(PROVINCES)
    attributes = (
        CodedAttribute(
            "age",
            (age, age * 0),
            (np.full(AGES, 1 / known), np.ones(1)),
            1 / known,
            is_range=True,
            has_missing=has_missing,
        ),
        CodedAttribute(
            "province",
            (province, province * 0),
            (np.full(PROVINCES, 1 / PROVINCES), np.ones(1)),
            1 / PROVINCES,
        ),
    )
    return Problem(table, attributes, Judge((model.KAnonymity(2),)))


def best_k(rows: list[tuple[int, int]], ranges: int) -> int:
    """The greatest k of all cuts, tried one by one."""
    every = combinations(range(1, AGES), ranges - 1)
    return max(
        min(Counter((sum(age >= cut for cut in cuts), other) for age, other in rows).values())
        for cuts in every
    )


def bounds(recoding: Recoding) -> list[tuple[int, int]]:
    return sorted(
        {
            (int(low), int(high))
            for low, high in zip(recoding.lows[:, 0], recoding.highs[:, 0], strict=True)
        }
    )


rows_of_all_ages = st.lists(
    st.tuples(st.integers(0, AGES - 1), st.integers(0, PROVINCES - 1)), max_size=40
).map(lambda rows: [*rows, *((age, age % PROVINCES) for age in range(AGES))])


@settings(max_examples=60)
@given(rows_of_all_ages, st.integers(1, AGES))
def test_k_is_that_of_the_best_of_all_cuts(rows, ranges):
    problem = build(rows)
    found = best_ranges(problem, "age", ranges=ranges)
    sizes = np.bincount(found.classes, weights=problem.table.rows)
    assert found.notes["k"] == sizes.min() == best_k(rows, ranges)
    cuts = bounds(found)
    assert len(cuts) == ranges
    assert [low for low, _ in cuts] == [0, *(high + 1 for _, high in cuts[:-1])]
    codes = problem.table.codes
    assert (found.lows[found.classes] <= codes).all()
    assert (found.highs[found.classes] >= codes).all()
    assert (found.lows[:, 1] == found.highs[:, 1]).all()


def test_among_equal_k_the_least_loss_counts():
    rows = [(age, 0) for age in range(AGES) for _ in range(1 + 9 * (age < 2))]
    problem = build(rows)
    found = best_ranges(problem, "age", ranges=3)
    assert bounds(found) == [(0, 0), (1, 1), (2, 7)]
    assert loss(problem, found) == pytest.approx(0.5 * (6 / 26) * (5 / 7))


def test_a_missing_age_is_in_no_range():
    rows = [(age, 0) for age in range(AGES) for _ in range(2)]
    found = best_ranges(build(rows, has_missing=True), "age", ranges=1)
    assert bounds(found) == [(0, 6), (7, 7)]
    assert found.notes["k"] == 2


@given(st.integers().filter(lambda ranges: not 1 <= ranges <= AGES))
def test_an_impossible_number_of_ranges_is_refused(ranges):
    assume(abs(ranges) < 10**9)
    with pytest.raises(WrongUsage, match="8 different values"):
        best_ranges(build([(0, 0)]), "age", ranges=ranges)


def test_attributes_without_an_order_are_refused():
    problem = build([(0, 0)])
    with pytest.raises(WrongUsage, match="not ordered"):
        best_ranges(problem, "province", ranges=2)
    with pytest.raises(UnknownColumn, match="Did you mean 'age'"):
        best_ranges(problem, "agee", ranges=2)
