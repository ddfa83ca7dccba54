"""Laplace and Gaussian noise on integers: what is claimed, what is released, what cannot occur."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.statistics.fit import ALPHA, fit_p_value, laplace_below
from tests.statistics.runs import ManyRuns, NoNoise

from discreet.attacks.audit.bound import epsilon_lower_bound
from discreet.dp.event import Gaussian, Laplace
from discreet.dp.mechanisms import gaussian, laplace
from discreet.dp.mechanisms.add import add_noise, as_integers
from discreet.errors import InvalidBudget, InvalidMechanism

RUNS = 200_000
ONE = Fraction(1)
epsilons = st.fractions(min_value=Fraction(1, 1000), max_value=20)


@pytest.mark.statistics
@pytest.mark.parametrize(("epsilon", "change"), [("1", 1), ("1/3", 7), ("2.5", 1)])
def test_laplace_noise_reveals_no_more_than_its_epsilon(epsilon: str, change: int):
    """Lower bound of epsilon from 200 000 runs on each input, alpha 1e-7."""
    claimed = Fraction(epsilon)
    outputs = [
        laplace.laplace_noisy_vector(np.full(RUNS, value), epsilon=claimed, sensitivity=change)[0]
        for value in (0, change)
    ]
    assert 0.6 * claimed < epsilon_lower_bound(*outputs) <= claimed


@pytest.mark.statistics
def test_a_sensitivity_of_half_is_caught():
    outputs = [
        laplace.laplace_noisy_vector(np.full(RUNS, value), epsilon=ONE, sensitivity=1)[0]
        for value in (0, 2)
    ]
    assert epsilon_lower_bound(*outputs) > 1


@pytest.mark.statistics
def test_laplace_noise_of_floats_is_caught():
    """Near 0, sums with 1 are multiples of 2^-53, and others are not (Mironov 2012)."""
    drawn = np.random.default_rng(4).laplace(size=(2, RUNS))
    outputs = [(value + part) * 2.0**53 % 1 == 0 for value, part in zip((0, 1), drawn, strict=True)]
    assert epsilon_lower_bound(*outputs) > 5


@pytest.mark.statistics
def test_a_vector_is_covered_by_the_sum_of_its_changes():
    """Both places move by 1 with sensitivity 2: the pair tells at most epsilon, a place half of it."""
    pairs = [
        laplace.laplace_noisy_vector(np.full(2 * RUNS, value), epsilon=ONE, sensitivity=2)[0]
        for value in (0, 1)
    ]
    joint = [np.clip(p[:RUNS], -9, 9) * 100 + np.clip(p[RUNS:], -9, 9) for p in pairs]
    assert 0.6 < epsilon_lower_bound(*joint) <= 1
    assert epsilon_lower_bound(pairs[0], pairs[1]) <= 0.5


@pytest.mark.statistics
def test_gaussian_noise_reveals_no_more_than_its_rho():
    """rho-zCDP is (rho + 2 sqrt(rho ln 1/delta), delta)-DP (Bun & Steinke 2016, proposition 1.3)."""
    rho, delta = Fraction(1, 2), 1e-2
    outputs = [
        gaussian.gaussian_noisy_vector(np.full(RUNS, value), rho=rho, squared_sensitivity=9)[0]
        for value in (0, 3)
    ]
    claimed = float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / delta))
    assert 1 < epsilon_lower_bound(*outputs, delta=delta) <= claimed


@pytest.mark.statistics
def test_gaussian_noise_of_a_third_is_caught():
    rho, delta = Fraction(1, 2), 1e-2
    outputs = [
        gaussian.gaussian_noisy_vector(np.full(RUNS, value), rho=rho, squared_sensitivity=1)[0]
        for value in (0, 3)
    ]
    claimed = float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / delta))
    assert epsilon_lower_bound(*outputs, delta=delta) > claimed


@pytest.mark.statistics
def test_single_answers_fit_their_chances():
    noise = ManyRuns()
    answers = [
        laplace.laplace_noisy_integer(40, epsilon=Fraction(1, 2), sensitivity=1, noise=noise)[0]
        for _ in range(20_000)
    ]
    assert fit_p_value(np.array(answers) - 40, laplace_below(2)) > ALPHA


@given(epsilons, st.fractions(min_value=Fraction(1, 100), max_value=1000))
def test_an_event_costs_no_more_than_was_asked_for(epsilon: Fraction, sensitivity: Fraction):
    event = laplace.laplace_event(epsilon=epsilon, sensitivity=sensitivity)
    assert event.sensitivity / event.scale <= epsilon
    assert event.sensitivity / event.scale > epsilon * (1 - Fraction(1, 2**50))
    normal = gaussian.gaussian_event(rho=epsilon, squared_sensitivity=sensitivity)
    assert normal.squared_sensitivity / (2 * normal.scale**2) <= epsilon


def test_mechanisms_say_what_they_did():
    assert laplace.laplace_noisy_vector([1, 2], epsilon=Fraction(1, 2), sensitivity=3)[
        1
    ] == Laplace(Fraction(3), Fraction(6))
    result = gaussian.gaussian_vector_of_scale([1], scale=Fraction(5, 2), squared_sensitivity=4)[1]
    assert result == Gaussian(Fraction(4), Fraction(5, 2))


@given(st.lists(st.integers(-(2**62), 2**62), max_size=20))
def test_without_noise_values_come_back(values: list[int]):
    found = laplace.laplace_noisy_vector(values, epsilon=ONE, sensitivity=1, noise=NoNoise())[0]
    assert found.tolist() == values


@given(
    st.lists(
        st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1)), min_size=1
    )
)
def test_sums_stop_at_the_end_of_64_bits(pairs: list[tuple[int, int]]):
    values, noise = np.array(pairs, np.int64).T
    expected = [min(max(a + b, -(2**63)), 2**63 - 1) for a, b in pairs]
    assert add_noise(values, noise).tolist() == expected


def test_integers_beyond_64_bits_are_added_exactly():
    found, _ = laplace.laplace_noisy_vector([2**90], epsilon=ONE, sensitivity=1)
    assert found.dtype == object
    assert abs(found[0] - 2**90) < 200
    assert laplace.laplace_noisy_integer(2**90, epsilon=ONE, sensitivity=1)[0] > 2**89


@pytest.mark.parametrize("values", [np.array([0.5]), np.array([True])], ids=["float", "bool"])
def test_what_is_no_integer_is_refused(values):
    with pytest.raises(InvalidMechanism):
        as_integers(values)


def test_unsigned_integers_are_taken_as_they_are():
    assert as_integers(np.array([2**64 - 1], np.uint64)).tolist() == [2**64 - 1]
    assert as_integers(np.array([5], np.int8)).dtype == np.int64


def test_parameters_out_of_range_are_refused():
    with pytest.raises(InvalidBudget):
        laplace.laplace_noisy_integer(1, epsilon=Fraction(0), sensitivity=1)
    with pytest.raises(InvalidBudget):
        gaussian.gaussian_noisy_vector([1], rho=Fraction(0), squared_sensitivity=1)
    with pytest.raises(InvalidMechanism):
        laplace.laplace_noisy_integer(1, epsilon=ONE, sensitivity=0)
    with pytest.raises(InvalidMechanism):
        laplace.laplace_noisy_integer(1, epsilon=Fraction(1, 2**60), sensitivity=1)
