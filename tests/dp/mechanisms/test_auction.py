"""The auction of McSherry & Talwar (2007): the price of a digital good, chosen by the exponential mechanism.

All chances are computed, and none is estimated: docs/explanation/auction.md has the proofs.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.dp.calculate.exponential import choose_chances
from discreet.dp.mechanisms.choice import exponential_mechanism
from discreet.dp.noise import SystemNoise

bids_of_others = st.lists(st.integers(0, 6), max_size=5)
epsilons = st.sampled_from([0.01, 0.3, 1.0, 4.0])


def revenue(bids, price):
    return price * sum(bid >= price for bid in bids)


def price_chances(bids, top, epsilon):
    scores = {price: revenue(bids, price) for price in range(1, top + 1)}
    return choose_chances(scores, scale=2 * top / epsilon)


def utility(worth, bid, others, top, epsilon):
    chances = price_chances([*others, bid], top, epsilon)
    return sum(chance * (worth - price) for price, chance in chances.items() if bid >= price)


@given(bids_of_others, st.integers(0, 6), st.integers(0, 6), st.integers(1, 6), epsilons)
@settings(max_examples=150, deadline=None)
def test_one_bid_makes_no_price_much_more_likely(others, bid, other, top, epsilon):
    one, two = (price_chances([*others, said], top, epsilon) for said in (bid, other))
    assert all(one[price] <= math.exp(epsilon) * two[price] * (1 + 1e-12) for price in one)


@given(bids_of_others, st.integers(0, 6), st.integers(1, 6), epsilons)
@settings(max_examples=100, deadline=None)
def test_no_lie_gains_more_than_the_bound(others, worth, top, epsilon):
    truth = utility(worth, worth, others, top, epsilon)
    lies = [utility(worth, lie, others, top, epsilon) for lie in range(8)]
    assert max(lies) - truth <= (math.exp(epsilon) - 1) * truth + 1e-12


def test_no_lie_gains_more_than_the_bound_in_any_auction_of_three():
    for others in itertools.combinations_with_replacement(range(5), 2):
        for worth in range(5):
            truth = utility(worth, worth, others, 4, 1.0)
            best = max(utility(worth, lie, others, 4, 1.0) for lie in range(5))
            assert best <= math.e * truth + 1e-12


def test_some_lie_gains_so_that_the_mechanism_is_not_exactly_truthful():
    truth = utility(4, 4, [1, 1, 1], 4, 4.0)
    assert max(utility(4, lie, [1, 1, 1], 4, 4.0) for lie in range(5)) > truth + 0.01


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 9), epsilons)
@settings(max_examples=150, deadline=None)
def test_the_expected_revenue_is_within_the_bound_of_the_best(bids, top, epsilon):
    chances = price_chances(bids, top, epsilon)
    expected = math.fsum(chance * revenue(bids, price) for price, chance in chances.items())
    best = max(revenue(bids, price) for price in range(1, top + 1))
    assert expected >= best - 2 * top * math.log(top) / epsilon - 1e-9


def test_a_mechanism_that_takes_the_best_price_rewards_a_lie():
    """The control: without noise, the last bidder lowers the price from 4 to 1 by a lie."""

    def best_price(bids):
        return max(range(1, 5), key=lambda price: revenue(bids, price))

    assert best_price([1, 1, 4]) == 4
    assert best_price([1, 1, 1]) == 1


def test_the_mechanism_draws_with_these_chances():
    """The exact sampler is given the revenue and the largest price: what it draws with is what is computed here."""
    given_to: dict[str, object] = {}

    class Watched(SystemNoise):
        def choose_exponentially(self, scores, *, epsilon, sensitivity):
            given_to.update(scores=scores.tolist(), rate=epsilon / (2 * sensitivity))
            return super().choose_exponentially(scores, epsilon=epsilon, sensitivity=sensitivity)

    bids, top, epsilon = [1, 1, 1, 3], 4, Fraction(2)
    scores = [revenue(bids, price) for price in range(1, top + 1)]
    exponential_mechanism(scores, epsilon=epsilon, sensitivity=top, noise=Watched())
    assert given_to == {"scores": [4, 2, 3, 0], "rate": Fraction(1, 4)}
    chances = price_chances(bids, top, float(epsilon))
    assert chances[1] / chances[3] == pytest.approx(math.exp(1 / 4))
