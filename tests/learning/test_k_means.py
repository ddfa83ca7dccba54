"""Clusters are those of Lloyd's rounds where noise is small, and never malformed."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.learning.counts import ArrayCounts, make_space

from discreet.api.learn import learn, load_model
from discreet.dp.spending import PureSpending, ZcdpSpending
from discreet.errors import UnreadableSource
from discreet.learning.coordinates import REACH, Coordinates, place_on_scale
from discreet.learning.specs.k_means import fit_k_means, read_cluster_model
from discreet.learning.training import Training
from discreet.policy import parse_policy

SPACE = make_space([21, 21, 4, 2], task="clustering", ordered=(0, 1))
HUGE = Fraction(10**9)


def train(rows, *, amount=HUGE, pure=True, seed=0, space=SPACE):
    spending = (PureSpending if pure else ZcdpSpending)(amount, sensitivity=1)
    counts = ArrayCounts(rows, space.sizes)
    return Training(counts, space, spending, Fraction(1), np.random.default_rng(seed))


def make_rows(count=2000, *, missing=False):
    chance = np.random.default_rng(4)
    group = chance.integers(0, 3, count)
    first = np.clip(np.array([3, 10, 17])[group] + chance.integers(-2, 3, count), 0, 19)
    second = np.clip(np.array([4, 15, 5])[group] + chance.integers(-2, 3, count), 0, 19)
    if missing:
        first = np.where(chance.random(count) < 0.1, 20, first)
    return np.column_stack([first, second, group, np.zeros(count, int)])


def move_once(rows, centers):
    """Return the centers after a round of Lloyd without noise; a missing coordinate is the center's own."""
    points = np.rint(Coordinates.of_space(SPACE).place_rows(rows) * REACH)
    is_missing = np.zeros(points.shape, bool)
    is_missing[:, :2] = rows[:, :2] == 20
    gaps = np.where(is_missing[:, None], 0, points[:, None] - centers[None])
    near = (gaps**2).sum(axis=2).argmin(axis=1)
    filled = np.where(is_missing, centers[near], points)
    return np.array([filled[near == one].mean(axis=0) for one in range(len(centers))])


@pytest.mark.parametrize("missing", [False, True])
def test_a_round_without_noise_is_one_of_lloyd(missing):
    rows = make_rows(missing=missing)
    for rounds in (1, 2, 3):
        before = fit_k_means(train(rows), clusters=3, rounds=rounds).centers
        after = fit_k_means(train(rows), clusters=3, rounds=rounds + 1).centers
        np.testing.assert_allclose(after, move_once(rows, before), atol=2)


def test_groups_far_apart_are_found():
    rows = make_rows()
    model = fit_k_means(train(rows, amount=Fraction(5)), clusters=3)
    found = model.predict(rows)
    for group in range(3):
        most = np.bincount(found[rows[:, 2] == group]).max()
        assert most > 0.95 * (rows[:, 2] == group).sum()
    np.testing.assert_allclose(model.rows, np.bincount(found, minlength=3), atol=60)


@pytest.mark.parametrize("pure", [False, True], ids=["gaussian", "laplace"])
@pytest.mark.parametrize("amount", [Fraction(1, 10**6), Fraction(1), Fraction(10**12)])
@pytest.mark.parametrize("count", [0, 1, 300])
def test_no_table_and_no_budget_makes_a_malformed_model(pure, amount, count):
    training = train(make_rows()[:count], amount=amount, pure=pure)
    model = fit_k_means(training, clusters=4)
    assert 0 <= training.spending.left < amount
    assert np.abs(model.centers).max() <= REACH
    content = json.loads(json.dumps(model.to_content(), allow_nan=False))
    again = read_cluster_model(SPACE, content)
    rows = make_rows(50)
    assert again.predict(rows).tolist() == model.predict(rows).tolist()


def test_positions_on_a_scale_keep_the_distances_of_numbers():
    even = place_on_scale(SPACE.features[0])
    assert len(set(np.diff(even))) == 1
    assert abs(even).max() <= REACH
    assert (even == -even[::-1]).all()


def test_the_engine_finds_the_clusters_that_arrays_have():
    people = pa.table({"age": [2, 3, 4, 96, 97, 98, None] * 200})
    model = learn(people, learner="k-means", epsilon=8, clusters=2, bounds={"age": (0, 99)})
    found = model.predict(people)
    assert found.shape == (1400,)
    assert len(set(found[:3])) == len(set(found[3:6])) == 1
    assert found[0] != found[3]


def test_a_forged_model_of_clusters_is_refused(tmp_path):
    people = pa.table({"age": [20, 70] * 20})
    model = learn(people, learner="k-means", bounds={"age": (0, 99)})
    sound = json.loads(model.saved.to_bytes())
    for damage in (
        {"centers": []},
        {"centers": [[1.5]] * 5},
        {"centers": [[10**6]] * 5},
        {"centers": [[1, 2]] * 5},
        {"rows": ["x"] * 5},
        {"coordinates": ["height"]},
        {"kind": "trees"},
    ):
        place = tmp_path / "model.json"
        place.write_text(json.dumps({**sound, "model": {**sound["model"], **damage}}))
        with pytest.raises(UnreadableSource):
            load_model(place)


@pytest.mark.parametrize("learner", ["tree", "forest", "k-means", "pca"])
def test_people_with_several_rows_are_learned_from(learner):
    numbers = np.arange(600)
    table = pa.table({"person": numbers // 3, "age": numbers % 90, "ill": numbers % 90 > 40})
    policy = parse_policy(
        "tables: {table: {unit: person, limits: {rows-per-unit: 2}, columns: {person: identifier, "
        "age: {role: sensitive, bounds: [0, 89]}, ill: sensitive}}}"
    )
    target = "ill" if learner in ("tree", "forest") else None
    model = learn(table, policy, table="table", learner=learner, target=target, epsilon=5)
    assert model.rows_per_unit == 2
    assert len(model.predict(table)) == 600
