from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.statistics.fit import ALPHA, frequency_p_value

from discreet.attacks.audit.bound import epsilon_lower_bound
from discreet.dp.logarithms import exp_above, exp_below, log_above
from discreet.dp.mechanisms.response import (
    coin_table,
    k_ary_table,
    randomize_among,
    randomize_answers,
    randomize_by_table,
    table_event,
    truth_for,
)
from discreet.errors import InvalidMechanism

RUNS = 200_000
HALF = Fraction(1, 2)
chances = st.fractions(min_value=Fraction(1, 100), max_value=Fraction(99, 100))


@pytest.mark.statistics
@pytest.mark.parametrize(("truth", "yes"), [("1/2", "1/2"), ("3/5", "2/5"), ("0", "1/3")])
def test_a_response_has_its_chances_and_its_epsilon(truth: str, yes: str):
    """200 000 people of either answer, alpha 1e-7."""
    coins = {"truth": Fraction(truth), "yes": Fraction(yes)}
    result = [randomize_answers(np.full(RUNS, answer), **coins) for answer in (False, True)]
    table = coin_table(**coins)
    for (answers, event), row in zip(result, table, strict=True):
        assert frequency_p_value(answers.astype(int), [float(chance) for chance in row]) > ALPHA
        assert event == table_event(table)
    found = epsilon_lower_bound(result[0][0].astype(int), result[1][0].astype(int))
    assert float(event.epsilon) * 0.9 <= found + 0.01
    assert found <= event.epsilon


@pytest.mark.statistics
def test_a_coin_that_answers_truthfully_more_often_is_caught():
    claimed = table_event(coin_table(truth=HALF)).epsilon
    result = [
        randomize_answers(np.full(RUNS, answer), truth=Fraction(11, 20))[0].astype(int)
        for answer in (False, True)
    ]
    assert epsilon_lower_bound(*result) > claimed


@pytest.mark.statistics
def test_a_response_among_several_has_its_chances():
    result, event = randomize_among(np.full(RUNS, 2), k=5, truth=Fraction(2, 5))
    assert frequency_p_value(result, [0.15, 0.15, 0.4, 0.15, 0.15]) > ALPHA
    assert event.epsilon == log_above(Fraction(8, 3))


@pytest.mark.statistics
def test_a_table_is_sampled_exactly():
    table = (
        (Fraction(1, 3), Fraction(0), Fraction(1, 6), HALF),
        (Fraction(1, 7), Fraction(0), Fraction(2, 7), Fraction(4, 7)),
    )
    inputs = np.arange(RUNS) % 2
    result, event = randomize_by_table(inputs, table=table)
    for place, row in enumerate(table):
        assert frequency_p_value(result[inputs == place], [float(chance) for chance in row]) > ALPHA
    assert event.epsilon == log_above(Fraction(7, 3))


@pytest.mark.statistics
def test_a_table_with_denominators_beyond_64_bits_is_sampled():
    rare = Fraction(1, 3**50)
    table = ((HALF - rare, HALF + rare), (HALF, HALF))
    result, _ = randomize_by_table(np.zeros(5000, np.int64), table=table)
    assert frequency_p_value(result, [0.5, 0.5]) > ALPHA


def test_the_coins_of_the_seeds_have_the_epsilons_of_the_seeds():
    """Fair coin: ln 3. Problem 4: 0.76, 0.24, 0.16, 0.84 and ln 4.75. Problem 6: n = 4, p = 0.7."""
    assert table_event(coin_table(truth=HALF)).epsilon == log_above(Fraction(3))
    biased = coin_table(truth=Fraction("0.6"), yes=Fraction("0.4"))
    assert [float(chance) for row in biased for chance in row] == [0.84, 0.16, 0.24, 0.76]
    assert float(table_event(biased).epsilon) == pytest.approx(1.5581, abs=1e-4)
    result = table_event(k_ary_table(k=4, truth=Fraction("0.7"))).epsilon
    assert float(result) == pytest.approx(1.9459, abs=1e-4)


@given(st.fractions(min_value=Fraction(1, 50), max_value=12), st.integers(2, 40))
def test_the_truth_may_be_answered_as_often_as_epsilon_allows(epsilon: Fraction, k: int):
    result = table_event(k_ary_table(k=k, truth=truth_for(epsilon, k=k))).epsilon
    assert epsilon - Fraction(1, 10**4) < result <= epsilon + Fraction(1, 10**12)


@given(chances, chances)
def test_a_coin_is_a_table(truth: Fraction, yes: Fraction):
    table = coin_table(truth=truth, yes=yes)
    assert table[1][1] == truth + (1 - truth) * yes
    ratios = [table[1][1] / table[0][1], table[0][0] / table[1][0]]
    claimed = float(table_event(table).epsilon)
    assert claimed == pytest.approx(max(math.log(ratio) for ratio in ratios), abs=2e-12)
    assert claimed >= max(math.log(ratio) for ratio in ratios) - 1e-15


@pytest.mark.parametrize(
    "table",
    [
        (),
        ((HALF,), (HALF,)),
        ((HALF, HALF), (Fraction(1),)),
        ((Fraction(3, 2), -HALF), (HALF, HALF)),
        ((Fraction(1), Fraction(0)), (HALF, HALF)),
    ],
    ids=["empty", "not 1", "ragged", "negative", "not private"],
)
def test_a_table_that_makes_no_sense_is_refused(table):
    with pytest.raises(InvalidMechanism):
        randomize_by_table([0], table=table)


def test_an_answer_that_is_no_input_is_refused_without_being_named():
    with pytest.raises(InvalidMechanism) as caught:
        randomize_among([7777], k=5, truth=HALF)
    assert "7777" not in str(caught.value)


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_logarithms_are_between_their_bounds(ratio: Fraction):
    low, high = -log_above(1 / ratio), log_above(ratio)
    assert 0 <= high - low <= Fraction(2, 10**12)
    assert exp_below(low) <= ratio <= exp_above(high)


@given(st.fractions(min_value=-300, max_value=300))
def test_exponentials_are_between_their_bounds(exponent: Fraction):
    low, high = exp_below(exponent), exp_above(exponent)
    assert low <= high <= low * (1 + Fraction(1, 10**50))
    assert float(high) == pytest.approx(math.exp(exponent))


def test_far_exponentials_are_bounded_without_being_computed():
    assert exp_below(Fraction(-(10**30))) == 0 < exp_above(Fraction(-(10**30)))
    with pytest.raises(InvalidMechanism):
        exp_above(Fraction(10**30))
    with pytest.raises(InvalidMechanism):
        log_above(Fraction(0))
