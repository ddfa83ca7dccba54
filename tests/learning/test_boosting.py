"""Boosting finds what is there, on arrays and on an engine alike."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.learning.counts import ArrayCounts, make_space

from discreet.api.learn import explain_learning, learn, load_model
from discreet.dp.spending import ZcdpSpending
from discreet.errors import (
    BudgetExceeded,
    UndeclaredDomain,
    UndeclaredKind,
    UnknownColumn,
    UnreadableSource,
    WrongUsage,
)
from discreet.learning.specs.boosting import add_up_residuals, fit_boosting
from discreet.learning.training import Training

DECLARED = {
    "bounds": {"age": (0, 99)},
    "values": {"smokes": ["no", "yes"], "town": ["a", "b", "c"], "ill": ["no", "yes"]},
}


def make_people(count, seed=1):
    chance = np.random.default_rng(seed)
    age = chance.integers(0, 100, count)
    smokes = chance.integers(0, 2, count)
    odds = 1 / (1 + np.exp(-(age - 55) / 8 - 2 * (smokes - 0.5)))
    ill = chance.random(count) < odds
    return pa.table(
        {
            "age": age,
            "smokes": np.array(["no", "yes"])[smokes],
            "town": np.array(["a", "b", "c"])[chance.integers(0, 3, count)],
            "ill": np.array(["no", "yes"])[ill.astype(int)],
            "cost": age * 10.0 + 500 * smokes,
        }
    )


def test_counts_by_score_and_residuals_add_up_to_the_gradient():
    chance = np.random.default_rng(5)
    counted = chance.integers(0, 9, (4, 3, 3))
    residuals = chance.integers(-256, 257, (4, 2))
    expected = [
        sum(int(counted[s, b, y]) * int(residuals[s, y]) for s in range(4) for y in range(2))
        for b in range(3)
    ]
    assert add_up_residuals(counted, residuals).tolist() == expected


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_few_steps_are_within_the_price_however_shares_are_rounded(rounds):
    rows = np.stack([np.arange(200) % 9, np.arange(200) % 2], axis=1)
    spending = ZcdpSpending(Fraction(9, 40), sensitivity=1)
    counts, chance = ArrayCounts(rows, [10, 3]), np.random.default_rng(1)
    training = Training(counts, make_space([10, 3]), spending, Fraction(1), chance)
    fit_boosting(training, rounds=rounds)
    assert spending.left >= 0


def test_shapes_follow_the_target_where_noise_is_small():
    chance = np.random.default_rng(2)
    first = chance.integers(0, 8, 4000)
    rows = np.stack([first, chance.integers(0, 4, 4000), (first > 3).astype(int)], axis=1)
    space = make_space([9, 5, 3], ordered=(0,))
    spending = ZcdpSpending(Fraction(50), sensitivity=1)
    training = Training(ArrayCounts(rows, space.sizes), space, spending, Fraction(10), chance)
    model = fit_boosting(training)
    assert (model.predict(rows)[:, 1] > 0.5).astype(int).tolist() == rows[:, 2].tolist()
    assert np.ptp(model.shapes[0][:-1]) > 5 * np.ptp(model.shapes[1][:-1])


def test_all_of_the_price_and_no_more_is_spent():
    rows = np.random.default_rng(2).integers(0, 3, (100, 3))
    space = make_space([4, 4, 4])
    spending = ZcdpSpending(Fraction(1, 3), sensitivity=1)
    training = Training(
        ArrayCounts(rows, space.sizes), space, spending, Fraction(1), np.random.default_rng(0)
    )
    fit_boosting(training)
    assert 0 <= spending.left < Fraction(1, 10**9)


@pytest.mark.parametrize("learner", ["boosting", "naive-bayes"])
def test_a_model_predicts_people_it_has_not_seen(learner, tmp_path):
    people, others = make_people(6000), make_people(2000, seed=9)
    model = learn(
        people,
        target="ill",
        learner=learner,
        leave_out=["cost"],
        output=tmp_path / "model.json",
        **DECLARED,
    )
    assert model.score(others) > 0.8
    again = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(others), model.predict_proba(others))
    assert set(model.predict(others)) == {"no", "yes"}


def test_boosting_predicts_numbers():
    declared = {**DECLARED, "bounds": {"age": (0, 99), "cost": (0, 1500)}}
    model = learn(
        make_people(6000),
        target="cost",
        learner="boosting",
        leave_out=["ill"],
        epsilon=2,
        **declared,
    )
    assert model.score(make_people(1000, seed=9)) > 0.8


def test_the_same_request_is_the_same_model_and_free(tmp_path):
    people = tmp_path / "people.parquet"
    pq.write_table(make_people(500), people)
    asked = {"target": "ill", "leave_out": ["cost"], "ledger": tmp_path / "ledger.sqlite"}
    first = learn(people, **asked, **DECLARED)
    second = learn(people, **asked, **DECLARED)
    assert (first.cached, second.cached) == (False, True)
    assert second.spent["epsilon"] == 0
    assert first.saved.to_bytes() == second.saved.to_bytes()


@pytest.mark.parametrize("hold", [lambda rows: rows.slice(0), lambda rows: rows.to_pandas()])
def test_a_frame_in_memory_is_paid_once_until_it_changes(hold, tmp_path):
    people = make_people(200).select(["age", "ill"])
    asked = {"target": "ill", "learner": "naive-bayes", "ledger": tmp_path / "ledger.sqlite"}
    declared = {"bounds": {"age": (0, 99)}, "values": {"ill": ["no", "yes"]}}
    sources = [hold(people), hold(people), hold(people.slice(1))]
    found = [learn(one, **asked, **declared) for one in sources]
    assert [one.cached for one in found] == [False, True, False]


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_steps_of_two_features_alike_do_not_cost_more_than_is_left(rounds):
    space = make_space([5, 5, 3])
    rows = np.stack([np.arange(60) % 4, np.arange(60) % 3, np.arange(60) % 2], axis=1)
    spending = ZcdpSpending(Fraction(1), sensitivity=1, one=1)
    counts = ArrayCounts(rows, space.sizes)
    training = Training(counts, space, spending, Fraction(1), np.random.default_rng(1))
    fit_boosting(training, rounds=rounds)
    assert 0 <= spending.left < Fraction(1, 1000)


def test_a_spent_budget_learns_nothing(tmp_path):
    from discreet.policy import parse_policy

    policy = parse_policy(
        "tables: {table: {unit: row, budget: {epsilon: 1, delta: 1e-6}, columns: {age: {role: sensitive, "
        "bounds: [0, 99]}, ill: {role: sensitive, values: [no, yes]}}}}"
    )
    people = make_people(100).select(["age", "ill"])
    asked = {"target": "ill", "ledger": tmp_path / "ledger.sqlite", "table": "table"}
    learn(people, policy, epsilon="0.7", **asked)
    with pytest.raises(BudgetExceeded):
        learn(people, policy, epsilon="0.6", **asked)


def test_undeclared_features_are_named_together():
    with pytest.raises(UndeclaredDomain) as refused:
        learn(make_people(10), target="ill", values={"ill": ["no", "yes"]})
    assert set(refused.value.columns) == {"age", "smokes", "town", "cost"}


@pytest.mark.parametrize("form", ["csv", "pandas"])
def test_columns_that_only_the_source_knows_are_not_called_unknown(form, tmp_path):
    people = make_people(10)
    place = tmp_path / "people.csv"
    people.to_pandas().to_csv(place, index=False)
    source = place if form == "csv" else people.to_pandas()
    asked = {"bounds": {"age": (0, 99)}, "leave_out": ["smokes"]}
    with pytest.raises(UndeclaredKind, match="has the columns 'ill', 'town', but no policy says"):
        learn(source, target="ill", features=["age", "town"], **asked)
    with pytest.raises(UnknownColumn, match="Did you mean 'town'"):
        learn(source, target="twon", **asked)


def test_what_identifies_people_is_no_feature():
    with pytest.raises(WrongUsage, match="identifies people"):
        learn(make_people(10), target="ill", features=["town"], identifiers=["town"], **DECLARED)


def test_an_explanation_spends_nothing():
    found = explain_learning(make_people(10), target="ill", leave_out=["cost"], **DECLARED)
    assert found.features == ("age", "smokes", "town")


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"format": "discreet learned model", "version": 2}']
)
def test_what_is_no_model_is_refused(content, tmp_path):
    (tmp_path / "model.json").write_bytes(content)
    with pytest.raises(UnreadableSource):
        load_model(tmp_path / "model.json")


def test_a_forged_model_is_refused(tmp_path):
    import json

    model = learn(make_people(100), target="ill", leave_out=["cost"], **DECLARED)
    sound = json.loads(model.saved.to_bytes())
    features = sound["space"]["features"]
    far = [{**one, "bounds": [2**63, 2**64]} if "bounds" in one else one for one in features]
    for damage in (
        {"learner": "none"},
        {"model": {**sound["model"], "shapes": []}},
        {"model": {**sound["model"], "intercept": ["x"]}},
        {"space": {**sound["space"], "task": "magic"}},
        {"space": {**sound["space"], "target": None}},
        {"space": {**sound["space"], "features": far}},
        {"model": {**sound["model"], "link": "identity"}},
        {"model": {**sound["model"], "bounds": [float("nan"), 1]}},
        {"privacy": {}},
        {"privacy": {**sound["privacy"], "epsilon": "1e400"}},
        {"privacy": {**sound["privacy"], "epsilon": "none"}},
        {"privacy": {**sound["privacy"], "epsilon": "-1"}},
        {"privacy": {**sound["privacy"], "delta": "2"}},
        {"privacy": {**sound["privacy"], "rows_per_unit": "x"}},
        {"privacy": {**sound["privacy"], "unit": {"a": 1}}},
    ):
        (tmp_path / "model.json").write_text(json.dumps({**sound, **damage}))
        with pytest.raises(UnreadableSource):
            load_model(tmp_path / "model.json")
