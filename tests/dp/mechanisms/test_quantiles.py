from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.statistics.runs import ManyRuns, NoNoise

from discreet.attacks.audit.bound import epsilon_lower_bound
from discreet.dp.mechanisms.quantiles import Quantile, Rank, choose_by_rank, choose_in_each
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


def scores_of(counts, target):
    asked = Scores()
    choose_by_rank(range(len(counts)), counts, target, epsilon=ONE, rows_per_unit=1, noise=asked)
    return np.array(asked.scores.tolist()), asked.sensitivity


@given(counts_of_rows.filter(any), quantiles)
def test_without_noise_a_quantile_is_right(counts: list[int], quantile: Fraction):
    settings = {"epsilon": ONE, "rows_per_unit": 1, "noise": NoNoise()}
    found, _ = choose_by_rank(range(len(counts)), counts, Quantile(quantile), **settings)
    total, below = sum(counts), sum(counts[:found])
    assert below <= quantile * total <= below + counts[found]


targets = quantiles.map(Quantile) | st.builds(Rank, st.integers(1, 50), st.booleans())


@given(counts_of_rows, targets, st.data())
def test_one_row_changes_no_score_by_more_than_claimed(counts, target, data):
    place = data.draw(st.integers(0, len(counts) - 1))
    more = [count + (number == place) for number, count in enumerate(counts)]
    first, claimed = scores_of(counts, target)
    second, _ = scores_of(more, target)
    assert np.abs(first - second).max() <= claimed


@given(st.lists(st.lists(st.integers(0, 30), min_size=4, max_size=4), min_size=1), targets)
def test_a_group_among_others_is_scored_as_it_is_alone(counts, target):
    together = target.scores(np.array(counts))
    assert together.tolist() == [target.scores(np.array(one)).tolist() for one in counts]


@given(counts_of_rows.filter(any), st.data())
def test_without_noise_a_rank_is_right(counts: list[int], data):
    rows = [place for place, count in enumerate(counts) for _ in range(count)]
    rank = data.draw(st.integers(1, len(rows)))
    settings = {"epsilon": ONE, "rows_per_unit": 1, "noise": NoNoise()}
    places = range(len(counts))
    assert choose_by_rank(places, counts, Rank(rank), **settings)[0] == rows[rank - 1]
    from_top = Rank(rank, is_from_top=True)
    assert choose_by_rank(places, counts, from_top, **settings)[0] == rows[-rank]


def choose_often(target, counts, rows_per_unit: int = 1) -> np.ndarray:
    noise = ManyRuns(RUNS)
    places = range(len(counts))
    choose_by_rank(places, counts, target, epsilon=ONE, rows_per_unit=rows_per_unit, noise=noise)
    return noise.chosen


MEDIAN = Quantile(Fraction(1, 2))
CASES = [MEDIAN, Quantile(Fraction(9, 10)), Rank(2), Rank(2, is_from_top=True)]
CASE_NAMES = ["median", "ninth decile", "bottom", "top"]


@pytest.mark.statistics
@pytest.mark.parametrize("target", CASES, ids=CASE_NAMES)
def test_a_rank_reveals_no_more_than_its_epsilon(target):
    """Lower bound of epsilon from 200 000 runs on each input, alpha 1e-7."""
    chosen = [choose_often(target, counts) for counts in ([3, 0, 3], [3, 0, 4])]
    assert epsilon_lower_bound(*chosen) <= 1


@pytest.mark.statistics
def test_a_unit_in_two_groups_reveals_no_more_than_its_epsilon():
    """Lower bound of epsilon from 200 000 runs on each input, alpha 1e-7; a row in each of two groups."""
    chosen = [choose_in_two(counts, 2) for counts in ([[3, 0, 3]] * 2, [[3, 0, 4]] * 2)]
    assert epsilon_lower_bound(*chosen) <= 1


@pytest.mark.statistics
def test_groups_that_are_chosen_in_together_are_chosen_in_apart():
    """As above: both groups would be alike if they had their coins in common."""
    first, second = np.divmod(choose_in_two([[3, 0, 3]] * 2, 2), 3)
    shares = np.histogram2d(first, second, 3)[0] / RUNS
    alone = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    # Six standard errors of a share, 0.0067, of nine cells: alpha below 1e-7.
    assert np.abs(shares - alone).max() < 6 * np.sqrt(0.25 / RUNS)


def choose_in_two(counts: list[list[int]], rows_per_unit: int) -> np.ndarray:
    """Return what is chosen in two groups, as one number, in many runs."""
    many = np.tile(np.array(counts), (RUNS, 1))
    places, _ = choose_in_each(many, MEDIAN, epsilon=ONE, rows_per_unit=rows_per_unit)
    return places[0::2] * 3 + places[1::2]


@pytest.mark.statistics
def test_more_rows_than_were_allowed_for_are_caught():
    """A person of 8 rows, of whom one is reckoned with."""
    tables = ([9, 0, 9], [9, 0, 17])
    allowed = [choose_often(MEDIAN, counts, 8) for counts in tables]
    wrong = [choose_often(MEDIAN, counts) for counts in tables]
    assert epsilon_lower_bound(*allowed) <= 1 < epsilon_lower_bound(*wrong)


def test_counts_whose_products_leave_64_bits_are_exact():
    counts, target = np.array([2**61, 2**60, 2**61]), Quantile(Fraction(499, 1000))
    assert choose_by_rank("abc", counts, target, epsilon=ONE, rows_per_unit=1)[0] == "b"


def test_an_empty_table_has_a_quantile_all_the_same():
    assert choose_by_rank([10, 20], [0, 0], MEDIAN, epsilon=ONE, rows_per_unit=1)[0] in (10, 20)


def test_what_makes_no_sense_is_refused():
    for candidates, counts, rows in [([], [], 1), ([1], [1, 2], 1), ([1], [1], 0)]:
        with pytest.raises(InvalidMechanism):
            choose_by_rank(candidates, counts, MEDIAN, epsilon=ONE, rows_per_unit=rows)
    with pytest.raises(InvalidMechanism):
        Quantile(Fraction(3, 2))
    with pytest.raises(InvalidMechanism):
        Rank(0)
