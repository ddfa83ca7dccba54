from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.statistics.fit import ALPHA, fit_p_value, gaussian_below, laplace_below, same_p_value

from discreet.dp import noise
from discreet.dp.noise import (
    LARGEST_SCALE,
    representable,
    representable_root,
    sample_gaussian,
    sample_laplace,
    system_noise,
)
from discreet.errors import InvalidBudget, InvalidMechanism

RUNS = 100_000
SCALES = [Fraction(1, 2), Fraction(1), Fraction(10, 3), Fraction(3.3), Fraction(1e6 + 0.3)]
positive = st.fractions(min_value=Fraction(1, 10**30), max_value=LARGEST_SCALE)


@pytest.fixture
def only_opendp(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("opendp")
    monkeypatch.setattr(noise, "OPENDP_UP_TO", 10**9)


@pytest.mark.statistics
@pytest.mark.parametrize("scale", [*SCALES, LARGEST_SCALE], ids=float)
def test_many_laplace_values_fit_their_chances(scale: Fraction):
    assert fit_p_value(sample_laplace(scale, RUNS), laplace_below(scale)) > ALPHA


@pytest.mark.statistics
@pytest.mark.parametrize("scale", [*SCALES, LARGEST_SCALE], ids=float)
def test_many_gaussian_values_fit_their_chances(scale: Fraction):
    assert fit_p_value(sample_gaussian(scale, RUNS), gaussian_below(scale)) > ALPHA


@pytest.mark.statistics
@pytest.mark.usefixtures("only_opendp")
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(3.3)], ids=float)
def test_the_values_of_opendp_fit_their_chances(scale: Fraction):
    assert fit_p_value(sample_laplace(scale, 20_000), laplace_below(scale)) > ALPHA
    assert fit_p_value(sample_gaussian(scale, 20_000), gaussian_below(scale)) > ALPHA


@pytest.mark.statistics
@pytest.mark.parametrize("draw", [sample_laplace, sample_gaussian])
@pytest.mark.parametrize("scale", [Fraction(0.7), Fraction(25.1)], ids=float)
def test_both_samplers_draw_from_one_distribution(
    draw, scale: Fraction, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("opendp")
    monkeypatch.setattr(noise, "OPENDP_UP_TO", 20_000)
    assert same_p_value(draw(scale, 20_000), draw(scale, 20_001)) > ALPHA


@pytest.mark.statistics
def test_a_scale_five_percent_too_small_does_not_fit():
    wrong = (
        sample_laplace(Fraction(19, 20) * 10, RUNS),
        sample_gaussian(Fraction(19, 20) * 10, RUNS),
    )
    assert fit_p_value(wrong[0], laplace_below(10)) < ALPHA
    assert fit_p_value(wrong[1], gaussian_below(10)) < ALPHA


@pytest.mark.statistics
def test_a_two_sample_test_distinguishes_scales():
    assert (
        same_p_value(sample_laplace(Fraction(10), 50_000), sample_laplace(Fraction(11), 50_000))
        < ALPHA
    )


@pytest.mark.statistics
def test_values_are_independent_of_those_before_them():
    """Correlation of neighbors among 100 000 values: 6 standard errors, a chance below 1e-8."""
    values = sample_laplace(Fraction(10), RUNS).astype(float)
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 6 / math.sqrt(RUNS)


def test_noise_has_no_seed():
    drawn = []
    for _ in range(2):
        np.random.seed(1)
        drawn.append(sample_laplace(Fraction(10**6), 300).tolist())
    assert drawn[0] != drawn[1]


@pytest.mark.parametrize("draw", [sample_laplace, sample_gaussian])
@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), LARGEST_SCALE + 1], ids=str)
def test_a_scale_out_of_range_is_refused(draw, scale: Fraction):
    with pytest.raises(InvalidMechanism):
        draw(scale, 1)


@pytest.mark.parametrize("draw", [sample_laplace, sample_gaussian])
def test_no_values_are_an_empty_array_and_fewer_are_refused(draw):
    assert draw(Fraction(1), 0).dtype == np.int64
    assert draw(Fraction(1), 0).size == 0
    with pytest.raises(InvalidMechanism):
        draw(Fraction(1), -1)


@pytest.mark.parametrize("draw", [sample_laplace, sample_gaussian])
@pytest.mark.parametrize("count", [7, noise.OPENDP_UP_TO + 1])
def test_almost_no_noise_is_none(draw, count: int):
    assert not draw(Fraction(1e-300), count).any()


def test_few_values_come_from_opendp(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(noise, "_opendp_laplace", lambda scale: lambda zeros: [7 for _ in zeros])
    assert sample_laplace(Fraction(2), 3).tolist() == [7, 7, 7]


def test_a_scale_that_no_float_holds_does_not_go_to_opendp(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(noise, "_opendp_laplace", pytest.fail)
    assert sample_laplace(Fraction(10, 3), 3).size == 3


@pytest.mark.parametrize("draw", [sample_laplace, sample_gaussian])
def test_noise_needs_no_opendp(draw, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "opendp.mod", None)
    noise._has_opendp.cache_clear()
    noise._opendp_laplace.cache_clear()
    noise._opendp_gaussian.cache_clear()
    try:
        assert draw(Fraction(4), 5).size == 5
        assert not noise._has_opendp()
    finally:
        noise._has_opendp.cache_clear()
        noise._opendp_laplace.cache_clear()
        noise._opendp_gaussian.cache_clear()


@given(positive)
def test_a_representable_scale_is_the_least_float_from_the_scale_on(scale: Fraction):
    found = representable(scale)
    assert Fraction(float(found)) == found >= scale
    assert Fraction(math.nextafter(float(found), 0)) < scale


@given(st.fractions(min_value=Fraction(1, 10**60), max_value=LARGEST_SCALE**2))
def test_a_representable_root_is_the_least_float_whose_square_suffices(square: Fraction):
    found = representable_root(square)
    assert Fraction(float(found)) == found
    assert found**2 >= square > Fraction(math.nextafter(float(found), 0)) ** 2


@given(positive)
def test_a_representable_scale_stays(scale: Fraction):
    assert representable(representable(scale)) == representable(scale)


@pytest.mark.parametrize("name", ["choose", "choose_exponentially"])
@pytest.mark.parametrize(
    ("epsilon", "sensitivity", "error"),
    [(0, 1, InvalidBudget), (-1, 1, InvalidBudget), (1, 0, InvalidMechanism)],
)
def test_a_choice_without_a_parameter_is_refused(name: str, epsilon, sensitivity, error):
    choose = getattr(system_noise(), name)
    with pytest.raises(error):
        choose(np.arange(3), epsilon=Fraction(epsilon), sensitivity=Fraction(sensitivity))


@pytest.mark.parametrize("name", ["choose", "choose_exponentially"])
def test_a_choice_takes_scores_of_all_64_bits(name: str):
    choose = getattr(system_noise(), name)
    scores = np.array([-(2**63), 2**63 - 1, 0])
    assert choose(scores, epsilon=Fraction(1), sensitivity=Fraction(1)) == 1
