"""Likelihood ratios of shadow models, and what a guarantee permits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from discreet.attacks.models.bounds import PermittedMembership
from discreet.attacks.models.likelihood import (
    MANY_SHADOWS,
    ShadowConfidences,
    assign_shadows,
    likelihood_ratios,
    surprises,
    to_logits,
)

epsilons = st.floats(0, 20)
deltas = st.floats(0, 0.2)
shares = st.floats(0, 1)


@given(st.integers(1, 200), st.integers(8, 80), st.floats(0.25, 0.75), st.integers(0, 99))
def test_everyone_trains_the_same_number_of_shadow_models_and_misses_some(
    people, shadows, share, seed
):
    is_in = assign_shadows(people, shadows=shadows, share=share, rng=np.random.default_rng(seed))
    trained = is_in.sum(axis=0)
    assert is_in.shape == (shadows, people)
    assert len(set(trained.tolist())) == 1
    assert 2 <= trained[0] <= shadows - 2


@given(st.lists(shares, min_size=1))
def test_logits_are_finite_and_keep_the_order(chances):
    logits = to_logits(np.sort(np.array(chances)))
    assert np.isfinite(logits).all()
    assert (np.diff(logits) >= 0).all()


@pytest.mark.parametrize("shadows", [16, MANY_SHADOWS])
def test_ratios_are_those_of_two_normal_densities(shadows):
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(shadows, 6)) * [1, 2, 3, 1, 2, 3]
    is_in = assign_shadows(6, shadows=shadows, share=0.5, rng=rng)
    observed = rng.normal(size=6)
    parts = []
    for chosen in (is_in, ~is_in):
        picked = [logits[chosen[:, person], person] for person in range(6)]
        deviations = np.array([one.std() for one in picked])
        shared = np.sqrt(np.mean(deviations**2))
        used = deviations if shadows >= MANY_SHADOWS else np.full(6, shared)
        parts.append(norm([one.mean() for one in picked], used))
    expected = parts[0].logpdf(observed) - parts[1].logpdf(observed)
    trained = ShadowConfidences(logits, is_in)
    assert likelihood_ratios(observed, trained) == pytest.approx(expected)
    assert norm.cdf(surprises(observed, trained)) == pytest.approx(parts[1].cdf(observed))


def test_models_that_all_agree_say_nothing():
    is_in = assign_shadows(4, shadows=8, share=0.5, rng=np.random.default_rng(1))
    trained = ShadowConfidences(np.zeros((8, 4)), is_in)
    assert likelihood_ratios(np.zeros(4), trained).tolist() == [0] * 4
    assert surprises(np.zeros(4), trained).tolist() == [0] * 4


@given(epsilons)
def test_randomized_response_reaches_what_is_permitted_and_not_more(epsilon):
    truth, lie = 1 / (1 + np.exp(-epsilon)), 1 / (1 + np.exp(epsilon))
    allowed = PermittedMembership(epsilon)
    assert allowed.true_positive_rate(lie) == pytest.approx(truth)
    assert allowed.advantage == pytest.approx(truth - lie)
    assert allowed.right == pytest.approx(truth)


@given(epsilons, deltas, shares)
def test_the_permitted_rate_is_the_smaller_of_two_limits(epsilon, delta, rate):
    allowed = PermittedMembership(epsilon, delta).true_positive_rate(rate)
    assert rate - 1e-12 <= allowed <= min(1, np.exp(epsilon) * rate + delta) + 1e-12
    assert 1 - rate <= np.exp(epsilon) * (1 - allowed) + delta + 1e-6 or allowed == 1


@given(st.floats(0, 8), deltas)
def test_advantage_and_area_are_those_of_the_curve(epsilon, delta):
    allowed = PermittedMembership(epsilon, delta)
    turn = (1 - delta) / (1 + np.exp(epsilon))
    area = quad(allowed.true_positive_rate, 0, 1, points=[turn, 1 - delta])[0]
    assert allowed.auc == pytest.approx(area, abs=1e-6)
    assert allowed.advantage == pytest.approx(allowed.true_positive_rate(turn) - turn)
