"""Which factor matters more: scores that one row moves by a known amount, and exact chances on neighbors."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.learning.counts import ArrayCounts, make_space

import discreet
from discreet.dp.calculate.exponential import choose_chances
from discreet.errors import InvalidBudget, UndeclaredDomain, WrongUsage
from discreet.learning.factor_choice import (
    _CHANGE,
    FactorRequest,
    coarsen_codes,
    score_dependence,
)

SIZES = [4, 9, 3]
TABLES = st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), min_size=2, max_size=4)
PEOPLE = pa.table(
    {
        "gender": ["F", "M", "M", "M"] * 300,
        "age": [28, 19, 25, 30] * 300,
        "diabetes": [True, True, False, False] * 300,
    }
)
DECLARED = {"values": {"gender": ["F", "M"]}, "bounds": {"age": (0, 110)}}


def exact_chances(request, rows):
    scores = request.score_factors(ArrayCounts(rows, SIZES))
    named = {str(place): float(score) for place, score in enumerate(scores)}
    return choose_chances(named, scale=2 * _CHANGE / float(request.epsilon))


@given(TABLES, st.data())
@settings(max_examples=300, deadline=None)
def test_one_row_moves_a_score_by_at_most_what_is_stated(table, data):
    counts = np.array(table)
    more = counts.copy()
    place = data.draw(st.integers(0, len(table) - 1)), data.draw(st.integers(0, 2))
    more[place] += 1
    assert abs(score_dependence(more) - score_dependence(counts)) <= _CHANGE


@given(TABLES, st.data())
@settings(max_examples=100, deadline=None)
def test_parts_of_rows_move_a_score_by_their_part(table, data):
    one = 2**15
    counts = np.array(table) * one
    more = counts.copy()
    weights = data.draw(st.lists(st.integers(0, one), min_size=3, max_size=3))
    more[0] += weights
    moved = abs(score_dependence(more) - score_dependence(counts))
    assert moved <= sum(weights) * (_CHANGE - 1) + 1


def test_a_row_can_move_a_score_by_almost_as_much():
    counts = np.zeros((2, 2), int)
    counts[0, 0] = 10_000
    more = counts.copy()
    more[1, 1] = 1
    assert abs(score_dependence(more) - score_dependence(counts)) > 0.49 * _CHANGE


def test_the_score_is_half_the_distance_from_independence():
    counts = np.array([[10, 5], [3, 20]])
    expected = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
    assert score_dependence(counts) == math.floor(np.abs(counts - expected).sum() / 2 * 1024)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(3)])
@given(st.lists(st.tuples(*[st.integers(0, size - 1) for size in SIZES]), max_size=8), st.data())
@settings(max_examples=60, deadline=None)
def test_one_person_makes_no_factor_much_more_likely(epsilon, rows, data):
    request = FactorRequest(make_space(SIZES, ordered=(1,)), 4, epsilon)
    person = data.draw(st.tuples(*[st.integers(0, size - 1) for size in SIZES]))
    before = exact_chances(request, np.array(rows, int).reshape(-1, 3))
    after = exact_chances(request, np.array([*rows, person], int).reshape(-1, 3))
    loss = max(abs(math.log(after[name] / before[name])) for name in before)
    assert loss <= float(epsilon) + 1e-9


def test_a_person_who_is_there_many_times_exceeds_the_price():
    request = FactorRequest(make_space(SIZES), 4, Fraction(3))
    rows = np.tile([[0, 1, 0], [1, 1, 1]], (20, 1))
    before = exact_chances(request, rows)
    after = exact_chances(request, np.vstack([rows, np.tile([0, 2, 1], (12, 1))]))
    assert max(abs(math.log(after[name] / before[name])) for name in before) > 3


def test_numbers_are_divided_into_ranges_and_missing_ones_stay_apart():
    space = make_space([5, 12, 3], ordered=(1,))
    assert coarsen_codes(space.features[0], 4).tolist() == [0, 1, 2, 3, 4]
    assert coarsen_codes(space.features[1], 4).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4]


def test_rows_whose_target_is_missing_do_not_count():
    request = FactorRequest(make_space(SIZES), 4, Fraction(1))
    rows = np.tile([[0, 1, 0], [1, 2, 1]], (20, 1))
    missing = np.tile([[2, 3, 2]], (30, 1))
    scores = [request.score_factors(ArrayCounts(one, SIZES)) for one in (rows, np.vstack([rows, missing]))]  # fmt: skip
    assert scores[0] == scores[1]


def test_a_factor_that_is_ahead_by_the_margin_is_chosen_with_95_percent():
    request = FactorRequest(make_space(SIZES), 4, Fraction(1, 2))
    ahead = request.margin(1) * 1024
    chances = choose_chances({"a": ahead, "b": 0.0}, scale=2 * _CHANGE / 0.5)
    assert chances["a"] == pytest.approx(0.95)


def test_the_factor_that_matters_is_chosen_and_asked_again_is_free():
    found = discreet.choose_factor(PEOPLE, target="diabetes", among=["age", "gender"], **DECLARED)
    assert found.chosen == "age" or found.chosen == "gender"
    wide = PEOPLE.append_column("fit", pa.array([False, False, True, True] * 300))
    for _ in range(5):
        # Ahead by 600 rows, where the margin is 12: another one is chosen with a chance below e^-100.
        best = discreet.choose_factor(wide, target="diabetes", among=["gender", "fit"], **DECLARED)
        assert best.chosen == "fit"
    assert best.margin < 13


def test_the_same_choice_is_free_again(tmp_path):
    options = {"target": "diabetes", "among": ["age", "gender"], "ledger": tmp_path / "l", **DECLARED}  # fmt: skip
    source = tmp_path / "people.parquet"
    pq.write_table(PEOPLE, source)
    first, again = (discreet.choose_factor(source, **options) for _ in range(2))
    assert (first.cached, again.cached, again.chosen) == (False, True, first.chosen)
    other = discreet.choose_factor(source, **{**options, "bins": 4})
    assert not other.cached


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"among": ["age"]}, WrongUsage),
        ({"epsilon": 0}, InvalidBudget),
        ({"bins": 1}, WrongUsage),
        ({"bounds": {}}, UndeclaredDomain),
    ],
)
def test_what_makes_no_choice_is_refused(options, error):
    given_options = {"among": ["age", "gender"], **DECLARED, **options}
    with pytest.raises(error):
        discreet.choose_factor(PEOPLE, target="diabetes", **given_options)
