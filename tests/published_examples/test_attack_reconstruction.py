"""Reconstruction in the published examples: small worlds by hand, and what the theorems promise."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.attacks.reconstruction.equations import center_equations
from discreet.attacks.reconstruction.estimate import box_least_squares
from discreet.attacks.reconstruction.exhaustive import (
    consistent_tables,
    every_group,
    most_central,
    wrong_at_most,
)


def texts(tables: np.ndarray) -> set[str]:
    return {"".join(str(int(bit)) for bit in table) for table in tables}


def test_c34_a_group_adds_up_its_members():
    groups = np.array([[1, 0, 1, 0, 0], [0, 1, 0, 1, 1]])
    assert (groups @ np.array([1, 2, 4, 8, 16])).tolist() == [1 + 4, 2 + 8 + 16]


def test_c35_the_answer_of_a_group():
    assert np.array([1, 0, 1, 0, 1]) @ np.array([1, 1, 1, 0, 0]) == 2


def test_c36_three_tables_survive_noise_of_one_half():
    result = np.array([0.5, 0.5, 0.5, 1.5, 0.5, 1.5, 0.5, 1.5])
    assert texts(consistent_tables(every_group(3), result, error=0.5)) == {"001", "011", "101"}


def test_c37_one_table_survives():
    result = np.array([0.5, 0.5, 1, 1, 0.5, 1.5, 1.5, 2.5])
    assert texts(consistent_tables(every_group(3), result, error=0.5)) == {"110"}


@pytest.mark.parametrize("error", [0.0, 0.5, 1.0])
def test_c38_all_groups_give_away_all_but_four_times_the_error(error):
    chance = np.random.default_rng(38)
    bits, groups = chance.random(10) < 0.5, every_group(10)
    noise = chance.uniform(-error, error, len(groups))
    found = consistent_tables(groups, groups @ bits.astype(float) + noise, error=error)
    assert (most_central(found) != bits).sum() <= wrong_at_most(error)


def test_c38_the_promise_is_empty_once_four_errors_are_everybody():
    """The slide says "however much linear noise", which is false: an error of n/2 leaves every table."""
    groups = every_group(4)
    result = groups.sum(axis=1) / 2
    assert len(consistent_tables(groups, result, error=2)) == 16


@pytest.mark.statistics
def test_c39_a_few_questions_per_person_give_away_nearly_all():
    """Errors of 0.1 √n and 8 n questions: the closed form leaves less than one bit in 10^10."""
    chance = np.random.default_rng(39)
    groups, bits = chance.random((1600, 200)) < 0.5, chance.random(200) < 0.5
    result = groups @ bits.astype(float) + chance.uniform(-0.1, 0.1, 1600) * 200**0.5
    assert ((box_least_squares(center_equations(groups), result) > 0.5) == bits).all()
