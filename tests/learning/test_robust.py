"""Huber and quantile regression: what other libraries find, where noise is small; little is moved by few extremes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import HuberRegressor, QuantileRegressor
from tests.learning.counts import ArrayCounts, make_space

from discreet.api.learn import learn
from discreet.dp.spending import ZcdpSpending
from discreet.errors import WrongUsage
from discreet.learning.specs.huber import fit_huber
from discreet.learning.specs.linear import fit_linear
from discreet.learning.specs.quantile import fit_quantile
from discreet.learning.training import Training

SIZES = [11, 4, 202]  # a scale, a category, and a number to predict; each with the missing code


def make_rows(count, *, seed=1, extremes=0.0):
    """Return rows of which the last column follows from the others; errors are skewed, some are extreme."""
    chance = np.random.default_rng(seed)
    first, second = chance.integers(0, 10, count), chance.integers(0, 3, count)
    number = 20 + 2.5 * first + 9 * (second == 1) + chance.exponential(8, count)
    number = np.where(chance.random(count) < extremes, 200, number)
    return np.stack([first, second, np.clip(np.round(number), 0, 200).astype(int)], axis=1)


def fit(learner, rows, *, rho=Fraction(10**9), **options):
    space = make_space(SIZES, task="regression", ordered=(0, 2))
    chance = np.random.default_rng(1)
    spending = ZcdpSpending(rho, sensitivity=1)
    training = Training(ArrayCounts(rows, SIZES), space, spending, Fraction(1000), chance)
    return learner(training, **options)


def design_of(rows):
    return np.concatenate([rows[:, :1], rows[:, [1]] == np.arange(1, 3)], axis=1).astype(float)


@pytest.mark.parametrize("extremes", [0.0, 0.1])
def test_huber_predicts_as_another_library_does(extremes):
    rows = make_rows(2000, extremes=extremes)
    other = HuberRegressor(alpha=0, max_iter=1000, tol=1e-9).fit(design_of(rows), rows[:, 2])
    model = fit(fit_huber, rows, threshold=float(other.epsilon * other.scale_), rounds=20)
    wanted = other.predict(design_of(rows))
    np.testing.assert_allclose(model.predict(rows)[:, 0], wanted, atol=0.4)


@pytest.mark.parametrize("quantile", [0.2, 0.5, 0.9])
def test_a_quantile_is_that_of_another_library(quantile):
    rows = make_rows(1500)
    other = QuantileRegressor(quantile=quantile, alpha=0).fit(design_of(rows), rows[:, 2])
    model = fit(fit_quantile, rows, quantile=quantile, rounds=30)
    found, wanted = model.predict(rows)[:, 0], other.predict(design_of(rows))
    np.testing.assert_allclose(found, wanted, atol=2.0)
    assert np.mean(rows[:, 2] <= found) == pytest.approx(quantile, abs=0.04)


def test_extremes_move_huber_less_than_least_squares():
    sound, extreme = make_rows(4000), make_rows(4000, extremes=0.1)
    moved = {
        learner: np.abs(
            fit(learner, sound).predict(sound) - fit(learner, extreme).predict(sound)
        ).mean()
        for learner in (fit_huber, fit_linear)
    }
    assert moved[fit_huber] < moved[fit_linear] / 4


def test_missing_targets_change_no_slope():
    rows = make_rows(2000)
    missing = rows.copy()
    missing[:, -1] = SIZES[-1] - 1
    missing[:, 0] = 9
    for learner in (fit_huber, fit_quantile):
        alone, both = fit(learner, rows), fit(learner, np.vstack([rows, missing]))
        np.testing.assert_allclose(both.predict(rows), alone.predict(rows), atol=0.3)


def test_all_of_the_price_and_no_more_is_spent():
    space = make_space(SIZES, task="regression", ordered=(0, 2))
    spending = ZcdpSpending(Fraction(1, 3), sensitivity=1)
    counts = ArrayCounts(make_rows(100), SIZES)
    fit_huber(Training(counts, space, spending, Fraction(1), np.random.default_rng(0)))
    assert 0 <= spending.left < Fraction(1, 10**9)


@pytest.mark.parametrize("learner", ["huber", "quantile"])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.001", 0), ("10", "1e-9")])
@pytest.mark.parametrize("count", [0, 1, 200])
def test_any_table_gives_numbers(learner, epsilon, delta, count):
    chance = np.random.default_rng(2)
    people = pa.table(
        {
            "smokes": pa.array(chance.random(count) < 0.5, pa.bool_()),
            "income": pa.array(chance.normal(0, 1, count), pa.float64()),
        }
    )
    model = learn(
        people,
        target="income",
        learner=learner,
        bounds={"income": (-3, 3)},
        epsilon=epsilon,
        delta=delta,
    )
    assert all(-3 <= one <= 3 for one in model.predict(people))
    assert np.isfinite([one.error for one in model.coefficients]).all()


def test_a_quantile_lies_between_0_and_1():
    people = pa.table({"age": [1, 2], "income": [1, 2]})
    bounds = {"age": (0, 9), "income": (0, 9)}
    with pytest.raises(WrongUsage, match="quantile"):
        learn(people, target="income", learner="quantile", bounds=bounds, quantile=1)


@pytest.mark.statistics
@pytest.mark.parametrize(
    ("learner", "options"), [(fit_huber, {"threshold": 10.0}), (fit_quantile, {"quantile": 0.5})]
)
def test_intervals_cover_most_coefficients_of_the_population(learner, options):
    """60 fits at rho 1/80, about epsilon 1; in all, .88 of 95 % intervals cover.

    Of a fit's four coefficients about two vary apart: that fewer than .75 cover has a chance below 1e-4 at .88.
    """
    population = fit(learner, make_rows(200_000, seed=0), rounds=16, **options)
    truth = {
        (one.feature, one.values): one.estimate
        for one in population.coefficients
        if one.values != (None,)  # which no row has
    }
    fits = (
        fit(learner, make_rows(4000, seed=seed), rho=Fraction(1, 80), **options).coefficients
        for seed in range(1, 61)
    )
    hits = [
        one.low <= truth[one.feature, one.values] <= one.high
        for found in fits
        for one in found
        if one.low is not None and (one.feature, one.values) in truth
    ]
    assert len(truth) == 4
    assert len(hits) == 240
    assert np.mean(hits) > 0.75
