"""Outliers are named with the clipping that helps."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.policy.model import Clip
from discreet.release.outliers import find_outliers

ages = st.lists(st.integers(0, 120), min_size=1, max_size=80)


def test_both_ends_are_named_with_the_step_to_write() -> None:
    found = find_outliers([0, 10, 20, 60, 90], [1, 40, 300, 50, 2], k=7, column="age")
    assert found is not None
    assert (found.below, found.above, found.people) == (1, 2, 393)
    assert found.clip == Clip("age", (Decimal(10), Decimal(60)))
    assert found.words == (
        "In column 'age' 1 person below 10 and 2 people above 60 are on 44 % of the range: too few "
        "at either end for a class of 7. Consider the step `clip: {column: age, bounds: [10, 60]}`."
    )


def test_one_end_may_be_enough() -> None:
    found = find_outliers([10, 20, 90.5], [40, 50, 1], k=5, column="age")
    assert found is not None
    assert found.words == (
        "In column 'age' 1 person above 20 is on 88 % of the range: too few there for a class of 5. "
        "Consider the step `clip: {column: age, bounds: [10, 20]}`."
    )


def test_ends_with_enough_people_are_no_outliers() -> None:
    assert find_outliers([10, 20, 30], [5, 1, 5], k=5, column="age") is None


def test_too_few_people_for_two_ends_are_no_outliers() -> None:
    assert find_outliers([1, 2, 3], [1, 1, 1], k=2, column="age") is None
    assert find_outliers([], [], k=2, column="age") is None


def test_what_is_not_finite_is_left_aside() -> None:
    values = [-np.inf, 1, 10, 20, 99, np.inf, np.nan]
    found = find_outliers(values, [9, 1, 9, 9, 1, 9, 9], k=5, column="age")
    assert found is not None
    assert found.clip.bounds == (10, 20)


@given(ages, st.integers(2, 10))
def test_after_clipping_either_end_is_shared_by_k_people(people: list[int], k: int) -> None:
    values, counts = np.unique(people, return_counts=True)
    found = find_outliers(values, counts, k=k, column="age")
    if found is None:
        return
    low, high = map(int, found.bounds)
    clipped = np.clip(people, low, high)
    assert min(np.sum(clipped == low), np.sum(clipped == high)) >= k
    assert found.below == np.sum(np.array(people) < low) < k
    assert found.above == np.sum(np.array(people) > high) < k
    assert found.clip.bounds[0] < found.clip.bounds[1]
