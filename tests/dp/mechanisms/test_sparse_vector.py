"""The sparse vector, and the wrong ones that were published (Lyu, Su & Li 2017, figure 1)."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.statistics.fit import ALPHA, frequency_p_value
from tests.statistics.runs import ManyRuns, NoNoise

from discreet.attacks.audit.bound import epsilon_lower_bound
from discreet.dp.event import Pure
from discreet.dp.mechanisms.sparse_vector import SparseVector, above_threshold
from discreet.errors import BudgetExceeded, InvalidBudget, InvalidMechanism

RUNS = 50_000
ONE = Fraction(1)


def chance(values, answers, *, threshold_scale: float, scale: float | None) -> float:
    """Return the chance of `answers`, added up over all noise of the threshold that matters."""
    noise = np.arange(-4000, 4001)
    total = np.exp(-np.abs(noise) / threshold_scale) * np.tanh(0.5 / threshold_scale)
    for value, answer in zip(values, answers, strict=True):
        above = reaches(noise - value, scale)
        total = total * (above if answer else 1 - above)
    return float(total.sum())


def reaches(least: np.ndarray, scale: float | None) -> np.ndarray:
    """Return the chance that noise is `least` or more; without a scale there is no noise."""
    if scale is None:
        return (least <= 0).astype(float)
    tail = np.exp(-np.where(least > 0, least, 1 - least) / scale) / (1 + np.exp(-1 / scale))
    return np.where(least > 0, tail, 1 - tail)


questions = st.lists(st.tuples(st.integers(-4, 4), st.integers(-1, 1)), min_size=1, max_size=5)


@given(questions, st.integers(1, 3), st.sampled_from([0.5, 1.0, 3.0]))
def test_no_answers_are_more_likely_for_a_neighbor_than_epsilon_allows(pairs, limit, epsilon):
    """Exactly, for all answers that can be given; the scales are those that are asserted below."""
    first = [value for value, _ in pairs]
    second = [value + change for value, change in pairs]
    scales = {"threshold_scale": 2 / epsilon, "scale": 4 * limit / epsilon}
    for answers in product((False, True), repeat=len(pairs)):
        if sum(answers) <= limit:
            bound = math.exp(epsilon) * chance(second, answers, **scales)
            assert chance(first, answers, **scales) <= bound * (1 + 1e-9) + 1e-13


@pytest.mark.statistics
def test_a_sparse_vector_reveals_no_more_than_its_epsilon():
    """Lower bound of epsilon from 100 000 runs, half of them on each input, alpha 1e-7."""
    noise = ManyRuns()
    result = []
    for values in ([0, 1, 1], [1, 0, 0]):
        runs = [
            above_threshold(
                values, threshold=0, epsilon=4 * ONE, sensitivity=1, limit=2, noise=noise
            )
            for _ in range(RUNS)
        ]
        result.append(np.array([pattern(answers) for answers, _ in runs]))
    assert 0.5 < epsilon_lower_bound(*result) <= 4
    expected = chance([0, 1], [False, True], threshold_scale=0.5, scale=2)
    seen = np.isin(result[0], [pattern((False, True, last)) for last in (False, True)])
    assert frequency_p_value(seen.astype(int), [1 - expected, expected]) > ALPHA


def pattern(answers: tuple[bool, ...]) -> int:
    """Return answers as one number; 1 in front keeps their length."""
    return int("1" + "".join("01"[answer] for answer in answers), 2)


def test_questions_without_noise_are_caught():
    """Algorithm 5 (Stoddard et al. 2014): only the threshold is noisy; no epsilon covers it."""
    scales = {"threshold_scale": 2, "scale": None}
    assert chance([0, 1], [False, True], **scales) > 0.1
    assert chance([1, 0], [False, True], **scales) == 0


@pytest.mark.parametrize(
    ("threshold_scale", "scale"),
    [(4, 4 / 3), (2, 2)],
    ids=["algorithm 4, Lee & Clifton 2014", "algorithm 6, Chen et al. 2015"],
)
def test_noise_that_does_not_grow_with_the_number_of_answers_is_caught(threshold_scale, scale):
    """12 answers above with the noise of one; the sparse vector's own noise for 12 passes."""
    first, second = [0] * 24, [1] * 12 + [-1] * 12
    answers = [False] * 12 + [True] * 12
    scales = {"threshold_scale": threshold_scale, "scale": scale}
    assert chance(first, answers, **scales) > math.e * chance(second, answers, **scales)
    right = {"threshold_scale": 2, "scale": 4 * 12}
    assert chance(first, answers, **right) <= math.e * chance(second, answers, **right)


def test_releasing_the_noisy_value_is_caught():
    """Algorithm 3 (Roth 2011): a value of 0 that was released says that the threshold is not above 0."""
    noise, scale = np.arange(-4000, 1), 4
    weights = np.exp(-np.abs(noise) / 2)
    first, second = (
        float((weights * (1 - reaches(noise - value, scale)) ** 14).sum()) for value in (0, 1)
    )
    assert first > math.e * second


def test_it_stops_after_its_limit():
    vector = SparseVector(threshold=0, epsilon=ONE, sensitivity=1, limit=2, noise=NoNoise())
    assert [vector.is_above(value) for value in (-1, 0, -5, 3)] == [False, True, False, True]
    assert vector.is_exhausted
    with pytest.raises(BudgetExceeded):
        vector.is_above(9)


def test_values_after_the_last_answer_are_not_read():
    def values():
        yield from (-1, 5)
        pytest.fail("read on")

    answers, event = above_threshold(
        values(), threshold=0, epsilon=ONE, sensitivity=1, noise=NoNoise()
    )
    assert answers == (False, True)
    assert event == Pure(ONE)


def test_the_noise_is_that_of_the_proof():
    asked = []

    class Recording(NoNoise):
        def laplace(self, scale: Fraction, count: int):
            asked.append(scale)
            return super().laplace(scale, count)

    vector = SparseVector(
        threshold=0, epsilon=Fraction(1, 2), sensitivity=3, limit=5, noise=Recording()
    )
    vector.is_above(0)
    vector.is_above(0)
    assert asked == [12, 120, 120]


def test_parameters_out_of_range_are_refused():
    with pytest.raises(InvalidBudget):
        SparseVector(threshold=0, epsilon=Fraction(0), sensitivity=1, limit=1)
    with pytest.raises(InvalidMechanism):
        SparseVector(threshold=0, epsilon=ONE, sensitivity=1, limit=0)
