"""Estimates of everyone's bit: each is the best for its noise, and all are right without any."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from bench.reconstruction_programs import chebyshev_program, least_absolute_program

from discreet.attacks.reconstruction.belief import NoiseBelief, fit_bits, guess_bits, read_belief
from discreet.attacks.reconstruction.equations import center_equations
from discreet.attacks.reconstruction.estimate import (
    box_least_squares,
    estimate_deviation,
    least_squares,
)
from discreet.attacks.reconstruction.limit import (
    expected_accuracy,
    measure_limit,
    stopping_noise,
)
from discreet.attacks.reconstruction.splitting import chebyshev, least_absolute
from discreet.errors import WrongUsage

PEOPLE, QUESTIONS = 500, 2000
ROOT = PEOPLE**0.5


@cache
def instance():
    """500 people, 2 000 groups, and the exact counts."""
    chance = np.random.default_rng(1)
    groups = chance.random((QUESTIONS, PEOPLE)) < 0.5
    bits = chance.random(PEOPLE) < 0.5
    return center_equations(groups), bits, groups @ bits.astype(float)


def share(estimate: np.ndarray) -> float:
    return float(np.mean((estimate > 0.5) == instance()[1]))


def noise_of(shape: str) -> np.ndarray:
    chance = np.random.default_rng(2)
    return {
        "uniform": chance.uniform(-0.5 * ROOT, 0.5 * ROOT, QUESTIONS),
        "gaussian": chance.normal(0, 0.25 * ROOT, QUESTIONS),
        "laplace": chance.laplace(0, 0.25 * ROOT, QUESTIONS),
    }[shape]


@pytest.mark.parametrize("estimator", [least_squares, box_least_squares, chebyshev, least_absolute])
def test_exact_counts_give_everyone_away(estimator):
    system, _, exact = instance()
    assert share(estimator(system, exact)) == 1


@pytest.mark.statistics
def test_each_noise_has_its_estimator():
    """One seeded draw each; the gaps are several standard deviations (0.01) wide, or ties are allowed."""
    system, _, exact = instance()
    flat, heavy = exact + noise_of("uniform"), exact + noise_of("laplace")
    assert share(chebyshev(system, flat)) > share(box_least_squares(system, flat)) + 0.015
    assert share(box_least_squares(system, flat)) > share(least_absolute(system, flat)) + 0.04
    assert share(least_absolute(system, heavy)) >= share(box_least_squares(system, heavy)) - 0.01
    bell = exact + noise_of("gaussian")
    assert share(box_least_squares(system, bell)) > share(least_absolute(system, bell)) + 0.01


@pytest.mark.statistics
def test_a_fifth_of_arbitrary_answers_is_no_defense():
    system, _, exact = instance()
    chance = np.random.default_rng(4)
    wild = np.where(chance.random(QUESTIONS) < 0.2, chance.integers(0, PEOPLE, QUESTIONS), exact)
    assert share(least_absolute(system, wild)) >= 0.99
    assert share(box_least_squares(system, wild)) < 0.7


@pytest.mark.statistics
@pytest.mark.parametrize(("step", "least"), [(10, 1.0), (50, 0.95)])
def test_rounding_is_no_defense(step, least):
    system, _, exact = instance()
    assert share(chebyshev(system, np.round(exact / step) * step)) >= least


@pytest.mark.statistics
def test_rounding_to_50_leaves_least_squares_six_of_seven_bits():
    system, _, exact = instance()
    assert share(box_least_squares(system, np.round(exact / 50) * 50)) == pytest.approx(
        0.86, abs=0.04
    )


@pytest.mark.statistics
def test_noise_of_a_total_epsilon_of_one_leaves_chance():
    """2 000 answers of epsilon 1/2000; 0.6 of 500 bits by chance has a chance below 1e-5."""
    system, _, exact = instance()
    noisy = exact + np.random.default_rng(5).laplace(0, QUESTIONS, QUESTIONS)
    for shape in ("laplace", "gaussian", "unknown"):
        assert (
            np.mean(guess_bits(fit_bits(system, noisy, NoiseBelief(shape))) == instance()[1]) < 0.6
        )


@pytest.mark.parametrize(
    ("shape", "method"),
    [
        ("uniform", "Chebyshev"),
        ("laplace", "least absolute errors"),
        ("gaussian", "least squares"),
    ],
)
def test_unknown_noise_shows_its_shape(shape, method):
    system, _, exact = instance()
    assert fit_bits(system, exact + noise_of(shape), NoiseBelief()).method == method


def test_the_programs_agree_with_the_estimators():
    chance = np.random.default_rng(6)
    groups = chance.random((240, 60)) < 0.5
    bits = chance.random(60) < 0.5
    answers = groups @ bits.astype(float) + chance.uniform(-2, 2, 240)
    for program, estimator in (
        (chebyshev_program, chebyshev),
        (least_absolute_program, least_absolute),
    ):
        bits = program(groups, answers) > 0.5
        assert np.mean(bits == (estimator(center_equations(groups), answers) > 0.5)) >= 0.95


@pytest.mark.statistics
def test_least_squares_follows_the_closed_form():
    """1 000 people, 4 000 questions, 10 draws of noise each: a standard deviation below 0.005."""
    chance = np.random.default_rng(7)
    groups, bits = chance.random((4000, 1000)) < 0.5, chance.random(1000) < 0.5
    trials = measure_limit(groups, bits, chance=chance, alphas=(0.1, 0.25, 0.5, 1, 2))
    assert [round(trial.expected, 3) for trial in trials] == [1.0, 0.958, 0.807, 0.667, 0.586]
    for trial in trials:
        assert trial.measured == pytest.approx(trial.expected, abs=0.02)


@pytest.mark.parametrize("noise", [1.0, 10.0, 40.0])
def test_the_spread_of_estimates_reveals_the_noise(noise):
    system, _, exact = instance()
    noisy = exact + np.random.default_rng(8).normal(0, noise, QUESTIONS)
    deviation = estimate_deviation(system, noisy, least_squares(system, noisy))
    assert deviation == pytest.approx(2 * noise / (QUESTIONS - PEOPLE) ** 0.5, rel=0.05)


def test_the_noise_that_stops_it_is_where_the_formula_says():
    noise = stopping_noise(people=300, questions=1500)
    found = expected_accuracy(people=300, questions=1500, noise=noise)
    assert found == pytest.approx(0.6)
    assert expected_accuracy(people=300, questions=300, noise=1) == 0.5


def test_fewer_questions_than_people_still_have_an_estimate():
    chance = np.random.default_rng(9)
    groups = chance.random((20, 40)) < 0.5
    found = fit_bits(center_equations(groups), groups @ np.ones(40), NoiseBelief())
    assert found.spread == float("inf")
    assert guess_bits(found).shape == (40,)


def test_a_rare_secret_that_noise_hides_is_guessed_for_no_one():
    """The commoner bit is right for 95 %; a threshold in the middle would be for about half."""
    chance = np.random.default_rng(10)
    groups, bits = chance.random((1200, 300)) < 0.5, chance.random(300) < 0.05
    noisy = groups @ bits.astype(float) + chance.normal(0, 40, 1200)
    assert (
        np.mean(
            guess_bits(fit_bits(center_equations(groups), noisy, NoiseBelief("gaussian"))) == bits
        )
        > 0.9
    )


@pytest.mark.parametrize(
    "text", ["gauss", "uniform:x", "laplace:3", "uniform:-1", "uniform:inf", ""]
)
def test_noise_that_no_one_knows_is_refused(text):
    with pytest.raises(WrongUsage):
        read_belief(text)


def test_answers_for_other_groups_are_refused():
    with pytest.raises(WrongUsage, match="one for each"):
        center_equations(np.ones((3, 2), bool)).sides(np.ones(2))
