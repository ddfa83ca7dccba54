"""The distinguishing game and families: what is seen is what the formulas say."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks.audit.families import attack_family
from discreet.attacks.audit.game import distinguish_neighbors, geometric_error, laplace_error, play
from discreet.dp.calculate.distinguish import lowest_error
from discreet.errors import WrongUsage

TRIALS = 200_000
# Six standard deviations of a share of 200 000: a chance below 1e-8.
WITHIN = 6 * 0.5 / TRIALS**0.5


@pytest.mark.statistics
@pytest.mark.parametrize("mechanism", ["randomized response", "geometric", "laplace"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_the_best_guess_errs_as_often_as_the_formula_says(mechanism, epsilon):
    found = play(mechanism, epsilon=epsilon, trials=TRIALS, chance=np.random.default_rng(1))
    assert found.error == pytest.approx(found.expected, abs=WITHIN)
    assert found.error > lowest_error(float(epsilon)) - WITHIN


@given(st.floats(0.01, 20), st.integers(1, 30))
def test_no_formula_is_below_the_bound(epsilon, size):
    bound = lowest_error(epsilon * size)
    assert laplace_error(epsilon * size) >= bound
    assert geometric_error(epsilon, size) >= bound * (1 - 1e-9)


@given(st.floats(0.01, 20))
def test_the_geometric_mechanism_meets_the_bound(epsilon):
    assert geometric_error(epsilon) == pytest.approx(lowest_error(epsilon))


@pytest.mark.statistics
@pytest.mark.parametrize("size", [2, 3, 10])
def test_groups_are_distinguished_by_the_geometric_mechanism_as_the_formula_says(size):
    chance = np.random.default_rng(2)
    found = play("geometric", epsilon=Fraction(1, 5), size=size, trials=TRIALS, chance=chance)
    assert found.error == pytest.approx(found.expected, abs=WITHIN)


def test_three_findings_are_held_against_a_coin():
    found = distinguish_neighbors(
        epsilon=Fraction(1), trials=10_000, chance=np.random.default_rng(3)
    )
    assert [one.attack for one in found] == ["distinguishing"] * 3
    assert {one.baseline for one in found} == {0.5}
    assert all(one.details["bound"] == pytest.approx(0.26894, abs=1e-5) for one in found)


@pytest.mark.statistics
def test_a_family_is_hidden_like_so_many_times_epsilon():
    found = attack_family(
        epsilon=Fraction(1, 10), size=10, trials=TRIALS, chance=np.random.default_rng(4)
    )
    assert found.details["epsilon"] == 1
    assert found.details["error"] == pytest.approx(math.exp(-0.5) / 2, abs=WITHIN)
    assert found.details["error_of_one"] == pytest.approx(math.exp(-0.05) / 2, abs=WITHIN)
    assert (found.baseline, found.control) == (0.5, None)


@pytest.mark.parametrize(
    "wrong",
    [{"mechanism": "dice"}, {"trials": 0}, {"size": 0}, {"epsilon": Fraction(0)}, {"size": 2}],
)
def test_a_game_that_makes_no_sense_is_refused(wrong):
    options = {"mechanism": "randomized response", "epsilon": Fraction(1), "trials": 10, **wrong}
    with pytest.raises(WrongUsage):
        play(options.pop("mechanism"), chance=np.random.default_rng(5), **options)
