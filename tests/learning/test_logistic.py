"""Logistic regression on a fitted table: near what other libraries find on the rows themselves."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from tests.learning.counts import ArrayCounts, make_space

from discreet.api.learn import learn
from discreet.dp.spending import ZcdpSpending
from discreet.learning.specs.logistic import fit_logistic
from discreet.learning.training import Training

SIZES = [5, 4, 3, 3]


def make_rows(count, seed=1):
    chance = np.random.default_rng(seed)
    first, second, third = (chance.integers(0, size - 1, count) for size in SIZES[:3])
    odds = 0.8 * (first - 1.5) - 1.2 * (second == 1) + 0.5 * (third == 1)
    return np.stack([first, second, third, chance.random(count) < 1 / (1 + np.exp(-odds))], axis=1)


def fit(rows, sizes=SIZES, *, rho=Fraction(10**6), **options):
    space = make_space(sizes)
    chance = np.random.default_rng(3)
    spending = ZcdpSpending(rho, sensitivity=1)
    counts = ArrayCounts(rows, sizes)
    return fit_logistic(Training(counts, space, spending, Fraction(1), chance), **options)


def test_chances_are_those_of_another_library_where_noise_is_small():
    rows = make_rows(20_000)
    model = fit(rows)
    design = np.concatenate(
        [rows[:, [place]] == np.arange(SIZES[place]) for place in range(3)], axis=1
    )
    other = LogisticRegression(C=0.5).fit(design, rows[:, 3])
    wanted = other.predict_proba(design)
    np.testing.assert_allclose(model.predict(rows), wanted, atol=0.03)


def test_several_classes_are_kept_apart():
    chance = np.random.default_rng(1)
    first = chance.integers(0, 4, 4000)
    rows = np.stack([first, chance.integers(0, 3, 4000), first], axis=1)
    model = fit(rows, [5, 4, 5])
    assert model.link == "softmax"
    assert model.predict(rows).argmax(axis=1).tolist() == first.tolist()


def test_all_of_the_price_and_no_more_is_spent():
    space = make_space(SIZES)
    spending = ZcdpSpending(Fraction(1, 3), sensitivity=1)
    counts = ArrayCounts(make_rows(500), SIZES)
    fit_logistic(Training(counts, space, spending, Fraction(1), np.random.default_rng(0)))
    assert 0 <= spending.left < Fraction(1, 10)


@pytest.mark.parametrize("delta", [0, "1e-9"])
@pytest.mark.parametrize("epsilon", ["0.001", "10"])
@pytest.mark.parametrize("count", [0, 200])
def test_any_table_gives_chances(count, epsilon, delta):
    chance = np.random.default_rng(2)
    people = pa.table(
        {
            "age": pa.array(chance.integers(0, 99, count), pa.int64()),
            "ill": pa.array(
                [None if one < 0.1 else one < 0.5 for one in chance.random(count)], pa.bool_()
            ),
        }
    )
    model = learn(
        people,
        target="ill",
        learner="logistic",
        bounds={"age": (0, 99)},
        epsilon=epsilon,
        delta=delta,
    )
    found = model.predict_proba(people)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert model.to_sql("people").startswith("SELECT")


def test_a_strong_ridge_draws_chances_together():
    rows = make_rows(3000)
    loose, tight = fit(rows, ridge=1.0), fit(rows, ridge=10_000.0)
    assert np.ptp(tight.predict(rows)[:, 1]) < np.ptp(loose.predict(rows)[:, 1]) / 2
