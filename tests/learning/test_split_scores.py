"""Scores of splits are what the criteria are, and one row changes them by no more than is paid for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.learning.split_scores import CRITERIA, SplitScore

CELLS = st.lists(
    st.one_of(st.integers(0, 6), st.integers(0, 10**6), st.integers(0, 2**41)),
    min_size=6,
    max_size=6,
)


@pytest.mark.parametrize("criterion", CRITERIA)
@given(cells=CELLS, place=st.integers(0, 5), cap=st.sampled_from([1, 50, 10**6, 2**60]))
@settings(max_examples=150, deadline=None)
def test_one_row_changes_all_scores_within_one_interval(criterion, cells, place, cap):
    """Each candidate puts the row of class 0 or 1 beside other rows of its side, so that cells stand for candidates."""
    score = SplitScore(criterion, cap)
    before = np.array(cells, np.int64).reshape(3, 2)
    row = place % 2
    after = before.copy()
    after[:, row] += 1
    changes = score.purity(after) - score.purity(before)
    assert np.ptp(changes) <= score.reach(2)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_larger_change_than_is_paid_for_is_possible_with_two_rows(criterion):
    score = SplitScore(criterion, 1000)
    before = np.array([[0, 800], [800, 0]])
    changes = score.purity(before + np.array([3, 0])) - score.purity(before)
    assert np.ptp(changes) > score.reach(2)


def test_information_gain_ranks_as_the_formula_does():
    chance = np.random.default_rng(4)
    tables = chance.integers(0, 500, (20, 4, 3)) + 1
    tables[:, -1] = 4000 - tables[:, :-1].sum(axis=1)  # the same classes, whatever the split
    found = SplitScore("information-gain").score_values(tables)
    shares = tables / tables.sum(axis=2, keepdims=True)
    weights = tables.sum(axis=2) / tables.sum(axis=(1, 2))[:, None]
    entropy = (weights * -(shares * np.log2(shares)).sum(axis=2)).sum(axis=1)
    assert np.argsort(-found).tolist() == np.argsort(entropy).tolist()


def test_gini_ranks_as_the_formula_does():
    chance = np.random.default_rng(4)
    tables = chance.integers(0, 500, (20, 4, 3)) + 1
    tables[:, -1] = 4000 - tables[:, :-1].sum(axis=1)
    found = SplitScore("gini").score_values(tables)
    shares = tables / tables.sum(axis=2, keepdims=True)
    weights = tables.sum(axis=2) / tables.sum(axis=(1, 2))[:, None]
    impurity = (weights * (1 - (shares**2).sum(axis=2))).sum(axis=1)
    assert np.argsort(-found).tolist() == np.argsort(impurity).tolist()


def test_a_threshold_is_a_split_in_two():
    counts = np.random.default_rng(3).integers(0, 50, (2, 5, 3))
    found = SplitScore("gini").score_thresholds(counts)
    assert found.shape == (2, 4)
    for after in range(4):
        sides = np.stack(
            [counts[:, : after + 1].sum(axis=1), counts[:, after + 1 :].sum(axis=1)], axis=1
        )
        assert found[:, after].tolist() == SplitScore("gini").score_values(sides).tolist()


def test_the_reach_is_that_of_the_paper():
    assert SplitScore("max").reach(2) == 1
    assert SplitScore("gini").reach(2) / 16 == pytest.approx(2, abs=0.2)
    bound = math.log2(2 * 1000 + 1) + 1 / math.log(2)
    assert SplitScore("information-gain", 1000).reach(2) / 16 == pytest.approx(bound, abs=0.9)
