"""Trees find what is there, are read by people, and are refused when forged."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.learning.counts import ArrayCounts, make_space
from tests.learning.test_boosting import DECLARED, make_people

from discreet.api.learn import learn, load_model
from discreet.domain.code_tree import CodeSplit, CodeTree
from discreet.dp.spending import PureSpending, ZcdpSpending
from discreet.errors import UnreadableSource, WrongUsage
from discreet.learning.leaf_chances import NoisyCounts, estimate_chances
from discreet.learning.specs.forest import SPLITS, _choose_factor, fit_forest
from discreet.learning.specs.tree import fit_tree
from discreet.learning.split_scores import CRITERIA, SplitScore
from discreet.learning.training import Training
from discreet.learning.tree_growth import SELECTIONS, selection_price
from discreet.learning.tree_model import read_tree_model
from discreet.learning.tree_text import describe_trees
from discreet.policy import parse_policy

HUGE = Fraction(10**9)


def train(rows, space, *, amount=HUGE, pure=True, epsilon=10, seed=0):
    spending = (PureSpending if pure else ZcdpSpending)(amount, sensitivity=1)
    counts = ArrayCounts(rows, space.sizes)
    return Training(counts, space, spending, Fraction(epsilon), np.random.default_rng(seed))


def make_rows(count=3000, seed=2):
    """Return rows whose class depends on a scale (0), a category (1), and on nothing else (2)."""
    chance = np.random.default_rng(seed)
    rows = np.stack([chance.integers(0, size, count) for size in (9, 4, 5)], axis=1)
    wanted = np.where(rows[:, 0] > 4, rows[:, 1] % 2, 0)
    noise = chance.random(count) < 0.05
    return np.column_stack([rows, np.where(noise, 1 - wanted, wanted)])


SPACE = make_space([10, 5, 6, 3], ordered=(0,))


def score_splits(rows, space, criterion):
    """Return by brute force the score of each split of all rows: by a feature, and after which code."""
    score = SplitScore(criterion)
    scores = {}
    for feature in range(3):
        table = np.zeros((1, space.sizes[feature], 2), np.int64)
        np.add.at(table[0], (rows[:, feature], rows[:, -1]), 1)
        if feature == 0:
            found = score.score_thresholds(table)[0]
            scores |= {(0, (0, after + 1)): int(one) for after, one in enumerate(found)}
        else:
            starts = tuple(range(space.sizes[feature]))
            scores[feature, starts] = int(score.score_values(table)[0])
    return scores


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("selection", SELECTIONS)
def test_without_noise_the_first_split_is_the_best_one(criterion, selection):
    rows = make_rows()
    model = fit_tree(train(rows, SPACE), criterion=criterion, selection=selection, depth=1)
    scores = score_splits(rows, SPACE, criterion)
    split = model.trees[0].tree.splits[0]
    assert scores[split.column, split.starts] == max(scores.values())


def test_without_noise_thresholds_are_those_of_scikit_learn():
    chance = np.random.default_rng(8)
    first, second = chance.integers(0, 30, (2, 4000))
    target = ((first > 11) & (second > 19)).astype(int) ^ (chance.random(4000) < 0.1)
    rows = np.column_stack([first, second, target])
    space = make_space([31, 31, 3], ordered=(0, 1))
    model = fit_tree(train(rows, space), depth=2)
    reference = DecisionTreeClassifier(max_depth=2).fit(rows[:, :2], target)
    expected = reference.predict_proba(rows[:, :2])
    np.testing.assert_allclose(model.predict(rows), expected, atol=0.02)
    assert model.trees[0].tree.splits[0].starts[1] == int(reference.tree_.threshold[0]) + 1


def test_leaves_of_a_large_budget_have_the_shares_of_their_rows():
    rows = make_rows()
    model = fit_tree(train(rows, SPACE), depth=2)
    one = model.trees[0]
    leaves = one.tree.find_leaves(rows)
    exact = np.stack(
        [np.bincount(leaves[rows[:, -1] == y], minlength=len(one.rows)) for y in (0, 1)]
    )
    np.testing.assert_allclose(one.rows, exact.sum(axis=0), atol=1e-3)
    large = exact.sum(axis=0) > 200
    shares = (exact / np.maximum(exact.sum(axis=0), 1)).T
    np.testing.assert_allclose(one.chances[large], shares[large], atol=0.01)


@pytest.mark.parametrize("fit", [fit_tree, fit_forest])
@pytest.mark.parametrize("pure", [False, True], ids=["gaussian", "laplace"])
@pytest.mark.parametrize("amount", [Fraction(1, 10**6), Fraction(1), Fraction(10**12)])
@pytest.mark.parametrize("count", [0, 1, 500])
def test_no_table_and_no_budget_makes_a_malformed_model(fit, pure, amount, count):
    rows = make_rows(500)[:count]
    training = train(rows, SPACE, amount=amount, pure=pure, epsilon=1)
    model = fit(training)
    assert 0 <= training.spending.left < amount
    chances = model.predict(make_rows(50))
    assert np.isfinite(chances).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    again = read_tree_model(SPACE, json.loads(json.dumps(model.to_content(), allow_nan=False)))
    np.testing.assert_array_equal(again.predict(make_rows(50)), chances)


def test_a_tree_of_many_values_and_levels_stays_small():
    chance = np.random.default_rng(5)
    sizes = [200, 300, 200, 40]
    rows = np.stack([chance.integers(0, size, 4000) for size in sizes], axis=1)
    rows = np.column_stack([rows, rows[:, 0] % 2])
    training = train(rows, make_space([201, 301, 201, 41, 3]))
    tree = fit_tree(training, depth=10).trees[0].tree
    assert 200 < len(tree.leaves) <= 1024
    assert all(split is None or split.column != 1 for split in tree.splits)


@pytest.mark.parametrize("splits", SPLITS)
def test_a_forest_of_one_feature_and_one_class_is_one(splits):
    space = make_space([3, 4])
    rows = np.column_stack([np.zeros(200, int), np.ones(200, int)])
    model = fit_forest(train(rows, space), splits=splits, trees=3)
    assert model.predict(rows)[:, 1].min() > 0.9
    assert describe_trees(model)


@pytest.mark.parametrize("splits", SPLITS)
def test_a_forest_predicts_what_a_tree_of_its_depth_does(splits):
    rows, others = make_rows(), make_rows(seed=7)
    model = fit_forest(train(rows, SPACE), splits=splits, trees=20, depth=6)
    assert (model.predict(others).argmax(axis=1) == others[:, -1]).mean() > 0.88


@pytest.mark.parametrize("splits", ["informed", "random"])
def test_a_rare_class_is_predicted_where_many_trees_agree_on_it_a_little(splits):
    """Of rows that the first feature sends up, 65 % are of a class that 12 % of all rows are of."""
    chance = np.random.default_rng(3)
    rows = np.stack([chance.integers(0, size, 6000) for size in (9, 4, 5)], axis=1)
    is_rare = chance.random(6000) < np.where(rows[:, 0] > 7, 0.65, 0.05)
    model = fit_forest(train(np.column_stack([rows, is_rare]), SPACE), splits=splits, trees=20)
    predicted = model.predict(rows).argmax(axis=1)
    assert (predicted == (rows[:, 0] > 7)).mean() > 0.97


def test_chances_are_spread_where_another_threshold_is_clearly_better():
    counts = np.full((16, 2), 10.0)
    counts[:6, 0], counts[6:10, 1] = 900, 300  # from .375 on most rows are of the second class
    factor, share = _choose_factor(counts, 1.0)
    assert share == pytest.approx(1320 / 6820)
    assert share + factor * (6 / 16 - share) == pytest.approx(0.5)
    assert _choose_factor(counts, 1e4) == (1.0, share)
    assert _choose_factor(counts - counts, 1.0) == (1.0, 0.01)


def test_a_random_forest_looks_at_leaves_alone():
    rows = make_rows()
    training = train(rows, SPACE)
    first = fit_forest(training, splits="random")
    second = fit_forest(train(rows[:5], SPACE), splits="random")
    assert [one.tree for one in first.trees] == [one.tree for one in second.trees]


def test_noisy_numbers_of_every_candidate_cost_more_than_one_choice():
    epsilon = Fraction(1, 10)
    assert selection_price(epsilon, 14, "laplace") == 14 * epsilon
    assert selection_price(epsilon, 14, "exponential") == epsilon


@pytest.mark.statistics
def test_at_one_price_the_exponential_mechanism_finds_the_better_feature_more_often():
    """40 trials; where both find it equally often the difference of 20 has a chance below 1e-6."""
    chance = np.random.default_rng(1)
    sizes = [9] * 20
    rows = np.stack([chance.integers(0, 8, 600) for _ in sizes], axis=1)
    target = (rows[:, 7] % 2) ^ (chance.random(600) < 0.2)
    rows = np.column_stack([rows, target])
    space = make_space([*sizes, 3])
    hits = {}
    for selection in SELECTIONS:
        models = [
            fit_tree(
                train(rows, space, amount=Fraction(1)),
                criterion="max",
                selection=selection,
                depth=1,
            )
            for _ in range(40)
        ]
        hits[selection] = sum(one.trees[0].tree.splits[0].column == 7 for one in models)
    assert hits["exponential"] - hits["laplace"] > 20


def test_chances_of_small_leaves_are_drawn_to_those_of_their_parent():
    tree = CodeTree((CodeSplit(0, (0, 1), (1, 2)), None, None))
    counts = [
        NoisyCounts.none(2),
        NoisyCounts(np.array([900.0, 100.0]), 1.0),
        NoisyCounts(np.array([0.0, 1.0]), 1.0),
    ]
    chances = estimate_chances(tree, counts)
    assert chances[1][0] == pytest.approx(0.9, abs=0.01)
    assert 0.6 < chances[2][0] < 0.9


def test_two_measurements_are_combined_by_how_exact_they_are():
    found = NoisyCounts(np.array([10.0]), 1.0).combine(np.array([16.0]), 2.0)
    assert (found.counts[0], found.variance) == (pytest.approx(12), pytest.approx(2 / 3))


def test_a_tree_is_text_that_people_read():
    people = make_people(4000)
    model = learn(people, target="ill", learner="tree", leave_out=["cost"], epsilon=10, **DECLARED)
    text = model.explain()
    assert "age <" in text
    assert "%" in text
    assert model.score(make_people(1000, seed=9)) > 0.8


def test_what_is_no_tree_is_not_explained():
    model = learn(make_people(50), target="ill", leave_out=["cost"], **DECLARED)
    with pytest.raises(WrongUsage, match="tree"):
        model.explain()


def test_codes_of_every_kind_are_split():
    numbers = np.arange(400)
    table = pa.table(
        {
            "day": np.datetime64("2020-01-01") + numbers % 100,
            "old": [None if n % 7 == 0 else n % 2 == 0 for n in numbers.tolist()],
            "size": [None if n % 5 == 0 else n / 7 for n in numbers.tolist()],
            "ill": ["no", "yes"] * 200,
        }
    )
    policy = parse_policy(
        "tables: {table: {unit: row, columns: {day: {role: sensitive, bounds: [2020-01-01, 2020-04-30]}, "
        "old: sensitive, size: {role: sensitive, bounds: [0, 60]}, ill: {role: sensitive, values: ['no', 'yes']}}}}"
    )
    model = learn(table, policy, table="table", target="ill", learner="tree", epsilon=10)
    assert model.score(table) > 0.75
    assert "old = " in model.explain()


def test_a_forged_forest_is_refused(tmp_path):
    model = learn(make_people(200), target="ill", learner="forest", leave_out=["cost"], **DECLARED)
    sound = json.loads(model.saved.to_bytes())
    tree = sound["model"]["trees"][0]
    for damage in (
        {"trees": []},
        {"trees": [tree] * 200},
        {"kind": "additive"},
        {"trees": [{**tree, "nodes": [[0, [0, 1], [0, 0]]]}]},
        {"trees": [{**tree, "chances": tree["chances"][1:]}]},
        {"trees": [{**tree, "chances": [[2, -1]] * len(tree["rows"])}]},
        {"trees": [{**tree, "rows": ["x"] * len(tree["rows"])}]},
    ):
        place = tmp_path / "model.json"
        place.write_text(json.dumps({**sound, "model": {**sound["model"], **damage}}))
        with pytest.raises(UnreadableSource):
            load_model(place)
