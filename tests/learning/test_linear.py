"""Linear regression from noisy sums: the least squares of the table, and errors that cover what they say."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.learning.counts import ArrayCounts, make_space

from discreet.api.learn import learn, load_model
from discreet.dp.spending import ZcdpSpending
from discreet.errors import WrongUsage
from discreet.learning.coefficients import CoefficientModel, read_coefficient_model
from discreet.learning.request import LearningRequest
from discreet.learning.specs.huber import fit_huber
from discreet.learning.specs.linear import fit_linear
from discreet.learning.training import Training
from discreet.registry import LEARNERS

EXACT = Fraction(10**9)
SIZES = [
    11,
    5,
    7,
    61,
]  # a scale, two categories, and a number to predict; each with the missing code


def make_rows(count, seed):
    """Return rows of which the last column follows from the others."""
    chance = np.random.default_rng(seed)
    first, second = chance.integers(0, 10, count), chance.integers(0, 4, count)
    third = np.where(chance.random(count) < 0.5, second, chance.integers(0, 6, count))
    number = 20 + 1.5 * first + 3 * (second == 1) - 2 * (third == 2) + chance.normal(0, 4, count)
    return np.stack([first, second, third, np.clip(np.round(number), 0, 59).astype(int)], axis=1)


def fit(rows, sizes=SIZES, *, rho=EXACT, ordered=(0,), seed=1):
    space = make_space(sizes, task="regression", ordered=(*ordered, len(sizes) - 1))
    chance = np.random.default_rng(seed)
    spending = ZcdpSpending(rho, sensitivity=1)
    return fit_linear(Training(ArrayCounts(rows, sizes), space, spending, Fraction(1), chance))


def least_squares(rows, sizes, *, scales=(0,)):
    """Return what NumPy's least squares predicts for each of `rows`, from those whose target is there."""
    parts = [np.ones((len(rows), 1))]
    for place, size in enumerate(sizes[:-1]):
        codes = rows[:, place]
        if place in scales:
            is_missing = codes == size - 1
            parts.append(np.stack([np.where(is_missing, 0, codes), is_missing], axis=1))
        else:
            parts.append((codes[:, None] == np.arange(size)).astype(float))
    design = np.concatenate(parts, axis=1)
    known = rows[:, -1] < sizes[-1] - 1
    return design @ np.linalg.lstsq(design[known], rows[known, -1].astype(float))[0]


def test_coefficients_are_those_that_made_the_numbers():
    rows = make_rows(40_000, seed=3)
    found = {(one.feature, one.values): one for one in fit(rows).coefficients}
    assert found["x0", ()].estimate == pytest.approx(1.5, abs=0.03)
    difference = found["x1", ("1",)].estimate - found["x1", ("0",)].estimate
    assert difference == pytest.approx(3, abs=0.15)
    assert found["x0", ()].noise < 1e-3 < found["x0", ()].error < 0.02


@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_without_noise_predictions_are_those_of_least_squares(data):
    sizes = [6, 4, 13]
    code = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    rows = np.array(data.draw(st.lists(code, min_size=6, max_size=40)))
    if not (rows[:, -1] < sizes[-1] - 1).any():
        rows[0, -1] = 0
    model = fit(rows, sizes, rho=Fraction(10**14))
    known = rows[:, -1] < sizes[-1] - 1
    wanted = np.clip(least_squares(rows, sizes), 0, sizes[-1] - 2)
    np.testing.assert_allclose(model.predict(rows[known])[:, 0], wanted[known], atol=0.05)


@pytest.mark.statistics
def test_intervals_cover_the_coefficients_of_the_population():
    # 40 fits of 11 coefficients; at 95 %, fewer than 85 % covered has a chance below 1e-6.
    population = fit(make_rows(400_000, seed=0))
    truth = {(one.feature, one.values): one.estimate for one in population.coefficients}
    hits = [
        one.low <= truth[one.feature, one.values] <= one.high
        for seed in range(40)
        for one in fit(make_rows(3000, seed=seed + 1), rho=Fraction(1, 4)).coefficients
        if one.low is not None and (one.feature, one.values) in truth
    ]
    assert len(hits) > 400
    assert np.mean(hits) > 0.85


def test_what_noise_hides_has_no_interval():
    model = fit(make_rows(100, seed=1), rho=Fraction(1, 10**6))
    assert {one.low for one in model.coefficients} == {None}
    assert model.bounds is not None


@pytest.mark.parametrize("epsilon", ["0.001", "1", "10"])
@pytest.mark.parametrize("count", [0, 1, 300])
def test_any_table_gives_numbers(count, epsilon):
    chance = np.random.default_rng(2)
    people = pa.table(
        {
            "age": pa.array(
                [None if one > 90 else one for one in chance.integers(0, 99, count)], pa.int64()
            ),
            "smokes": pa.array(chance.random(count) < 0.5, pa.bool_()),
            "born": pa.array(chance.integers(0, 9000, count), pa.int32()).cast(pa.date32()),
            "income": pa.array(chance.normal(0, 1, count), pa.float64()),
        }
    )
    model = learn(
        people,
        target="income",
        features=["age", "smokes"],
        bounds={"age": (0, 99), "income": (-3, 3)},
        epsilon=epsilon,
        delta=0,
    )
    assert model.learner == "linear"
    assert all(-3 <= one <= 3 for one in model.predict(people))
    assert np.isfinite([one.error for one in model.coefficients]).all()


def test_a_target_of_one_value_is_predicted():
    rows = np.zeros((50, 2), int)
    model = fit(rows, [3, 2], ordered=())
    np.testing.assert_allclose(model.predict(rows)[:, 0], 0)


def test_numbers_without_a_category_are_predicted():
    chance = np.random.default_rng(1)
    first = chance.integers(0, 50, 2000)
    rows = np.stack([first, 2 * first], axis=1)
    model = fit(rows, [51, 101])
    np.testing.assert_allclose(model.predict(rows)[:, 0], 2 * first, atol=0.5)


def test_coefficients_are_in_the_file(tmp_path):
    chance = np.random.default_rng(2)
    age = chance.integers(0, 100, 3000)
    people = pa.table({"age": age, "cost": age * 10.0})
    place = tmp_path / "model.json"
    model = learn(people, target="cost", bounds={"age": (0, 99), "cost": (0, 1000)}, output=place)
    assert load_model(place).coefficients == model.coefficients
    assert model.coefficients[0].feature == "age"
    predictor = model.saved.predictor
    assert isinstance(predictor, CoefficientModel)
    content = predictor.to_content()
    content["coefficients"][0]["estimate"] = float("nan")
    with pytest.raises(ValueError, match="no number"):
        read_coefficient_model(predictor.space, content)


class _ManyRows(ArrayCounts):
    """Each row stands for as many as make sums exceed 64 bits, where a unit may have several."""

    one = sensitivity = 2**15
    rows_each = 300_000

    def count(self, columns, maps):
        return [one * self.rows_each * self.one for one in super().count(columns, maps)]

    def count_scored(self, weights, cuts, columns, maps=None):
        found = super().count_scored(weights, cuts, columns, maps)
        return [one * self.rows_each * self.one for one in found]


@pytest.mark.parametrize("fit", [fit_linear, fit_huber])
def test_sums_of_many_rows_are_exact(fit):
    space = make_space([4, 8, 9], task="regression", ordered=(0, 1, 2))
    counts = _ManyRows(np.tile([[1, 6, 7], [2, 6, 7]], (500, 1)), space.sizes)
    spending = ZcdpSpending(Fraction(1, 2), sensitivity=counts.one, one=counts.one)
    training = Training(counts, space, spending, Fraction(1), np.random.default_rng(1))
    assert fit(training).predict(np.array([[1, 6]])) == pytest.approx(7, abs=0.01)


@pytest.mark.parametrize("learner", ["linear", "logistic", "huber", "quantile", "pca", "boosting"])
def test_more_pairs_of_features_than_can_be_counted_are_refused_unpaid(learner):
    spec = LEARNERS.get(learner)
    few, many = (
        make_space([3] * count + [4], task=spec.tasks[0], ordered=(count,)) for count in (100, 101)
    )
    ask = partial(
        LearningRequest, learner=spec, epsilon=Fraction(1), delta=Fraction(1, 10**9), options={}
    )
    assert ask(few).price == ask(few).price
    if learner == "boosting":  # counts each feature apart
        assert ask(many).price == ask(few).price
    else:
        with pytest.raises(WrongUsage, match="101 features make 5,050 pairs"):
            ask(many)
