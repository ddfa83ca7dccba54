from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from itertools import permutations as all_orders

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.statistics.fit import (
    ALPHA,
    fit_p_value,
    frequency_p_value,
    gaussian_below,
    laplace_below,
)

from discreet.dp import exact
from discreet.dp.exact import (
    BITS,
    Exponents,
    bernoulli,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    geometric,
    multiply_exponents,
    parabola,
    uniform,
)
from discreet.dp.noise import sample_exponential, sample_permute_and_flip, score_gaps

RUNS = 100_000
rates = st.fractions(min_value=Fraction(1, 2**80), max_value=2**80).filter(bool)


@pytest.mark.statistics
@pytest.mark.parametrize(
    "below", [1, 3, 7, 255, 256, 1000, 3 * 2**60 // 2, 2**62, 2**62 + 1, 3 * 10**20]
)
def test_every_integer_below_is_as_likely_as_another(below: int):
    count = 20_000 if below > 2**62 else RUNS
    drawn = uniform(below, count)
    assert 0 <= int(drawn.min()) <= int(drawn.max()) < below
    parts = min(below, 50)
    places = (drawn.astype(object) * parts // below).astype(np.int64)
    edges = [math.ceil(Fraction(below * part, parts)) for part in range(parts + 1)]
    chances = [float(Fraction(high - low, below)) for low, high in pairwise(edges)]
    assert frequency_p_value(places, chances) > ALPHA
    assert frequency_p_value((drawn % min(below, 7)).astype(np.int64), _residues(below)) > ALPHA


def _residues(below: int) -> list[float]:
    modulus = min(below, 7)
    return [float(Fraction((below - r + modulus - 1) // modulus, below)) for r in range(modulus)]


@pytest.mark.parametrize(("below", "size"), [(3, 2), (300, 8)])
def test_a_remainder_that_would_favor_small_numbers_is_drawn_again(below, size, monkeypatch):
    """Neither divides a power of 2: the last word is not used, whatever comes first."""
    words = iter([b"\xff" * size, b"\x05" + b"\x00" * (size - 1)])
    monkeypatch.setattr(exact.os, "urandom", lambda size: next(words))
    assert uniform(below, 1).tolist() == [5 % below]


@pytest.mark.statistics
@pytest.mark.parametrize("chance", [Fraction(0), Fraction(1), Fraction(2, 7), Fraction(0.1)])
def test_a_coin_has_its_chance(chance: Fraction):
    flips = bernoulli(chance, RUNS).astype(np.int64)
    assert frequency_p_value(flips, [float(1 - chance), float(chance)]) > ALPHA


@pytest.mark.statistics
@pytest.mark.parametrize("gamma", ["0", "1/3", "1", "5/2", "17/3", "1/1000000000000"])
def test_a_coin_of_an_exponential_has_its_chance(gamma: str):
    rate = Fraction(gamma)
    gammas = multiply_exponents(np.ones(RUNS, np.int64), rate) if rate else _zeros(RUNS)
    chance = math.exp(-rate)
    flips = bernoulli_exp(gammas).astype(np.int64)
    assert frequency_p_value(flips, [1 - chance, chance]) > ALPHA


def _zeros(count: int) -> Exponents:
    return multiply_exponents(np.zeros(count, np.int64), Fraction(1))


@pytest.mark.statistics
@pytest.mark.parametrize("gamma", ["1/3", "5/2"])
@pytest.mark.parametrize("bits", [1, 4])
def test_a_coin_decided_from_few_bits_has_its_chance_too(gamma: str, bits: int, monkeypatch):
    """With bounds that say little, most decisions are made exactly, as one in 100 000 is else."""
    rate, count = Fraction(gamma), 20_000
    low = math.floor(rate * 2**bits) << (BITS - bits)
    lower = np.full(count, low)
    gammas = Exponents(lower, lower + (1 << (BITS - bits)), lambda lane: rate)
    chance = math.exp(-rate)
    assert frequency_p_value(bernoulli_exp(gammas).astype(int), [1 - chance, chance]) > ALPHA


@pytest.mark.statistics
def test_a_coin_of_wrong_bounds_is_noticed():
    """The test above can fail: bounds that exclude gamma make a wrong chance."""
    wrong = np.full(RUNS, int(0.3 * 2**BITS))
    gammas = Exponents(wrong, wrong, lambda lane: Fraction(1, 3))
    chance = math.exp(-1 / 3)
    assert frequency_p_value(bernoulli_exp(gammas).astype(int), [1 - chance, chance]) < ALPHA


@given(st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=5), rates)
def test_bounds_of_multiples_hold(factors: list[int], rate: Fraction):
    gammas = multiply_exponents(np.array(factors, np.int64), rate)
    for lane, factor in enumerate(factors):
        assert gammas.exact(lane) == factor * rate
        assert int(gammas.lower[lane]) <= factor * rate * 2**BITS
        known = factor * rate * 2**BITS <= int(gammas.upper[lane])
        assert known or int(gammas.upper[lane]) == 2**62


@given(st.lists(st.integers(0, 2**200), min_size=1, max_size=5), rates)
def test_bounds_of_multiples_hold_for_large_integers(factors: list[int], rate: Fraction):
    gammas = multiply_exponents(np.array(factors, object), rate)
    for lane, factor in enumerate(factors):
        assert int(gammas.lower[lane]) <= factor * rate * 2**BITS
        known = factor * rate * 2**BITS <= int(gammas.upper[lane])
        assert known or int(gammas.upper[lane]) == 2**62


@given(st.lists(st.integers(0, 2**62), min_size=1, max_size=5), rates)
def test_bounds_of_a_parabola_hold(sizes: list[int], scale: Fraction):
    variance = min(scale, Fraction(2**55)) ** 2
    width = math.isqrt(math.floor(variance)) + 1
    gammas = parabola(np.array(sizes, np.int64), variance, width=width)
    for lane, size in enumerate(sizes):
        gamma = (size - variance / width) ** 2 / (2 * variance) * 2**BITS
        assert int(gammas.lower[lane]) <= gamma
        assert gamma <= int(gammas.upper[lane]) or int(gammas.upper[lane]) == 2**62


@given(st.integers(0, 40), st.fractions(min_value=Fraction(1, 2), max_value=2**50))
def test_bounds_of_a_parabola_are_near(share: int, scale: Fraction):
    """Otherwise sampling would be exact, and slow."""
    variance = scale**2
    width = math.isqrt(math.floor(variance)) + 1
    gammas = parabola(np.array([int(share * scale)], np.int64), variance, width=width)
    gap = int(gammas.upper[0]) - int(gammas.lower[0])
    assert gap <= 2 ** (BITS - 14) * max(1, share * share)


@pytest.mark.statistics
def test_lives_fit_their_chances():
    chances = [math.exp(-j) * (1 - math.exp(-1)) for j in range(7)]
    lives = np.minimum(geometric(RUNS), 7)
    assert frequency_p_value(lives, [*chances, math.exp(-7)]) > ALPHA


@pytest.mark.statistics
@pytest.mark.parametrize(
    "scale", [Fraction(10**25 + 1, 3 * 10**24), Fraction(2**70, 2**69 - 1)], ids=float
)
def test_numerators_beyond_64_bits_make_the_same_noise(scale: Fraction):
    assert fit_p_value(discrete_laplace(scale, 5000), laplace_below(scale)) > ALPHA
    assert fit_p_value(discrete_gaussian(scale**2, 20_000), gaussian_below(scale)) > ALPHA


@pytest.mark.statistics
def test_a_variance_need_not_be_a_square():
    drawn = discrete_gaussian(Fraction(7, 2), RUNS)
    assert fit_p_value(drawn, gaussian_below(math.sqrt(3.5))) > ALPHA


def test_values_beyond_64_bits_stop_at_their_end():
    drawn = discrete_laplace(Fraction(2**70), 200)
    assert set(np.abs(drawn).tolist()) >= {2**63 - 1}


def permute_and_flip_chances(gaps: list[int], rate: float) -> list[float]:
    """Return the chances by going through all orders."""
    chances = [0.0] * len(gaps)
    orders = list(all_orders(range(len(gaps))))
    for order in orders:
        left = 1 / len(orders)
        for place in order:
            accept = math.exp(-gaps[place] * rate)
            chances[place] += left * accept
            left *= 1 - accept
    return chances


@pytest.mark.statistics
@pytest.mark.parametrize("gaps", [[0], [0, 0, 3], [5, 0, 1, 2], [0, 400, 1, 1, 9]])
@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(0.3)])
def test_permute_and_flip_has_its_chances(gaps: list[int], rate: Fraction):
    chosen = sample_permute_and_flip(np.array(gaps), rate, RUNS)
    chances = permute_and_flip_chances(gaps, float(rate))
    assert (
        frequency_p_value(chosen, [chance if chance > 1e-30 else 0 for chance in chances]) > ALPHA
    )


@pytest.mark.statistics
@pytest.mark.parametrize("gaps", [[0], [0, 0, 3], [5, 0, 1, 2], [0, 400, 1, 1, 9]])
@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(0.3)])
def test_the_exponential_mechanism_has_its_chances(gaps: list[int], rate: Fraction):
    chosen = sample_exponential(np.array(gaps), rate, RUNS)
    weights = np.exp(-np.array(gaps) * float(rate))
    weights[weights < 1e-30] = 0
    assert frequency_p_value(chosen, (weights / weights.sum()).tolist()) > ALPHA


def test_gaps_of_far_scores_do_not_overflow():
    gaps = score_gaps(np.array([2**63 - 1, -(2**63)]))
    assert gaps.tolist() == [0, 2**64 - 1]
    assert sample_permute_and_flip(gaps, Fraction(1), 3).tolist() == [0, 0, 0]
