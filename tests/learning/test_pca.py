"""Components are numpy's eigenvectors where noise is small, and never malformed."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.learning.counts import ArrayCounts, make_space

from discreet.api.learn import learn, load_model
from discreet.dp.spending import PureSpending, ZcdpSpending
from discreet.errors import UnreadableSource, WrongUsage
from discreet.learning.coordinates import Coordinates
from discreet.learning.specs.pca import SPEC, fit_pca, read_component_model
from discreet.learning.training import Training

SPACE = make_space([34, 34, 4, 10, 2], task="components", ordered=(0, 1, 3))
HUGE = Fraction(10**9)


def train(rows, *, amount=HUGE, pure=True, space=SPACE):
    spending = (PureSpending if pure else ZcdpSpending)(amount, sensitivity=1)
    counts = ArrayCounts(rows, space.sizes)
    return Training(counts, space, spending, Fraction(1), np.random.default_rng(0))


def make_rows(count=3000):
    chance = np.random.default_rng(4)
    first = chance.integers(0, 33, count)
    second = np.clip(first + chance.integers(-6, 7, count), 0, 32)
    third = np.minimum(first // 11, 2)
    return np.column_stack(
        [first, second, third, chance.integers(0, 9, count), np.zeros(count, int)]
    )


def test_without_noise_components_are_eigenvectors():
    rows = make_rows()
    model = fit_pca(train(rows), components=4)
    points = Coordinates.of_space(SPACE).place_rows(rows)
    values, vectors = np.linalg.eigh(np.cov(points.T, bias=True))
    expected = vectors[:, ::-1][:, :4]
    similarity = np.abs((model.components * expected.T).sum(axis=1))
    np.testing.assert_allclose(similarity, 1, atol=2e-3)
    np.testing.assert_allclose(model.shares, values[::-1][:4] / values.sum(), atol=5e-3)
    np.testing.assert_allclose(model.mean, points.mean(axis=0), atol=1e-3)
    np.testing.assert_allclose(
        model.predict(rows).var(axis=0) / values.sum(), model.shares, atol=5e-3
    )


def test_components_stand_upright_on_each_other():
    model = fit_pca(train(make_rows(), amount=Fraction(1, 10)), components=5)
    np.testing.assert_allclose(model.components @ model.components.T, np.eye(5), atol=1e-9)
    assert (np.diff(model.shares) <= 0).all()
    assert model.shares.sum() <= 1 + 1e-9


def test_a_missing_value_lies_at_the_mean():
    rows = make_rows()
    rows[::3, 0] = 33
    model = fit_pca(train(rows), components=2)
    known = rows[rows[:, 0] < 33]
    points = Coordinates.of_space(SPACE).place_rows(known)
    assert model.mean[0] == pytest.approx(points[:, 0].mean(), abs=1e-3)
    missing = rows[:1].copy()
    missing[0, 0] = 33
    filled = model.predict(missing) @ model.components + model.mean
    assert np.isfinite(filled).all()


@pytest.mark.parametrize("pure", [False, True], ids=["gaussian", "laplace"])
@pytest.mark.parametrize("amount", [Fraction(1, 10**6), Fraction(1), Fraction(10**12)])
@pytest.mark.parametrize("count", [0, 1, 300])
def test_no_table_and_no_budget_makes_a_malformed_model(pure, amount, count):
    training = train(make_rows()[:count], amount=amount, pure=pure)
    model = fit_pca(training)
    assert 0 <= training.spending.left < amount
    content = json.loads(json.dumps(model.to_content(), allow_nan=False))
    again = read_component_model(SPACE, content)
    rows = make_rows(50)
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))


def test_too_many_coordinates_are_refused_before_anything_is_counted():
    with pytest.raises(WrongUsage, match="leave-out"):
        SPEC.check(make_space([3001, 2], task="components"))


def test_the_engine_has_the_components_that_arrays_have():
    chance = np.random.default_rng(1)
    age = chance.integers(0, 100, 2000)
    people = pa.table({"age": age, "cost": age * 2 + chance.integers(0, 9, 2000)})
    model = learn(people, learner="pca", epsilon=10, bounds={"age": (0, 99), "cost": (0, 210)})
    assert model.predict(people).shape == (2000, 2)
    assert model.saved.predictor.shares[0] > 0.95


def test_forged_components_are_refused(tmp_path):
    model = learn(pa.table({"age": [20, 70] * 20}), learner="pca", bounds={"age": (0, 99)})
    sound = json.loads(model.saved.to_bytes())
    for damage in (
        {"mean": []},
        {"components": [[1.0, 2.0]]},
        {"components": "x"},
        {"shares": [0.5, 0.5]},
        {"coordinates": ["height"]},
        {"kind": "trees"},
    ):
        place = tmp_path / "model.json"
        place.write_text(json.dumps({**sound, "model": {**sound["model"], **damage}}))
        with pytest.raises(UnreadableSource):
            load_model(place)
