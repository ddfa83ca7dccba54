"""Distances between what is true and what labels tell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.measure.utility.distances import (
    Labeled,
    label_unchanged,
    marginal_distance,
    pairwise_distance,
)

ROWS = st.lists(st.integers(0, 20), min_size=6, max_size=6).map(np.array)


def hidden(values: np.ndarray, size: int, *, domain: int | None = None) -> Labeled:
    """A column whose label may be any of a domain's values."""
    share = np.full((size, 1), 1 / (domain or size))
    return Labeled(values, np.zeros_like(values), size, 1, lambda weights: share @ weights)


def test_a_column_that_stays_is_reported_exactly():
    column = label_unchanged(np.array([0, 1, 2]), 3)
    assert marginal_distance(column, np.array([5, 1, 3])) == 0
    assert pairwise_distance(column, column, np.array([5, 1, 3])) == 0


def test_a_hidden_column_is_as_far_as_its_values_are_from_even():
    column = hidden(np.array([0, 1]), 2)
    assert marginal_distance(column, np.array([9, 1])) == pytest.approx(0.4)
    assert marginal_distance(column, np.array([5, 5])) == 0


def test_values_that_the_table_lacks_take_their_part():
    column = hidden(np.array([0, 1]), 2, domain=4)
    assert marginal_distance(column, np.array([5, 5])) == pytest.approx(0.5)


def test_pairs_distinguish_what_marginals_do_not():
    # x and y always agree; each by itself is even, so that hiding one loses no marginal.
    x, y = label_unchanged(np.array([0, 1]), 2), hidden(np.array([0, 1]), 2)
    rows = np.array([5, 5])
    assert marginal_distance(y, rows) == 0
    assert pairwise_distance(x, y, rows) == pytest.approx(0.5)


@given(rows=ROWS)
def test_a_pair_is_at_least_as_far_as_either_of_its_columns(rows):
    x, y = label_unchanged(np.array([0, 0, 1, 1, 2, 2]), 3), hidden(np.array([0, 1, 0, 1, 0, 1]), 2)
    together = pairwise_distance(x, y, rows)
    assert 0 <= together <= 1
    assert together >= marginal_distance(y, rows) - 1e-12
    assert together == pytest.approx(pairwise_distance(y, x, rows))
