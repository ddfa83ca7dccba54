"""Three tables of any kind become numbers that mean the same in all of them."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from discreet.attacks.synthetic.attribute import infer_attribute
from discreet.attacks.synthetic.closest import find_closest_people
from discreet.attacks.synthetic.linkability import link_column_sets
from discreet.attacks.synthetic.risk import compare_with_control, reference_of
from discreet.attacks.synthetic.trial import SyntheticTrial, open_trial, row_keys
from discreet.errors import EmptySource, UnknownColumn, WrongUsage

DAYS = [dt.date(2001, 1, 1), None, dt.date(2001, 1, 11)]


def trial_of(**columns) -> SyntheticTrial:
    table = pa.table(columns)
    return open_trial(table, source=table, control=table)


def test_words_have_one_code_in_all_tables():
    trial = open_trial(
        pa.table({"sex": ["f", "m"]}),
        source=pa.table({"sex": ["m", None]}),
        control=pa.table({"sex": ["x"]}),
    )
    assert trial.source.values[0, 0] == trial.synthetic.values[0, 1]
    assert np.isnan(trial.source.values[0, 1])
    assert trial.features[0].spell(trial.control.values[0, 0]) == "x"


def test_dates_lie_on_a_line():
    trial = trial_of(day=pa.array(DAYS))
    assert trial.features[0].span == 10
    assert trial.features[0].spell(trial.source.values[0, 0]) == "2001-01-01"
    assert trial.features[0].spell(trial.source.values[0, 1]) == "missing"


def test_numbers_in_one_table_and_words_in_another_are_compared_as_words():
    trial = open_trial(
        pa.table({"zip": ["1", "x"]}),
        source=pa.table({"zip": [1, 2]}),
        control=pa.table({"zip": [1, 2]}),
    )
    assert not trial.features[0].is_ordered
    assert trial.source.values[0, 0] == trial.synthetic.values[0, 0]


def test_infinity_and_a_column_of_gaps_do_no_harm():
    gaps = pa.array([None, None], pa.float64())
    trial = trial_of(a=[1.0, float("inf")], b=gaps)
    assert trial.features[0].span == 1
    assert find_closest_people(trial, rng=np.random.default_rng(0)).targets == 2


def test_only_shared_columns_are_used():
    trial = open_trial(
        pa.table({"a": [1], "b": [2]}),
        source=pa.table({"b": [2], "c": [3]}),
        control=pa.table({"b": [2]}),
    )
    assert trial.names == ("b",)


def test_a_misspelled_column_is_refused():
    table = pa.table({"age": [1]})
    with pytest.raises(UnknownColumn, match="Did you mean 'age'"):
        open_trial(table, source=table, control=table, columns=["agee"])


def test_nothing_shared_is_refused():
    with pytest.raises(WrongUsage, match="No column is in all"):
        open_trial(pa.table({"a": [1]}), source=pa.table({"b": [1]}), control=pa.table({"a": [1]}))


def test_an_empty_table_is_refused():
    table = pa.table({"a": [1]})
    with pytest.raises(EmptySource):
        open_trial(table, source=table, control=table.slice(0, 0))


def test_rows_have_one_key_where_they_agree():
    values = np.array([[1.0, 1.0, np.nan, np.nan], [2.0, 3.0, 2.0, 2.0]])
    keys = row_keys(values)
    assert keys[2] == keys[3]
    assert len(set(keys.tolist())) == 3


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (["a"], ["a"], "in both sets"),
        (["a", "b"], None, "one of them is empty"),
    ],
)
def test_sets_of_columns_that_link_nothing_are_refused(first, second, words: str):
    with pytest.raises(WrongUsage, match=words):
        link_column_sets(
            trial_of(a=[1, 2], b=[1, 2]), first=first, second=second, rng=np.random.default_rng(0)
        )


@pytest.mark.parametrize(
    ("secret", "known", "words"),
    [
        ("c", None, "not among the shared"),
        ("a", ["a"], "both known and to be guessed"),
        ("a", ["z"], "not among the shared"),
        ("a", [], "knows nothing"),
    ],
)
def test_a_secret_that_cannot_be_guessed_is_refused(secret: str, known, words: str):
    with pytest.raises(WrongUsage, match=words):
        infer_attribute(
            trial_of(a=[1, 2], b=[1, 2]), secret, known=known, rng=np.random.default_rng(0)
        )


def test_a_number_is_right_within_a_share_of_its_span_where_that_is_less():
    trial = open_trial(
        pa.table({"zip": [10_000, 10_100], "sex": ["f", "m"]}),
        source=pa.table({"zip": [10_050, 10_099], "sex": ["f", "m"]}),
        control=pa.table({"zip": [10_000, 10_100], "sex": ["m", "f"]}),
    )
    found = infer_attribute(trial, "zip", rng=np.random.default_rng(0))
    assert (found.correct, found.targets) == (1, 2)


def test_the_interval_of_a_few_guesses_reaches_their_control():
    assert compare_with_control(2, 3, reference_of(0, 3)).interval[0] == 0
    assert compare_with_control(600, 1000, reference_of(0, 1000)).interval[0] > 0.5
    assert compare_with_control(5, 5, reference_of(5, 5)).risk == (0.0, 0.0)
