from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.statistics.fit import ALPHA, frequency_p_value
from tests.statistics.runs import ManyRuns, NoNoise

from discreet.attacks.audit.bound import epsilon_lower_bound
from discreet.dp.event import Choice
from discreet.dp.mechanisms.choice import exponential_mechanism, permute_and_flip, report_noisy_max
from discreet.errors import InvalidBudget, InvalidMechanism

RUNS = 200_000
ONE = Fraction(1)
# Two neighbors at the worst: one score falls while the others rise.
FIRST, SECOND = np.array([4, 0, 0, 0]), np.array([3, 1, 1, 1])
ALL = [permute_and_flip, exponential_mechanism, report_noisy_max]


def choose_often(mechanism, scores, *, sensitivity: int) -> np.ndarray:
    noise = ManyRuns(RUNS)
    mechanism(scores, epsilon=ONE, sensitivity=sensitivity, noise=noise)
    return noise.chosen


@pytest.mark.statistics
@pytest.mark.parametrize("mechanism", [permute_and_flip, exponential_mechanism])
def test_a_choice_reveals_no_more_than_its_epsilon(mechanism):
    """Lower bound of epsilon from 200 000 runs on each input, alpha 1e-7."""
    chosen = [choose_often(mechanism, scores, sensitivity=1) for scores in (FIRST, SECOND)]
    assert 0.3 < epsilon_lower_bound(*chosen) <= 1


@pytest.mark.statistics
@pytest.mark.parametrize("mechanism", [permute_and_flip, exponential_mechanism])
def test_a_choice_with_too_small_a_sensitivity_is_caught(mechanism):
    far = [choose_often(mechanism, 3 * scores, sensitivity=1) for scores in (FIRST, SECOND)]
    assert epsilon_lower_bound(*far) > 1


def noisy_max_chances(scores: list[int], scale: float) -> np.ndarray:
    """Return the chance of each place to be the first of the largest."""
    levels = np.arange(-800, 801)
    mass = np.exp(-np.abs(levels[:, None] - scores) / scale) * np.tanh(0.5 / scale)
    upto = np.cumsum(mass, axis=0)
    below = upto - mass
    places = range(len(scores))
    return np.array(
        [
            (mass[:, i] * below[:, :i].prod(axis=1) * upto[:, i + 1 :].prod(axis=1)).sum()
            for i in places
        ]
    )


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-1, 1)), min_size=1, max_size=6),
    st.sampled_from([0.5, 1.0, 3.0]),
)
def test_no_largest_noisy_score_is_more_likely_than_epsilon_allows(pairs, epsilon: float):
    """Exactly, ties included, for scores that move by 1 either way."""
    first = noisy_max_chances([score for score, _ in pairs], 2 / epsilon)
    second = noisy_max_chances([score + change for score, change in pairs], 2 / epsilon)
    assert (first <= np.exp(epsilon) * second * (1 + 1e-9)).all()


def test_the_largest_of_scores_with_half_the_noise_is_caught():
    """Scores that move in opposite ways need twice the scale that counts need."""
    first, second = (noisy_max_chances(scores, 1) for scores in ([-3, 0, 0, 0], [-2, -1, -1, -1]))
    assert second[0] > np.e * first[0]


@pytest.mark.statistics
def test_the_largest_noisy_score_has_its_chances_and_its_epsilon():
    """100 000 runs, half of them on each input, alpha 1e-7; many ties."""
    noise = ManyRuns()
    result = []
    for scores in ([1, 0, 0], [0, 1, 1]):
        runs = [
            report_noisy_max(scores, epsilon=ONE, sensitivity=1, noise=noise)[0]
            for _ in range(50_000)
        ]
        result.append(np.array(runs))
        assert frequency_p_value(result[-1], noisy_max_chances(scores, 2).tolist()) > ALPHA
    assert 0.3 < epsilon_lower_bound(*result) <= 1


@pytest.mark.parametrize("mechanism", ALL)
def test_the_best_by_far_is_chosen(mechanism):
    assert mechanism([0, 10_000, 3], epsilon=ONE, sensitivity=1)[0] == 1


@pytest.mark.parametrize("mechanism", ALL)
def test_without_noise_the_best_is_chosen(mechanism):
    scores = [3, -5, 9, 9]
    assert mechanism(scores, epsilon=ONE, sensitivity=1, noise=NoNoise())[0] == 2


def test_only_the_exponential_mechanism_says_that_it_is():
    result = [mechanism([1, 2], epsilon=ONE, sensitivity=1)[1] for mechanism in ALL]
    assert result == [Choice(ONE), Choice(ONE, is_exponential=True), Choice(ONE)]


@pytest.mark.parametrize("mechanism", ALL)
def test_one_candidate_is_chosen_always(mechanism):
    assert mechanism([-7], epsilon=ONE, sensitivity=1)[0] == 0


@pytest.mark.parametrize("mechanism", ALL)
def test_a_choice_out_of_range_is_refused(mechanism):
    with pytest.raises(InvalidMechanism):
        mechanism([], epsilon=ONE, sensitivity=1)
    with pytest.raises(InvalidBudget):
        mechanism([1], epsilon=Fraction(0), sensitivity=1)
    with pytest.raises(InvalidMechanism):
        mechanism([1], epsilon=ONE, sensitivity=0)
