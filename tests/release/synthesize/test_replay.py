"""Exact replay: what is released about a table, drawn again for its neighbor, costs at most its price."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from bench.synthesize import ArrayCounter
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.dp.spending import PureSpending, ZcdpSpending
from discreet.release.synthesize.resolutions import ColumnShape
from discreet.release.synthesize.rounds import FAST, FULL, PURE, fit_model

SIZES = [4, 5, 9, 2]
ORDERED = [False, False, True, False]
RHO = Fraction(1, 2)
EPSILON = Fraction(2)


class RecordedBudget(ZcdpSpending):
    """Keeps what was counted, chosen and released."""

    def __init__(self, amount):
        super().__init__(amount, sensitivity=1)
        self.kept = []

    def measure(self, counts, price):
        released = super().measure(counts, price)
        self.kept.append((np.asarray(counts).ravel().copy(), released, price))
        return released

    def choose(self, gains, price):
        place = super().choose(gains, price)
        self.kept.append((gains, place, price))
        return place


class ReplayedBudget(ZcdpSpending):
    """Returns what was released before, and adds up what the difference costs in rho."""

    def __init__(self, amount, released):
        super().__init__(amount, sensitivity=1)
        self.to_release = iter(released)
        self.cost = 0.0

    def measure(self, counts, price):
        before, released, paid = next(self.to_release)
        assert price == paid
        self._spent += price
        change = np.asarray(counts).ravel() - before
        # Noise of variance 1 / (2 price) costs change² / (2 variance).
        self.cost += float(int((change * change).sum()) * price)
        return released

    def choose(self, gains, price):
        before, place, paid = next(self.to_release)
        assert price == paid
        self._spent += price
        # What is chosen by weights e^(epsilon gain / 2), epsilon² = 8 price, has a loss within this range.
        losses = (np.asarray(gains) - before) * math.sqrt(8 * price) / 2
        self.cost += float(np.ptp(losses) ** 2 / 8)
        return place


class RecordedPureBudget(PureSpending, RecordedBudget):
    """Keeps what was counted, chosen and released, without delta."""


class ReplayedPureBudget(PureSpending):
    """Returns what was released before, and adds up how much more likely it was there than here."""

    def __init__(self, epsilon, released):
        super().__init__(epsilon, sensitivity=1)
        self.to_release = iter(released)
        self.cost = 0.0

    def measure(self, counts, price):
        before, released, paid = next(self.to_release)
        assert price == paid
        self._spent += price
        self.cost += float(np.abs(np.asarray(counts).ravel() - before).sum() * price)
        return released

    def choose(self, gains, price):
        before, place, paid = next(self.to_release)
        assert price == paid
        self._spent += price
        chances = [choice_chance(some, place, float(price) / 2) for some in (before, gains)]
        self.cost += abs(math.log(chances[0] / chances[1]))
        return place


def choice_chance(scores, place, rate):
    """Return the chance that permute-and-flip chooses `place`.

    Candidates come in the order of uniform times; at time t, each other one has come with a true coin with
    chance t times that of its coin. The integral over t is that of a polynomial: exact by Gauss and Legendre.
    """
    coins = np.exp((np.asarray(scores) - max(scores)) * rate)
    nodes, weights = np.polynomial.legendre.leggauss(len(coins) // 2 + 1)
    times = (nodes + 1) / 2
    others = np.prod(1 - np.outer(times, np.delete(coins, place)), axis=1)
    return float(coins[place] * (weights / 2 @ others))


def make_rows(count):
    chance = np.random.default_rng(2)
    first = chance.integers(0, 4, count)
    second = (first + chance.integers(0, 2, count)) % 5
    third = np.minimum(first * 2 + chance.integers(0, 3, count), 8)
    return np.stack([first, second, third, first // 2], axis=1)


def run(rows, allowance, settings):
    columns = rows.shape[1]
    return fit_model(
        ArrayCounter(rows, SIZES[:columns]),
        [ColumnShape(*one) for one in zip(SIZES, ORDERED, strict=True)][:columns],
        allowance,
        target=columns - 1,
        settings=settings,
        chance=np.random.default_rng(9),
    )


@pytest.mark.parametrize("settings", [FULL, FAST], ids=["full", "fast"])
@pytest.mark.parametrize("person", [[0, 0, 0, 0], [3, 4, 8, 0]], ids=["typical", "rare"])
@pytest.mark.parametrize("count", [40, 3000], ids=["few rows", "many rows"])
def test_one_person_costs_at_most_what_was_reserved(settings, person, count):
    rows = make_rows(count)
    recorded = RecordedBudget(RHO)
    run(rows, recorded, settings)
    replayed = ReplayedBudget(RHO, recorded.kept)
    run(np.vstack([rows, [person]]), replayed, settings)
    assert 0 < replayed.cost <= RHO * (1 + 1e-9)
    twice = ReplayedBudget(RHO, recorded.kept)
    run(np.vstack([rows, [person], [person]]), twice, settings)
    assert twice.cost > RHO  # the check can fail


@pytest.mark.parametrize("person", [[0, 0, 0, 0], [3, 4, 8, 0]], ids=["typical", "rare"])
@pytest.mark.parametrize("count", [40, 3000], ids=["few rows", "many rows"])
def test_one_person_costs_at_most_epsilon_without_delta(person, count):
    rows = make_rows(count)
    recorded = RecordedPureBudget(EPSILON)
    run(rows, recorded, PURE)
    assert any(isinstance(released, int) for _, released, _ in recorded.kept)
    replayed = ReplayedPureBudget(EPSILON, recorded.kept)
    run(np.vstack([rows, [person]]), replayed, PURE)
    assert 0 < replayed.cost <= EPSILON * (1 + 1e-9)
    twice = ReplayedPureBudget(EPSILON, recorded.kept)
    run(np.vstack([rows, [person], [person]]), twice, PURE)
    assert twice.cost > EPSILON  # the check can fail


def test_a_choice_has_the_chance_that_the_replay_reckons():
    scores, rate = [5, 4, 2, 5], 0.5
    coins = [math.exp((score - 5) * rate) for score in scores]
    expected = [0.0] * 4
    for order in itertools.permutations(range(4)):
        missed = 1.0
        for place in order:
            expected[place] += missed * coins[place] / 24
            missed *= 1 - coins[place]
    assert [choice_chance(scores, place, rate) for place in range(4)] == pytest.approx(expected)


@st.composite
def column_shapes(draw):
    size = draw(st.integers(1, 12))
    half, third = np.arange(size) // 2, np.arange(size) // 6
    levels = draw(st.sampled_from([(), (half,), (half, third), (np.zeros(size, int),)]))
    return ColumnShape(size, draw(st.booleans()), levels, has_missing=draw(st.booleans()))


@settings(max_examples=30)
@given(
    st.lists(column_shapes(), min_size=1, max_size=5),
    st.sampled_from([0, 1, 200]),
    st.sampled_from([Fraction(1, 10**6), Fraction(1, 10), Fraction(100)]),
    st.sampled_from([FULL, FAST, PURE]),
    st.booleans(),
)
def test_rows_lie_in_the_domain_whatever_the_table_and_the_budget(
    shapes, count, amount, method, has_target
):
    sizes = [one.size for one in shapes]
    budget = PureSpending if method is PURE else ZcdpSpending
    model = fit_model(
        ArrayCounter(np.random.default_rng(count).integers(0, sizes, (count, len(sizes))), sizes),
        shapes,
        budget(amount, sensitivity=1),
        target=0 if has_target else None,
        settings=replace(method, rounds=min(method.rounds, 2)),
        chance=np.random.default_rng(1),
    )
    drawn = model.sample(40, np.random.default_rng(2))
    assert drawn.shape == (40, len(sizes))
    assert ((drawn >= 0) & (drawn < sizes)).all()
    assert all(np.isfinite(one).all() for one in model.table.beliefs)


def test_a_model_that_says_little_is_fitted_when_nothing_is_worth_its_noise():
    rows = make_rows(30)
    model = run(rows, ZcdpSpending(Fraction(1, 10_000), sensitivity=1), FULL)
    drawn = model.sample(50, np.random.default_rng(1))
    assert drawn.shape == (50, 4)
    assert (drawn >= 0).all()
    assert (drawn < SIZES).all()


@pytest.mark.parametrize("settings", [FULL, FAST], ids=["full", "fast"])
@pytest.mark.parametrize("count", [0, 500], ids=["no rows", "many rows"])
def test_a_table_of_one_column_is_fitted_with_all_of_the_budget(settings, count):
    rows = make_rows(count)[:, :1]
    recorded = RecordedBudget(RHO)
    model = run(rows, recorded, settings)
    assert set(model.sample(50, np.random.default_rng(1)).ravel()) <= set(range(SIZES[0]))
    replayed = ReplayedBudget(RHO, recorded.kept)
    run(np.vstack([rows, [[3]]]), replayed, settings)
    assert RHO * Fraction(99, 100) < replayed.cost <= RHO * (1 + 1e-9)
