"""Epsilon in the published examples, played: errors of the best guess, families, and noise by its tails."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks.audit.families import attack_family
from discreet.attacks.audit.game import play
from discreet.attacks.audit.mechanism import make_builtin_mechanism
from discreet.dp.calculate.distinguish import bound_distinguishing


@pytest.mark.parametrize(
    ("epsilon", "error"),
    [("0", 0.5), ("0.1", 0.47502), ("1", 0.26894), ("5", 0.0066929), ("10", 4.5398e-5)],
)
def test_c40_no_guess_errs_less(epsilon, error):
    assert bound_distinguishing(Fraction(epsilon)).lowest_error == pytest.approx(error, rel=1e-4)


def test_c40_at_a_huge_epsilon_the_error_is_smaller_than_any_float():
    assert bound_distinguishing(Fraction(10**5)).log10_lowest_error == pytest.approx(
        -43429.448, abs=1e-3
    )


@pytest.mark.statistics
@pytest.mark.parametrize("mechanism", ["randomized response", "geometric"])
def test_c40_two_mechanisms_leave_no_more_than_that(mechanism):
    """200 000 guesses: six standard deviations are 0.006."""
    found = play(mechanism, epsilon=Fraction(1), trials=200_000, chance=np.random.default_rng(40))
    assert found.error == pytest.approx(0.26894, abs=0.006)


@pytest.mark.parametrize(("epsilon", "ratio"), [("0.1", 1.105), ("1", 2.718), ("5", 148.41)])
def test_c41_a_chance_grows_by_e_to_the_epsilon(epsilon, ratio):
    assert bound_distinguishing(Fraction(epsilon)).ratio == pytest.approx(ratio, rel=1e-3)


@pytest.mark.statistics
def test_b28_a_family_of_ten_with_a_contagious_disease():
    """200 000 guesses: six standard deviations are 0.007."""
    found = attack_family(
        epsilon=Fraction("0.1"), size=10, trials=200_000, chance=np.random.default_rng(28)
    )
    assert found.details["bound_of_one"] == pytest.approx(0.475, abs=5e-4)
    assert found.details["bound"] == pytest.approx(0.269, abs=5e-4)
    assert found.details["expected"] == pytest.approx(0.303, abs=5e-4)
    assert found.details["error"] == pytest.approx(0.303, abs=0.007)


@pytest.mark.statistics
def test_a28_noise_of_scale_ten():
    """200 000 draws; the printed 31.52 off is exceeded by 4.3 %, within six standard deviations."""
    noise = make_builtin_mechanism("laplace", epsilon=Fraction("0.1")).many(0, 200_000)
    assert np.std(noise) == pytest.approx(14.14, rel=0.02)
    assert np.mean(np.abs(noise) > 31.52) == pytest.approx(math.exp(-3.152), abs=0.003)
