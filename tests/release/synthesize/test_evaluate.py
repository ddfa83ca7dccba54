"""What a model of synthetic rows predicts, judged by counts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from discreet.domain.binned_range import bin_whole_numbers
from discreet.domain.coded_column import CodedColumn
from discreet.domain.listed_values import ListedValues
from discreet.engines.engine import Kind
from discreet.release.synthesize.evaluate import judge_scores, read_evaluation, train_scores

COLUMNS = (
    CodedColumn("age", Kind.INTEGER, bin_whole_numbers(0, 99)),
    CodedColumn("smokes", Kind.BOOLEAN, ListedValues(Kind.BOOLEAN, (False, True))),
    CodedColumn("town", Kind.TEXT, ListedValues(Kind.TEXT, ("a", "b", "c"))),
    CodedColumn("ill", Kind.TEXT, ListedValues(Kind.TEXT, ("no", "yes"))),
)


class ArrayScores:
    one = 1
    sensitivity = 1

    def __init__(self, rows):
        self.rows = rows

    def count_scored(self, weights, cuts, columns):
        [(column,)] = columns
        scores = sum(one[self.rows[:, place]] for place, one in enumerate(weights))
        counts = np.zeros((len(cuts) + 1, len(weights[column])), np.int64)
        buckets = np.searchsorted(cuts, scores, side="right")
        np.add.at(counts, (buckets, self.rows[:, column]), 1)
        return [counts]


def make_rows(count, seed):
    chance = np.random.default_rng(seed)
    age = chance.integers(0, 101, count)
    smokes = chance.integers(0, 3, count)
    town = chance.integers(0, 4, count)
    odds = 1 / (1 + np.exp(-(age / 12 - 5 + 2 * (smokes == 1))))
    ill = (chance.random(count) < odds).astype(int)
    ill[chance.random(count) < 0.05] = 2
    return np.column_stack([age, smokes, town, ill]).astype(np.int32)


def test_the_figures_are_those_of_the_rows_when_noise_is_small():
    model = train_scores(make_rows(8_000, 1), COLUMNS, 3)
    rows = make_rows(6_000, 2)
    found = judge_scores(model, ArrayScores(rows), target="ill", epsilon=Fraction(1000))
    judged = rows[rows[:, 3] < 2]
    scores = sum(one[judged[:, place]] for place, one in enumerate(model.weights))
    answers = judged[:, 3] == 1
    assert found.question == "ill = yes"
    assert found.accuracy == pytest.approx(((scores >= 0) == answers).mean(), abs=1e-3)
    assert found.baseline == pytest.approx(max(answers.mean(), 1 - answers.mean()), abs=1e-3)
    assert found.auc == pytest.approx(roc_auc_score(answers, scores), abs=0.01)
    assert found.accuracy > found.baseline + 0.2


@pytest.mark.parametrize(
    ("target", "question"), [(0, "age ≥ 50"), (1, "smokes = True"), (2, "town = b")]
)
def test_every_kind_of_column_can_be_predicted(target, question):
    rows = make_rows(4_000, 3)
    rows[:, 0] = np.arange(4_000) % 100
    rows[:2_500, 2] = 1
    model = train_scores(rows, COLUMNS, target)
    assert model.question == question
    found = judge_scores(model, ArrayScores(rows), target="x", epsilon=Fraction(1))
    assert 0 <= found.accuracy <= 1
    assert 0 <= found.auc <= 1


def test_no_row_and_no_count_give_figures_that_say_nothing():
    model = train_scores(make_rows(0, 1), COLUMNS, 3)
    found = read_evaluation(
        model, np.zeros((len(model.cuts) + 1, 3)), target="ill", scale=9.0, epsilon=1.0
    )
    assert (found.accuracy, found.auc, found.standard_error) == (0.0, 0.5, 1.0)


def test_one_unit_changes_the_counts_by_its_rows():
    rows = make_rows(500, 4)
    model = train_scores(rows, COLUMNS, 3)
    before = ArrayScores(rows).count_scored(model.weights, model.cuts, [(3,)])[0]
    after = ArrayScores(rows[1:]).count_scored(model.weights, model.cuts, [(3,)])[0]
    assert abs(before - after).sum() == 1
