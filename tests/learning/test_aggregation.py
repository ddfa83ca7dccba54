"""Sample and aggregate: one person changes one block; the average's price covers what that changes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.learning.counts import (
    RecordingPureSpending,
    RecordingSpending,
    ReplayingPureSpending,
    ReplayingSpending,
)

from discreet.dp.noise import SystemNoise
from discreet.errors import InvalidBudget, WrongUsage
from discreet.learning.aggregation import (
    STEPS,
    AggregationRequest,
    average_blocks,
    choose_block_count,
    correct_by_halves,
    divide_units,
    estimate_blocks,
    release_estimate,
)

ONE = (Fraction(0), Fraction(1))


class SeededChance(SystemNoise):
    """Divides units by a seed; noise is the system's."""

    def __init__(self, seed):
        self.chance = np.random.default_rng(seed)

    def uniform(self, below, count):
        return self.chance.integers(0, below, count)


class SeededNoise(SeededChance):
    """Draws noise by a seed, of the same size as the exact one: for claims about errors only."""

    def laplace(self, scale, count):
        return np.rint(self.chance.laplace(0, float(scale), count)).astype(np.int64)

    def choose(self, scores, *, epsilon, sensitivity):
        weighed = np.asarray(scores, float) * float(epsilon / (2 * sensitivity))
        return int(np.argmax(weighed + self.chance.gumbel(size=len(weighed))))


def make_request(ranges=(ONE,), *, blocks=20, aggregate="mean", halves=False, delta=0, epsilon=1):
    return AggregationRequest(
        "people", ("x",), "mean", "1", tuple(ranges), blocks, aggregate, halves, Fraction(epsilon), Fraction(delta)
    )  # fmt: skip


def replay_cost(request, steps, neighbor, *, pure):
    """Return the share of the price that the difference of two tables of block estimates costs."""
    amount = Fraction(1, 2)
    recorded = (RecordingPureSpending if pure else RecordingSpending)(amount)
    average_blocks(request, steps, recorded)
    replayed = (ReplayingPureSpending if pure else ReplayingSpending)(amount, recorded.kept)
    average_blocks(request, neighbor, replayed)
    return replayed.cost / float(amount)


@pytest.mark.parametrize("pure", [False, True], ids=["gaussian", "laplace"])
@pytest.mark.parametrize("aggregate", ["mean", "winsorized"])
@given(block=st.integers(0, 29), values=st.tuples(*[st.integers(0, STEPS)] * 2))
@settings(max_examples=15, deadline=None)
def test_one_changed_block_costs_at_most_the_price(aggregate, pure, block, values):
    request = make_request([ONE, ONE], aggregate=aggregate)
    steps = np.random.default_rng(1).integers(0, STEPS + 1, (30, 2))
    neighbor = steps.copy()
    neighbor[block] = values
    assert replay_cost(request, steps, neighbor, pure=pure) <= 1 + 1e-9


@pytest.mark.parametrize("pure", [False, True], ids=["gaussian", "laplace"])
@pytest.mark.parametrize("aggregate", ["mean", "winsorized"])
def test_a_person_in_several_blocks_exceeds_the_price(aggregate, pure):
    request = make_request([ONE, ONE], aggregate=aggregate)
    steps = np.zeros((30, 2), np.int64)
    neighbor = steps.copy()
    neighbor[:6] = STEPS
    assert replay_cost(request, steps, neighbor, pure=pure) > 1


def test_extremes_in_one_block_cost_the_whole_price():
    request = make_request([ONE, ONE])
    steps = np.zeros((30, 2), np.int64)
    neighbor = steps.copy()
    neighbor[3] = STEPS
    assert replay_cost(request, steps, neighbor, pure=True) == pytest.approx(1, abs=1e-9)


@given(st.integers(1, 40), st.integers(2, 9), st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_each_row_is_in_one_part_and_units_stay_together(people, parts, seed):
    chance = np.random.default_rng(seed)
    units = np.sort(np.concatenate([np.arange(people), chance.integers(0, people, 30)]))
    found = divide_units(units, people, parts, SeededChance(seed))
    assert sorted(np.concatenate(found).tolist()) == list(range(len(units)))
    homes = [set(units[part].tolist()) for part in found]
    assert sum(map(len, homes)) == people


def test_another_unit_leaves_the_parts_of_all_others_as_they_are():
    drawn = np.random.default_rng(5).integers(0, 4, 13)

    class FirstDraws(SystemNoise):
        def uniform(self, below, count):
            return drawn[:count] if below == 4 else super().uniform(below, count)

    small = divide_units(np.arange(12), 12, 4, FirstDraws())
    large = divide_units(np.arange(13), 13, 4, FirstDraws())
    without = [sorted(set(part.tolist()) - {12}) for part in large]
    assert without == [sorted(part.tolist()) for part in small]


def test_rows_of_a_block_come_in_random_order():
    orders = {tuple(divide_units(np.arange(6), 6, 1, SystemNoise())[0]) for _ in range(40)}
    assert len(orders) > 5


@pytest.mark.parametrize(
    ("value", "step"),
    [
        (None, STEPS // 2),
        ([math.nan], STEPS // 2),
        ([math.inf], STEPS),
        ([-math.inf], 0),
        ([9.0], STEPS),
        ([-1e308], 0),
        ([0.25], STEPS // 4),
    ],
)
def test_what_a_block_returns_is_clamped_to_the_range(value, step):
    given = None if value is None else np.array(value)
    found = estimate_blocks(make_request(), lambda *_: given, [np.arange(2), np.arange(3)])
    assert found.tolist() == [[step]]


def test_an_empty_block_is_the_middle_without_a_call():
    empty = np.zeros(0, np.int64)
    found = estimate_blocks(make_request(), lambda *_: np.array([1.0]), [empty, empty])
    assert found.tolist() == [[STEPS // 2]]


def test_no_people_are_estimated_as_the_middle_of_the_range():
    found = release_estimate(
        make_request(blocks=None, epsilon=100), lambda *_: None, np.zeros(0, np.int64)
    )
    assert 0 <= found.values[0] <= 1
    assert found.blocks == 2


def test_the_number_of_blocks_grows_with_people_and_shrinks_with_epsilon():
    few = choose_block_count(1_000, 1.0, halves=True)
    assert few < choose_block_count(10_000, 1.0, halves=True)
    assert few > choose_block_count(1_000, 10.0, halves=True)
    assert choose_block_count(-50.0, 1.0, halves=True) == 2


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"epsilon": 0}, InvalidBudget),
        ({"delta": 1}, InvalidBudget),
        ({"blocks": 1}, WrongUsage),
        ({"aggregate": "median"}, WrongUsage),
        ({"ranges": [(Fraction(1), Fraction(1))]}, WrongUsage),
        ({"ranges": []}, WrongUsage),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(change, error):
    with pytest.raises(error):
        make_request(**change)


@pytest.mark.statistics
def test_the_estimate_converges_to_the_maximum_likelihood_estimate():
    """The seed's theorem (Smith 2008, theorem 2.3): the error times the root of n tends to that of the MLE, which is 1.

    Of exponential numbers with rate 1, the MLE is 1/mean, whose bias is 1/size. Root mean squares of 40 runs, all
    of whose chance has a seed: alpha is 0. `bench/sample_and_aggregate.py` has more of them.
    """
    rate = correct_by_halves(lambda block: np.array([1 / max(block.sum(), 1e-9) * block.size]))
    errors = {}
    for people in (400, 25_600):
        squares = []
        for seed in range(40):
            rows = np.random.default_rng(seed).exponential(1, people)
            found = release_estimate(
                make_request([(Fraction(0), Fraction(20))], blocks=None, aggregate=None, halves=True, epsilon=2),
                lambda a, b, rows=rows: rate([rows[np.concatenate([a, b])], rows[a], rows[b]]),
                np.arange(people),
                noise=SeededNoise(seed),
            )  # fmt: skip
            squares.append((found.values[0] - 1) ** 2 * people)
        errors[people] = math.sqrt(np.mean(squares))
    assert errors[400] > 5
    assert errors[25_600] < 1.6
