from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.statistics.runs import ManyRuns, NoNoise

from discreet.attack.audit.bound import epsilon_lower_bound
from discreet.dp.mechanisms.quantiles import (
    choose_quantile,
    choose_rank_from_bottom,
    choose_rank_from_top,
)
from discreet.errors import InvalidMechanism

RUNS = 200_000
ONE = Fraction(1)
counts_of_rows = st.lists(st.integers(0, 30), min_size=1, max_size=12)
quantiles = st.fractions(min_value=0, max_value=1, max_denominator=20)


class Scores(NoNoise):
    """Keeps what a mechanism asks for."""

    def choose(self, scores, *, epsilon: Fraction, sensitivity: Fraction) -> int:
        self.scores, self.sensitivity = scores, sensitivity
        return super().choose(scores, epsilon=epsilon, sensitivity=sensitivity)


def scores_of(mechanism, counts, **target):
    asked = Scores()
    mechanism(range(len(counts)), counts, epsilon=ONE, rows_per_unit=1, noise=asked, **target)
    return np.array(asked.scores.tolist()), asked.sensitivity


@given(counts_of_rows.filter(any), quantiles)
def test_without_noise_a_quantile_is_right(counts: list[int], quantile: Fraction):
    found, _ = choose_quantile(
        range(len(counts)), counts, quantile=quantile, epsilon=ONE, rows_per_unit=1, noise=NoNoise()
    )
    total, below = sum(counts), sum(counts[:found])
    assert below <= quantile * total <= below + counts[found]


@given(counts_of_rows, quantiles, st.data())
def test_one_row_changes_no_score_of_a_quantile_by_more_than_claimed(counts, quantile, data):
    place = data.draw(st.integers(0, len(counts) - 1))
    more = [count + (number == place) for number, count in enumerate(counts)]
    first, claimed = scores_of(choose_quantile, counts, quantile=quantile)
    second, _ = scores_of(choose_quantile, more, quantile=quantile)
    assert np.abs(first - second).max() <= claimed


@given(counts_of_rows, st.integers(1, 50), st.data())
@pytest.mark.parametrize("mechanism", [choose_rank_from_bottom, choose_rank_from_top])
def test_one_row_changes_no_score_of_a_rank_by_more_than_claimed(mechanism, counts, rank, data):
    place = data.draw(st.integers(0, len(counts) - 1))
    more = [count + (number == place) for number, count in enumerate(counts)]
    first, claimed = scores_of(mechanism, counts, rank=rank)
    second, _ = scores_of(mechanism, more, rank=rank)
    assert np.abs(first - second).max() <= claimed


@given(counts_of_rows.filter(any), st.data())
def test_without_noise_a_rank_is_right(counts: list[int], data):
    rows = [place for place, count in enumerate(counts) for _ in range(count)]
    rank = data.draw(st.integers(1, len(rows)))
    settings = {"rank": rank, "epsilon": ONE, "rows_per_unit": 1, "noise": NoNoise()}
    places = range(len(counts))
    assert choose_rank_from_bottom(places, counts, **settings)[0] == rows[rank - 1]
    assert choose_rank_from_top(places, counts, **settings)[0] == rows[-rank]


def choose_often(mechanism, counts, rows_per_unit: int = 1, **target) -> np.ndarray:
    noise = ManyRuns(RUNS)
    mechanism(
        range(len(counts)), counts, epsilon=ONE, rows_per_unit=rows_per_unit, noise=noise, **target
    )
    return noise.chosen


CASES = [
    (choose_quantile, {"quantile": Fraction(1, 2)}),
    (choose_quantile, {"quantile": Fraction(9, 10)}),
    (choose_rank_from_bottom, {"rank": 2}),
    (choose_rank_from_top, {"rank": 2}),
]
CASE_NAMES = ["median", "ninth decile", "bottom", "top"]


@pytest.mark.statistics
@pytest.mark.parametrize(("mechanism", "target"), CASES, ids=CASE_NAMES)
def test_a_rank_tells_no_more_than_its_epsilon(mechanism, target):
    """Lower bound of epsilon from 200 000 runs on each input, alpha 1e-7."""
    chosen = [choose_often(mechanism, counts, **target) for counts in ([3, 0, 3], [3, 0, 4])]
    assert epsilon_lower_bound(*chosen) <= 1


@pytest.mark.statistics
def test_more_rows_than_were_allowed_for_are_caught():
    """A person of 8 rows, of whom one is reckoned with."""
    tables = ([9, 0, 9], [9, 0, 17])
    allowed = [
        choose_often(choose_quantile, counts, 8, quantile=Fraction(1, 2)) for counts in tables
    ]
    wrong = [choose_often(choose_quantile, counts, quantile=Fraction(1, 2)) for counts in tables]
    assert epsilon_lower_bound(*allowed) <= 1 < epsilon_lower_bound(*wrong)


def test_counts_whose_products_leave_64_bits_are_exact():
    counts = np.array([2**61, 2**60, 2**61])
    settings = {"quantile": Fraction(499, 1000), "epsilon": ONE, "rows_per_unit": 1}
    assert choose_quantile("abc", counts, **settings)[0] == "b"


def test_an_empty_table_has_a_quantile_all_the_same():
    settings = {"quantile": Fraction(1, 2), "epsilon": ONE, "rows_per_unit": 1}
    assert choose_quantile([10, 20], [0, 0], **settings)[0] in (10, 20)


def test_what_makes_no_sense_is_refused():
    settings = {"epsilon": ONE, "rows_per_unit": 1}
    for candidates, counts, quantile in [
        ([], [], Fraction(1, 2)),
        ([1], [1, 2], Fraction(1, 2)),
        ([1], [1], Fraction(3, 2)),
    ]:
        with pytest.raises(InvalidMechanism):
            choose_quantile(candidates, counts, quantile=quantile, **settings)
    with pytest.raises(InvalidMechanism):
        choose_rank_from_top([1], [1], rank=0, **settings)
    with pytest.raises(InvalidMechanism):
        choose_rank_from_top([1], [1], rank=1, epsilon=ONE, rows_per_unit=0)
