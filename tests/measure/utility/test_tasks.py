"""Accuracy of a classifier: folds are fair, and what can be learned is learned."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UnknownColumn
from discreet.measure.utility.tasks import UNKNOWN, cross_validate, split_folds, table_accuracy

ENTRIES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30)), min_size=1, max_size=20).map(
    np.array
)


@given(entries=ENTRIES)
def test_folds_hold_every_row_once_and_every_value_alike(entries):
    target, rows = entries[:, 0], entries[:, 1]
    folds = split_folds(target, rows)
    assert (folds.sum(axis=1) == rows).all()
    by_value = np.stack([folds[target == value].sum(axis=0) for value in np.unique(target)])
    assert (by_value.max(axis=1) - by_value.min(axis=1) <= 1).all()
    assert (split_folds(target, rows) == folds).all()


def test_many_rows_are_drawn_from_in_their_proportions():
    rows = np.array([3_000_000_000, 1_000_000_000])
    drawn = split_folds(np.array([0, 1]), rows, most=10_000).sum(axis=1)
    # Binomial: six standard deviations are below 600 rows.
    assert abs(drawn.sum() - 10_000) < 600
    assert abs(drawn[0] - 3 * drawn[1]) < 1_200


def test_a_column_that_repeats_the_target_predicts_it():
    table = pa.table({"twin": ["a", "b", "c"] * 20, "target": ["A", "B", "C"] * 20})
    assert table_accuracy(table, target="target") == 1


def test_a_constant_column_predicts_the_majority():
    table = pa.table({"same": ["x"] * 50, "target": ["A"] * 40 + ["B"] * 10})
    assert table_accuracy(table, target="target") == pytest.approx(0.8)


def test_missing_values_are_values():
    table = pa.table({"x": ["a", None] * 20, "target": ["A", None] * 20})
    assert table_accuracy(table, target="target") == 1


def test_an_unknown_target_is_refused():
    with pytest.raises(UnknownColumn):
        table_accuracy(pa.table({"x": [1]}), target="y")


def test_merged_entries_and_single_rows_are_judged_alike():
    chance = np.random.default_rng(5)
    features = chance.integers(0, 3, size=(300, 2))
    target = (features[:, 0] + chance.integers(0, 2, size=300)) % 3
    folds = split_folds(target, np.ones(300, dtype=np.int64))
    keys, places = np.unique(np.column_stack([features, target]), axis=0, return_inverse=True)
    merged = np.stack([np.bincount(places, folds[:, f], len(keys)) for f in range(5)], axis=1)
    alone = cross_validate(features, target, folds)
    together = cross_validate(keys[:, :2], keys[:, 2], merged.astype(np.int64))
    assert alone == pytest.approx(together)
    assert 0.4 < alone < 0.65


def test_values_withheld_from_the_trainer_are_predicted_from_the_rest():
    features = np.array([[0], [1]] * 30)
    target = features[:, 0]
    folds = split_folds(target, np.ones(60, dtype=np.int64))
    given = np.where(np.arange(60) < 20, target, UNKNOWN)
    assert cross_validate(features, target, folds, given=given) == 1
    nothing = np.full(60, UNKNOWN)
    assert cross_validate(features, target, folds, given=nothing) == 0
