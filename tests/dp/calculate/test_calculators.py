"""Coins, noise, composition and what an adversary can do."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.dp.calculate.coins import (
    CoinChances,
    estimate_yes_share,
    evaluate_k_ary_response,
    evaluate_response,
    symmetric_coin_chances,
    two_coin_chances,
)
from discreet.dp.calculate.compose import compose_parts, compose_sequence, read_mechanism
from discreet.dp.calculate.distinguish import bound_distinguishing, protect_group
from discreet.dp.calculate.exponential import choose_chances
from discreet.dp.calculate.laplace import calibrate_laplace, measure_laplace
from discreet.dp.calculate.loss import Loss, format_fraction, parse_fraction
from discreet.errors import InvalidMechanism

share = st.fractions(0, 1, max_denominator=1000)


@given(share.filter(lambda heads: 0 < heads < 1))
def test_a_coin_and_its_mirror_image_cost_the_same(heads: Fraction):
    chances = two_coin_chances(heads)
    mirrored = CoinChances(1 - chances.if_no, 1 - chances.if_yes)
    assert evaluate_response(chances).epsilon == pytest.approx(evaluate_response(mirrored).epsilon)


def test_a_coin_that_always_asks_for_the_truth_is_not_private():
    assert evaluate_response(two_coin_chances(Fraction(0))).epsilon == math.inf
    assert evaluate_response(two_coin_chances(Fraction(1))).epsilon == 0


@given(share.filter(lambda p: 0 < p < 1))
def test_two_values_are_the_plain_scheme(truth: Fraction):
    assert evaluate_k_ary_response(truth, values=2).epsilon == pytest.approx(
        evaluate_response(symmetric_coin_chances(truth)).epsilon
    )


@given(share, share, st.integers(0, 200))
def test_the_estimator_undoes_the_coins(if_yes: Fraction, if_no: Fraction, people: int):
    coins = CoinChances(if_yes, if_no)
    mean = people * if_yes + (200 - people) * if_no
    if if_yes == if_no or mean.denominator != 1:
        return
    found = estimate_yes_share(coins, yes=int(mean), of=200)
    assert found.people == pytest.approx(people)
    assert found.people_lower - 1e-9 <= people <= found.people_upper + 1e-9


@pytest.mark.statistics
@pytest.mark.parametrize(("people", "of"), [(0, 60), (12, 60), (55, 60), (30, 30)])
def test_the_interval_covers_the_number_of_people_as_often_as_it_says(people: int, of: int):
    # Exact: the chance of each number of yes answers, so that no sample is drawn.
    coins = two_coin_chances(Fraction(1, 2))
    p, q = float(coins.if_yes), float(coins.if_no)

    def binomial(k: int, n: int, chance: float) -> float:
        return math.comb(n, k) * chance**k * (1 - chance) ** (n - k)

    covered = 0.0
    for yes in range(of + 1):
        chance = math.fsum(
            binomial(first, people, p) * binomial(yes - first, of - people, q)
            for first in range(max(0, yes - of + people), min(yes, people) + 1)
        )
        found = estimate_yes_share(coins, yes=yes, of=of)
        covered += chance * (found.people_lower - 1e-9 <= people <= found.people_upper + 1e-9)
    assert covered >= 0.95


def test_coins_that_do_not_look_at_the_truth_cannot_be_undone():
    with pytest.raises(InvalidMechanism, match="carry no information"):
        estimate_yes_share(CoinChances(Fraction(1, 3), Fraction(1, 3)), yes=1, of=3)


@pytest.mark.parametrize(("yes", "of"), [(-1, 5), (6, 5), (0, 0)])
def test_more_answers_than_people_are_refused(yes: int, of: int):
    with pytest.raises(InvalidMechanism):
        estimate_yes_share(two_coin_chances(Fraction(1, 2)), yes=yes, of=of)


@pytest.mark.parametrize("chance", [Fraction(-1, 10), Fraction(11, 10)])
def test_what_is_no_chance_is_refused(chance: Fraction):
    for make in (
        two_coin_chances,
        symmetric_coin_chances,
        lambda p: evaluate_k_ary_response(p, values=3),
        lambda p: CoinChances(p, p),
    ):
        with pytest.raises(InvalidMechanism, match="from 0 to 1"):
            make(chance)


@given(st.fractions(Fraction(1, 1000), 1000), st.fractions(Fraction(1, 1000), 1000))
def test_scale_and_epsilon_are_inverse(epsilon: Fraction, sensitivity: Fraction):
    bought = calibrate_laplace(epsilon, sensitivity=sensitivity)
    assert bought.epsilon == pytest.approx(float(epsilon))
    assert measure_laplace(sensitivity / epsilon, sensitivity=sensitivity).scale == bought.scale


def test_one_answer_in_twenty_has_a_larger_error():
    found = measure_laplace(Fraction(2), sensitivity=Fraction(1))
    assert math.exp(-found.error_95 / 2) == pytest.approx(0.05)


@pytest.mark.parametrize("number", [Fraction(0), Fraction(-1)])
def test_noise_of_no_scale_is_refused(number: Fraction):
    for call in (measure_laplace, calibrate_laplace):
        with pytest.raises(InvalidMechanism):
            call(number, sensitivity=Fraction(1))
        with pytest.raises(InvalidMechanism):
            call(Fraction(1), sensitivity=number)


def test_a_thousand_questions_by_four_ways_to_count():
    found = compose_sequence(
        [read_mechanism("laplace:100:1")], times=1000, delta=Fraction(1, 10**6)
    )
    accounts = found.accounts
    assert accounts is not None
    assert (found.epsilon, accounts.basic) == (10, 10)
    # The same numbers by dp-accounting itself: 1.363 by PLD, between 1.46 and 1.72 by zCDP.
    assert accounts.pld == pytest.approx(1.363, abs=1e-3)
    assert accounts.pld < accounts.zcdp < accounts.advanced < accounts.basic


@given(st.lists(st.fractions(0, 3, max_denominator=20), min_size=1, max_size=4), st.integers(1, 9))
def test_no_way_to_count_exceeds_adding_up(epsilons: list[Fraction], times: int):
    parts = [read_mechanism(str(epsilon)) for epsilon in epsilons]
    found = compose_sequence(parts, times=times)
    assert found.epsilon == pytest.approx(float(sum(epsilons) * times))
    assert compose_parts(parts, times=times).epsilon <= found.epsilon + 1e-12


def test_without_dp_accounting_the_other_three_ways_remain(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    found = compose_sequence([read_mechanism("0.1")], times=100, delta=Fraction(1, 1000))
    assert found.accounts is not None
    assert (found.accounts.pld, found.accounts.basic) == (None, 10)


@pytest.mark.parametrize(
    "text", ["", "x", "-0.1", "laplace:10", "laplace:0:1", "laplace:1:-1", "ln:0.5", "rr:3", "nan"]
)
def test_what_is_no_mechanism_is_refused(text: str):
    with pytest.raises(InvalidMechanism, match="no mechanism"):
        read_mechanism(text)


def test_nothing_and_never_cannot_be_composed():
    with pytest.raises(InvalidMechanism):
        compose_sequence([])
    with pytest.raises(InvalidMechanism):
        compose_sequence([read_mechanism("1")], times=0)
    with pytest.raises(InvalidMechanism):
        compose_sequence([read_mechanism("1")], delta=Fraction(0))


@given(st.fractions(0, 300, max_denominator=100))
def test_the_least_error_meets_the_ratio_of_epsilon(epsilon: Fraction):
    found = bound_distinguishing(epsilon)
    error = found.lowest_error
    assert (1 - error) / error == pytest.approx(math.exp(float(epsilon)), rel=1e-9)
    assert found.log10_lowest_error == pytest.approx(math.log10(error))


def test_an_epsilon_below_zero_and_a_group_of_no_one_are_refused():
    with pytest.raises(InvalidMechanism):
        bound_distinguishing(Fraction(-1))
    with pytest.raises(InvalidMechanism):
        protect_group(Fraction(1), size=0)


def test_scores_that_differ_much_do_not_overflow():
    assert choose_chances({"a": 1e6, "b": 0.0}, scale=1.0) == {"a": 1.0, "b": 0.0}
    with pytest.raises(InvalidMechanism):
        choose_chances({}, scale=1.0)


@given(st.fractions(max_denominator=10**6))
def test_what_is_shown_exactly_reads_back(number: Fraction):
    text = format_fraction(number)
    assert parse_fraction(text) == number or len(str(number)) > 20


def test_losses_keep_their_exact_words():
    assert Loss().words == "0"
    assert (Loss.of_ratio(Fraction(3)) + Loss.of_ratio(Fraction(3))).words == "2 ln 3"
    assert Loss.of_ratio(Fraction(8, 3)).words == "ln(8/3)"
    assert (Loss(Fraction(1)) + Loss.of_ratio(None)).words == "infinite"
    assert Loss.of_ratio(Fraction(10**400)).value == pytest.approx(400 * math.log(10))
