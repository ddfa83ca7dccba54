"""Every table that could have given the answers: the truth is among them, and few others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks.reconstruction.exhaustive import (
    consistent_tables,
    every_group,
    most_central,
    wrong_at_most,
)
from discreet.errors import WrongUsage

tables = st.lists(st.booleans(), min_size=1, max_size=8).map(np.array)


@given(tables, st.floats(0, 2), st.integers(0, 10**6))
def test_the_truth_is_among_the_tables_and_no_other_is_far_from_it(bits, error, seed):
    groups = every_group(bits.size)
    noise = np.random.default_rng(seed).uniform(-error, error, len(groups))
    found = consistent_tables(groups, groups @ bits.astype(float) + noise, error=error)
    assert (found == bits).all(axis=1).any()
    assert (found != bits).sum(axis=1).max() <= wrong_at_most(error) + 1e-6


@given(tables)
def test_exact_answers_leave_one_table(bits):
    groups = every_group(bits.size)
    found = consistent_tables(groups, groups @ bits.astype(float), error=0.4)
    assert found.tolist() == [bits.tolist()]


def test_sixteen_people_and_all_questions_leave_tables_within_the_bound():
    chance = np.random.default_rng(2)
    bits = chance.random(16) < 0.5
    groups = every_group(16)
    answers = groups @ bits.astype(float) + chance.uniform(-1, 1, len(groups))
    found = consistent_tables(groups, answers, error=1)
    assert (found == bits).all(axis=1).any()
    assert (most_central(found) != bits).sum() <= wrong_at_most(1)


def test_twenty_people_take_few_questions():
    chance = np.random.default_rng(3)
    bits = chance.random(20) < 0.5
    groups = chance.random((200, 20)) < 0.5
    found = consistent_tables(groups, groups @ bits.astype(float), error=0)
    assert found.tolist() == [bits.tolist()]


def test_answers_that_no_table_gives_leave_none():
    assert len(consistent_tables(every_group(2), np.array([0, 5, 5, 5]), error=1)) == 0


def test_more_than_twenty_people_are_refused():
    with pytest.raises(WrongUsage, match="20 people"):
        every_group(21)
