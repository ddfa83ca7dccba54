"""Private selection: exact chances of small cases within the stated price, and a score that one row moves as stated."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from fractions import Fraction

import dp_accounting
import numpy as np
import pyarrow as pa
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.learning.counts import (
    ArrayCounts,
    RecordingPureSpending,
    RecordingSpending,
    ReplayingPureSpending,
    ReplayingSpending,
    make_space,
)

import discreet
from discreet.dp.noise import SystemNoise
from discreet.dp.spending import ZcdpSpending
from discreet.errors import QuestionRefused, WrongUsage
from discreet.learning.additive import AdditiveModel
from discreet.learning.selection import (
    describe_scoring,
    draw_runs,
    price_selection,
    score_model,
    select_best,
)
from discreet.learning.training import Training
from discreet.learning.tree_model import TreeModel
from discreet.policy.load import parse_policy
from discreet.registry import LEARNERS

PEOPLE = pa.table(
    {"age": [30, 60] * 1500, "sex": ["f", "f", "m"] * 1000, "ill": [False, True] * 1500}
)
DECLARED = {"bounds": {"age": (0, 110)}, "values": {"sex": ["f", "m"]}}


def best_chances(chances, inverse):
    """Return the exact chance that each outcome is the best of K; outcomes are ascending, the last score is best.

    The chance that all K outcomes are within a set of chance x is E x^K = ln(1 - (1 - gamma) x) / ln gamma.
    """
    gamma = 1 / inverse
    upto = [0.0, *itertools.accumulate(chances)]
    within = [math.log1p(-(1 - gamma) * min(x, 1.0)) / math.log(gamma) for x in upto]
    return [high - low for low, high in itertools.pairwise(within)]


def largest_loss(one, two):
    """Return the largest log ratio of any set of outcomes: of single ones, as it is the largest there."""
    return max(abs(math.log(a / b)) for a, b in zip(one, two, strict=True))


@given(
    st.lists(st.floats(0.001, 1), min_size=2, max_size=6),
    st.lists(st.booleans(), min_size=6, max_size=6),
    st.sampled_from([0.05, 0.5, 2.0]),
    st.sampled_from([2, 40, 1000]),
)
@settings(max_examples=200, deadline=None)
def test_the_best_of_random_runs_costs_at_most_twice_a_run(weights, raised, epsilon, inverse):
    one = np.array(weights) / sum(weights)
    # Outcomes of a neighbor: some as much likelier as a run of epsilon allows, scaled to add up to 1.
    high = np.array(raised[: len(one)])
    two = one * np.exp(np.where(high, epsilon / 2, -epsilon / 2))
    two /= two.sum()
    assert largest_loss(one, two) <= epsilon + 1e-9
    loss = largest_loss(best_chances(one, inverse), best_chances(two, inverse))
    assert loss <= 2 * epsilon + 1e-9


def test_the_best_of_random_runs_can_cost_almost_twice_a_run():
    """The control: a price of one run alone would be exceeded."""
    # The second outcome is likelier on the neighbor, and the only better one is rarer.
    rare, best = np.array([1e-4, 1e-4 * math.e]), np.array([1e-2, 1e-2 / math.e])
    one, two = np.stack([1 - rare - best, rare, best], axis=1)
    assert largest_loss(one, two) == pytest.approx(1)
    assert largest_loss(best_chances(one, 10**6), best_chances(two, 10**6)) > 1.9


@pytest.mark.parametrize("delta", [Fraction(1, 10**9), Fraction(1, 10**6)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(8)])
@pytest.mark.parametrize("candidates", [2, 5, 50])
def test_the_price_of_a_run_is_within_that_of_another_accountant(epsilon, delta, candidates):
    """dp_accounting computes the same theorem for a Gaussian run; its epsilon must not be above ours."""
    price = price_selection(epsilon, delta, candidates)
    multiplier = 1 / math.sqrt(2 * float(price.rho))
    event = dp_event.RepeatAndSelectDpEvent(
        dp_accounting.GaussianDpEvent(multiplier), float(price.expected_runs_above), 0
    )
    accountant = RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)  # fmt: skip
    found = accountant.compose(event).get_epsilon(float(delta))
    assert found <= float(epsilon) * (1 + 1e-6)
    assert found > 0.6 * float(epsilon)


def test_a_run_costs_half_of_what_all_do_without_a_delta():
    price = price_selection(Fraction(3), Fraction(0), 4)
    assert price.run_epsilon == Fraction(3, 2)
    learning, scoring = price.open_run(sensitivity=1, one=1)
    assert 0 <= Fraction(3, 2) - learning.left - scoring.left < Fraction(1, 10**12)
    assert (price.whole.epsilon, price.whole.delta) == (3, 0)


@pytest.mark.statistics
def test_the_number_of_runs_has_the_logarithmic_distribution():
    """4,000 draws by a seed; five standard errors are exceeded with a chance below 1e-6 for other seeds."""

    class Seeded(SystemNoise):
        chance = np.random.default_rng(7)

        def uniform(self, below, count):
            return self.chance.integers(0, below, count)

    draws, noise, inverse = 4_000, Seeded(), 8
    counted = Counter(draw_runs(inverse, noise=noise) for _ in range(draws))
    for runs in range(1, 9):
        exact = (1 - 1 / inverse) ** runs / (runs * math.log(inverse))
        error = math.sqrt(exact * (1 - exact) / draws)
        assert counted[runs] / draws == pytest.approx(exact, abs=5 * error)


def test_the_first_of_the_best_is_selected():
    runs = iter([(1.0, "a"), (3.0, "b"), (3.0, "c"), (2.0, "d")])
    assert select_best(lambda: next(runs), 4) == (3.0, "b")


def make_model(space, task):
    chance = np.random.default_rng(2)
    shapes = tuple(chance.normal(size=(column.size, 1)) for column in space.features)
    link = "identity" if task == "regression" else "logistic"
    return AdditiveModel(space, link, np.array([0.4]), shapes)


SCORED = {"classification": [4, 8, 3], "regression": [4, 8, 40]}


@pytest.mark.parametrize("pure", [False, True], ids=["gaussian", "laplace"])
@pytest.mark.parametrize("task", SCORED)
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_one_person_moves_a_score_by_at_most_its_price(task, pure, data):
    sizes = SCORED[task]
    space = make_space(sizes, task=task, ordered=(2,))
    model = make_model(space, task)
    rows = np.stack([np.random.default_rng(1).integers(0, size, 90) for size in sizes], axis=1)
    person = [data.draw(st.integers(0, size - 1)) for size in sizes]
    assert replay_score(model, rows, np.vstack([rows, person]), pure=pure) <= 1 + 1e-9


def replay_score(model, rows, neighbor, *, pure):
    amount = Fraction(1, 3)
    sizes = model.space.sizes
    recorded = (RecordingPureSpending if pure else RecordingSpending)(amount)
    score_model(model, ArrayCounts(rows, sizes), recorded)
    replayed = (ReplayingPureSpending if pure else ReplayingSpending)(amount, recorded.kept)
    score_model(model, ArrayCounts(neighbor, sizes), replayed)
    return replayed.cost / float(amount)


def test_a_person_who_is_there_often_moves_a_score_by_more():
    space = make_space(SCORED["classification"])
    rows = np.zeros((9, 3), int)
    model = AdditiveModel(
        space, "logistic", np.array([-1.0]), tuple(np.zeros((c.size, 1)) for c in space.features)
    )
    assert replay_score(model, rows, np.vstack([rows, rows[:3]]), pure=True) > 1


def test_the_score_of_classes_is_how_many_are_right():
    sizes = SCORED["classification"]
    space = make_space(sizes)
    model = make_model(space, "classification")
    rows = np.stack([np.random.default_rng(3).integers(0, size, 500) for size in sizes], axis=1)
    weights, cuts, gains = describe_scoring(model)
    (found,) = ArrayCounts(rows, sizes).count_scored(weights, cuts, [(2,)])
    right = model.predict(rows[:, :2]).argmax(axis=1) == rows[:, 2]
    assert int((found * gains).sum()) == 256 * int(right.sum())


def test_the_score_of_numbers_falls_with_their_distance():
    space = make_space([3, 3, 41], task="regression", ordered=(2,))
    shapes = (np.array([[0.0], [20.0], [0.0]]), np.zeros((3, 1)))
    model = AdditiveModel(space, "identity", np.array([5.0]), shapes)
    weights, cuts, gains = describe_scoring(model)

    def gain(row):
        (found,) = ArrayCounts([row], [3, 3, 41]).count_scored(weights, cuts, [(2,)])
        return int((found * gains).sum())

    assert gain([1, 0, 25]) > gain([1, 0, 20]) > gain([1, 0, 5])
    assert gain([0, 0, 5]) > 245
    assert gain([0, 0, 40]) == 0  # its target is missing


def test_a_model_is_selected_at_the_price_of_one(tmp_path):
    policy = parse_policy(
        "tables: {data: {unit: row, budget: {epsilon: 5}, columns: {age: {role: quasi-identifier, kind: integer, "
        "bounds: [0, 110]}, sex: {role: quasi-identifier, kind: text, values: [f, m]}, ill: {role: sensitive, kind: "
        "boolean, values: ['false', 'true']}}}}"
    )
    candidates = [{"rounds": 1}, {"learner": "naive-bayes"}]
    told = discreet.explain_learning(PEOPLE, policy, target="ill", epsilon=2, delta=0, candidates=candidates)  # fmt: skip
    assert "best of 2 candidates" in told.verdict
    assert told.epsilon == 2
    found = discreet.learn(PEOPLE, policy, target="ill", epsilon=2, delta=0, candidates=candidates)
    assert found.spent == {"epsilon": 2.0, "delta": 0.0}
    assert found.learner in ("boosting", "naive-bayes")
    assert found.predict(pa.table({"age": [30, 60], "sex": ["f", "m"]})).tolist() == [False, True]


def test_with_a_delta_a_budget_in_zcdp_cannot_pay_for_it():
    policy = parse_policy(
        "tables: {data: {unit: row, budget: {epsilon: 5, delta: 1e-6, accounting: zcdp}, columns: {age: {role: "
        "quasi-identifier, kind: integer, bounds: [0, 110]}, ill: {role: sensitive, kind: boolean, values: "
        "['false', 'true']}}}}"
    )
    options = {"target": "ill", "features": ["age"], "candidates": [{"rounds": 1}, {"rounds": 2}]}
    with pytest.raises(QuestionRefused):
        discreet.learn(PEOPLE, policy, epsilon="0.5", **options)
    assert discreet.learn(PEOPLE, policy, epsilon="0.5", delta=0, **options).delta == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"candidates": [{"rounds": 3}]}, "nothing to select"),
        ({"candidates": [{"rounds": 3}, {"round": 5}]}, "round"),
        ({"target": "age", "candidates": [{"learner": "boosting"}, {"learner": "naive-bayes"}]}, "does not do"),
    ],
)  # fmt: skip
def test_candidates_that_cannot_be_compared_are_refused(options, words):
    with pytest.raises(WrongUsage, match=words):
        discreet.learn(PEOPLE, **{"target": "ill", **DECLARED, **options})


def test_another_list_of_candidates_is_another_request():
    from discreet.learning.request import LearningRequest, choose_learner
    from discreet.learning.selection import LearnerCandidate

    space = make_space(SCORED["classification"])
    learner = choose_learner(None, "classification")
    keys = {
        LearningRequest(
            space,
            learner,
            Fraction(1),
            Fraction(0),
            {},
            tuple(LearnerCandidate(learner, {"rounds": one}) for one in rounds),
        ).key()
        for rounds in [(), (1, 2), (1, 3)]
    }
    assert len(keys) == 3
    assert all(json.loads(key)["learn"] == 1 for key in keys)


@pytest.mark.parametrize("learner", LEARNERS.all(), ids=lambda one: one.name)
def test_a_learner_says_of_what_kind_its_models_are(learner):
    task = learner.tasks[0]
    if task not in SCORED:
        pytest.skip("it predicts no target")
    sizes = SCORED[task]
    rows = np.stack([np.random.default_rng(1).integers(0, n - 1, 300) for n in sizes], axis=1)
    spending = ZcdpSpending(Fraction(5), sensitivity=1)
    space = make_space(sizes, task=task, ordered=(1, 2))
    training = Training(ArrayCounts(rows, sizes), space, spending, Fraction(5), np.random.default_rng(1))  # fmt: skip
    found = learner.fit(training)
    assert isinstance(found, AdditiveModel) == (learner.model == "additive")
    assert isinstance(found, TreeModel) == (learner.model == "trees")


def test_candidates_on_the_command_line_are_options_with_commas_and_semicolons(tmp_path, capsys):
    from discreet.cli.command import run_command

    (tmp_path / "p.csv").write_text("age,ill\n" + "30,no\n60,yes\n" * 300)
    (tmp_path / "p.yaml").write_text(
        "tables: {p: {unit: row, columns: {age: {role: quasi-identifier, kind: integer, bounds: [0, 110]}, "
        "ill: {role: sensitive, kind: text, values: ['no', 'yes']}}}}"
    )
    code = run_command(
        ["learn", str(tmp_path / "p.csv"), "--policy", str(tmp_path / "p.yaml"), "--target", "ill", "--delta", "0",
         "--candidates", "rounds=1,bins=4; learner=naive-bayes", "--ledger", str(tmp_path / "l"), "--dry-run"]
    )  # fmt: skip
    assert code == 0
    assert "the best of 2 candidates" in capsys.readouterr().out.replace("\n", " ")
