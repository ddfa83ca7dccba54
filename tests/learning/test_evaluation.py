"""A model is judged by noisy counts that cost what was said, and the figures are those of its rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import r2_score, roc_auc_score
from tests.learning.counts import (
    ArrayCounts,
    RecordingPureSpending,
    ReplayingPureSpending,
    make_space,
)
from tests.learning.test_boosting import DECLARED, make_people

import discreet
from discreet.api.learn import explain_learning, learn
from discreet.cli.learn import command
from discreet.domain.code_tree import CodeSplit, CodeTree
from discreet.dp.spending import PureSpending
from discreet.errors import BudgetExceeded, InvalidBudget, UnknownColumn, WrongUsage
from discreet.learning.additive import AdditiveModel
from discreet.learning.evaluation import CHANCES, divide_column, plan_evaluation
from discreet.learning.performance import read_performance
from discreet.learning.tree_model import LeafTree, TreeModel

SIZES = [4, 30, 3]
NUMBERS = {**DECLARED, "bounds": {"age": (0, 99), "cost": (0, 1600)}}


OTHERS = make_people(9).set_column(0, "age", pa.array(np.arange(9) + 0.5))


def make_model(task):
    """Return a model of columns of whole numbers, and rows that it predicts about right."""
    sizes = SIZES if task == "classification" else [4, 30, 40]
    space = make_space(sizes, task=task, ordered=(1, 2))
    chance = np.random.default_rng(3)
    rows = np.stack([chance.integers(0, size, 400) for size in sizes], axis=1)
    if task == "classification":
        shapes = (np.array([[0.5], [-0.5], [0.2], [0.0]]), np.linspace(-3, 3, 30)[:, None])
        rows[:, 2] = (rows[:, 1] + chance.normal(0, 6, 400) > 15).astype(int)
        return AdditiveModel(space, "logistic", np.array([0.3]), shapes), rows
    shapes = (np.array([[1.0], [-1.0], [0.0], [0.0]]), np.linspace(0, 40, 30)[:, None])
    rows[:, 2] = np.clip(rows[:, 1] * 4 / 3 + chance.normal(0, 4, 400), 0, 38).astype(int)
    return AdditiveModel(space, "identity", np.array([-1.0]), shapes, bounds=(0, 38)), rows


def make_several(form, classes):
    """Return a model of trees, or of shapes for several classes, and rows that it predicts about right."""
    sizes = [4, 30, classes + 1]
    space = make_space(sizes, ordered=(1,))
    chance = np.random.default_rng(4)
    rows = np.stack([chance.integers(0, size, 400) for size in sizes], axis=1)
    wanted = rows[:, 1] * classes // 30
    rows[:, 2] = np.where(chance.random(400) < 0.7, wanted, rows[:, 2])
    if form == "shapes":
        first, second = chance.normal(0, 1, (4, classes)), np.zeros((30, classes))
        second[np.arange(30), np.arange(30) * classes // 30] = 2
        return AdditiveModel(space, "softmax", np.full(classes, 0.1), (first, second)), rows
    trees = []
    for start in (8, 15, 22):
        root = CodeSplit(1, (0, start), (1, 2))
        tree = CodeTree((root, None, CodeSplit(0, (0, 2), (3, 4)), None, None))
        chances = chance.dirichlet(np.ones(classes), len(tree.leaves))
        trees.append(LeafTree(tree, chances, np.ones(len(tree.leaves))))
    return TreeModel(space, tuple(trees)), rows


def make_plan(task):
    made = {"several": ("shapes", 3), "trees": ("trees", 2), "several by trees": ("trees", 4)}
    model, rows = make_several(*made[task]) if task in made else make_model(task)
    groups = [divide_column(model.space.features[place]) for place in (0, 1)]
    return model, plan_evaluation(model.space, model, groups), rows


def judge(plan, rows, spending):
    measured = plan.measure(ArrayCounts(rows, [one.size for one in plan.columns]), spending)
    return read_performance(plan, measured, source="x", same_rows=False, epsilon=1.0)


TASKS = ["classification", "regression"]
CLASSES = ["several", "trees", "several by trees"]


@pytest.mark.parametrize("task", [*TASKS, *CLASSES])
@given(person=st.data())
@settings(max_examples=20, deadline=None)
def test_one_person_costs_at_most_the_price_of_an_evaluation(task, person):
    model, plan, rows = make_plan(task)
    one = [person.draw(st.integers(0, size - 1)) for size in model.space.sizes]
    assert replay_evaluation(plan, rows, np.vstack([rows, one])) <= 1 + 1e-9


@pytest.mark.parametrize("task", [*TASKS, *CLASSES])
def test_a_person_who_is_there_twice_exceeds_the_price_of_an_evaluation(task):
    _, plan, rows = make_plan(task)
    one = [0, 0, len(plan.space.classes) - 1 if task in CLASSES else int(rows[:, 2].max())]
    assert replay_evaluation(plan, rows, np.vstack([rows, one, one])) > 1


def replay_evaluation(plan, rows, neighbor):
    """Return the share of the price that a neighbor costs, if what was released is released again."""
    sizes = [one.size for one in plan.columns]
    recorded = RecordingPureSpending(Fraction(1, 2))
    plan.measure(ArrayCounts(rows, sizes), recorded)
    replayed = ReplayingPureSpending(Fraction(1, 2), recorded.kept)
    plan.measure(ArrayCounts(neighbor, sizes), replayed)
    assert next(replayed.kept, None) is None
    return replayed.cost * 2


def test_figures_of_classes_are_those_of_the_rows_where_noise_is_small():
    model, plan, rows = make_plan("classification")
    found = judge(plan, rows, PureSpending(Fraction(10_000), sensitivity=1))
    rows = rows[rows[:, 2] < 2]
    chances, truth = model.predict(rows)[:, 1], rows[:, 2]
    predicted = chances > 0.5
    assert found.rows == pytest.approx(len(rows), abs=0.1)
    assert found.accuracy.value == pytest.approx((predicted == truth).mean(), abs=1e-3)
    assert found.auc.value == pytest.approx(roc_auc_score(truth, chances), abs=0.01)
    assert found.false_positive_rate.value == pytest.approx(predicted[truth == 0].mean(), abs=1e-3)
    assert found.false_negative_rate.value == pytest.approx(
        1 - predicted[truth == 1].mean(), abs=1e-3
    )
    first = next(one for one in found.groups if (one.column, one.group) == ("x0", "1"))
    some = rows[:, 0] == 1
    assert first.accuracy.value == pytest.approx((predicted == truth)[some].mean(), abs=1e-3)
    ranges = [one.group for one in found.groups if one.column == "x1"]
    assert ranges == ["0 to 5", "6 to 11", "12 to 17", "18 to 23", "24 to 28", "missing"]
    seen = [one for one in found.reliability if one.observed is not None]
    for one in seen:
        inside = (chances >= one.low) & (chances < one.high)
        assert one.observed.value == pytest.approx(truth[inside].mean(), abs=0.02)
    assert sum(one.rows for one in seen) == pytest.approx(len(rows), abs=1)


@pytest.mark.parametrize("task", CLASSES)
def test_figures_of_trees_and_of_several_classes_are_those_of_the_rows(task):
    model, plan, rows = make_plan(task)
    found = judge(plan, rows, PureSpending(Fraction(10_000), sensitivity=1))
    rows = rows[rows[:, 2] < len(plan.space.classes)]
    chances, truth = model.predict(rows), rows[:, 2]
    is_right = chances.argmax(axis=1) == truth
    assert found.rows == pytest.approx(len(rows), abs=0.1)
    assert found.accuracy.value == pytest.approx(is_right.mean(), abs=1e-3)
    assert found.baseline == pytest.approx(np.bincount(truth).max() / len(rows), abs=1e-3)
    one = next(one for one in found.groups if (one.column, one.group) == ("x0", "1"))
    assert one.accuracy.value == pytest.approx(is_right[rows[:, 0] == 1].mean(), abs=1e-3)
    if found.classes > 2:
        assert [one.column for one in found.groups[: found.classes]] == ["x2"] * found.classes
        mine = found.groups[1]
        assert mine.accuracy.value == pytest.approx(is_right[truth == 1].mean(), abs=1e-3)
    else:
        buckets = np.searchsorted(CHANCES, chances[:, 1])  # rows in one bucket count as half
        assert found.auc.value == pytest.approx(roc_auc_score(truth, buckets), abs=1e-3)


def test_figures_of_numbers_are_those_of_the_rows_where_noise_is_small():
    model, plan, rows = make_plan("regression")
    found = judge(plan, rows, PureSpending(Fraction(10_000), sensitivity=1))
    rows = rows[rows[:, 2] < 39]
    predicted, truth = model.predict(rows)[:, 0], rows[:, 2]
    assert found.r_squared.value == pytest.approx(r2_score(truth, predicted), abs=0.005)
    error = np.sqrt(((predicted - truth) ** 2).mean())
    assert found.root_mean_squared_error.value == pytest.approx(error, rel=0.01)
    one = next(one for one in found.groups if (one.column, one.group) == ("x0", "0"))
    some = rows[:, 0] == 0
    assert one.mean_error.value == pytest.approx((predicted - truth)[some].mean(), abs=0.1)
    spread = np.sqrt((((predicted - truth)[some]) ** 2).mean())
    assert one.root_mean_squared_error.value == pytest.approx(spread, rel=0.03)


@pytest.mark.statistics
@pytest.mark.parametrize("task", TASKS)
def test_stated_errors_are_those_of_the_noise(task):
    """Half of 100 evaluations err by less than 1.1 of their standard errors, and half by more than 0.02.

    Of Laplace noise .21 are beyond the one and .03 within the other: alpha 1e-9. Errors of classes also
    cover which people are in the table, which does not vary here.
    """
    _, plan, rows = make_plan(task)
    rows = np.vstack([rows] * 10)
    exact = judge(plan, rows, PureSpending(Fraction(10**6), sensitivity=1))
    name = "accuracy" if task == "classification" else "r_squared"
    offs = []
    for _ in range(100):
        one = getattr(judge(plan, rows, PureSpending(Fraction(3), sensitivity=1)), name)
        offs.append(abs(one.value - getattr(exact, name).value) / one.error)
    assert 0.02 < np.median(offs) < 1.1


@pytest.mark.parametrize("task", [*TASKS, *CLASSES])
def test_without_rows_noise_hides_every_figure(task):
    _, plan, rows = make_plan(task)
    found = judge(plan, rows[:0], PureSpending(Fraction(1, 100), sensitivity=1))
    assert (found.accuracy, found.auc, found.r_squared, found.root_mean_squared_error) == (
        (None,) * 4
    )


def test_the_engine_judges_other_rows_for_a_price_of_their_own(tmp_path):
    people, others = tmp_path / "people.parquet", tmp_path / "others.parquet"
    pq.write_table(make_people(3000), people)
    pq.write_table(make_people(3000, seed=9), others)
    asked = {
        **DECLARED,
        "target": "ill",
        "features": ["age", "smokes"],
        "evaluate": 9,
        "evaluate_on": others,
        "subgroups": ["town", "age"],
        "ledger": tmp_path / "ledger.sqlite",
    }
    model = learn(people, **asked)
    assert model.spent["epsilon"] == 10
    found = model.evaluation
    assert found.same_rows is False
    assert found.accuracy.value == pytest.approx(model.score(others), abs=0.01)
    truth = np.array(pq.read_table(others)["ill"].to_pylist()) == "yes"
    auc = roc_auc_score(truth, model.predict_proba(others)[:, 1])
    assert found.auc.value == pytest.approx(auc, abs=0.02)
    assert [one.group for one in found.groups[:4]] == ["a", "b", "c", "missing"]
    again = learn(people, **asked)
    assert (again.evaluation, again.spent["epsilon"]) == (found, 0)


@pytest.mark.parametrize(
    ("learner", "target"), [("tree", "ill"), ("forest", "town"), ("naive-bayes", "town")]
)
def test_the_engine_judges_trees_and_several_classes(learner, target):
    people = make_people(1000)
    asked = {"target": target, "features": ["age", "smokes"], "learner": learner, "evaluate": 9}
    model = learn(people, **DECLARED, **asked)
    assert model.cautions == ()
    assert model.evaluation.accuracy.value == pytest.approx(model.score(people), abs=0.02)


def test_by_default_the_rows_are_those_that_it_was_learned_from():
    model = learn(make_people(2000), **NUMBERS, target="cost", learner="boosting", evaluate=9)
    assert model.evaluation.same_rows
    assert model.evaluation.r_squared.value == pytest.approx(
        model.score(make_people(2000)), abs=0.02
    )


def test_the_price_of_an_evaluation_is_said_before_it_is_paid():
    found = explain_learning(
        make_people(10), **DECLARED, target="ill", features=["age"], evaluate="0.25"
    )
    assert found.evaluation_epsilon == 0.25
    assert "its evaluation epsilon 0.25 more" in found.verdict


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"evaluate": 0}, InvalidBudget, "above 0"),
        ({"subgroups": ["town"]}, WrongUsage, "price of its own"),
        ({"evaluate": 1, "target": None, "learner": "pca"}, WrongUsage, "predicts a class or"),
        ({"evaluate": 1, "subgroups": ["twon"]}, UnknownColumn, "town"),
        ({"evaluate": 1, "subgroups": ["ill"]}, WrongUsage, "no groups"),
        ({"evaluate": 1, "evaluate_on": OTHERS}, WrongUsage, "form"),
    ],
)
def test_what_cannot_be_judged_is_refused_before_anything_is_spent(asked, error, words, tmp_path):
    ledger = tmp_path / "ledger.sqlite"
    with pytest.raises(error, match=words):
        learn(
            make_people(10),
            **DECLARED,
            **{"target": "ill", "features": ["age"], "ledger": ledger, **asked},
        )
    assert not ledger.exists() or not discreet.budget(ledger).entries


def test_the_command_judges_and_writes_a_card(tmp_path):
    pq.write_table(make_people(2000), tmp_path / "people.parquet")
    (tmp_path / "policy.yaml").write_text(
        "tables:\n  people:\n    unit: row\n    columns:\n"
        "      age: {role: quasi-identifier, bounds: [0, 99]}\n"
        "      smokes: {role: quasi-identifier, values: ['no', 'yes']}\n"
        "      ill: {role: sensitive, values: ['no', 'yes']}\n"
        "    budget: {epsilon: 3, delta: 1e-6}\n"
    )
    asked = [str(tmp_path / "people.parquet"), "--policy", str(tmp_path / "policy.yaml")]
    asked += ["--ledger", str(tmp_path / "ledger.sqlite"), "--target", "ill"]
    asked += ["-o", str(tmp_path / "model.json"), "--report", str(tmp_path / "card.html")]
    found = CliRunner().invoke(command, [*asked, "--evaluate", "1.5", "--subgroups", "smokes"])
    assert found.exit_code == 0, found.output
    assert "accuracy 0.8" in found.output
    assert "smokes: yes" in (tmp_path / "card.html").read_text("utf-8")
    refused = CliRunner().invoke(command, [*asked, "--force", "--evaluate", "2"])
    assert "The model was not evaluated. This question costs epsilon 2" in refused.output
    assert "learned before" in refused.output


def test_an_evaluation_over_budget_is_refused_before_the_model_is_paid(tmp_path):
    people = tmp_path / "people.parquet"
    pq.write_table(make_people(100), people)
    asked = {**DECLARED, "target": "ill", "features": ["age"], "ledger": tmp_path / "ledger.sqlite"}
    with pytest.raises(BudgetExceeded):
        learn(people, **asked, evaluate=10)
    assert learn(people, **asked).remaining["epsilon"] == 9


def test_a_column_of_many_values_without_order_makes_no_groups():
    column = make_space([40, 3]).features[0]
    with pytest.raises(WrongUsage, match="too many groups"):
        divide_column(column)
