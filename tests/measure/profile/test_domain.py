"""Bounds are round and beyond the extremes; intervals nest."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.measure.profile.domain import nested_steps, round_outward

NUMBERS = st.decimals(
    min_value=-(10**15), max_value=10**15, allow_nan=False, allow_infinity=False, places=3
)


@given(NUMBERS, NUMBERS)
def test_bounds_hold_every_value_and_copy_no_odd_extreme(one: Decimal, two: Decimal) -> None:
    low, high = sorted((one, two))
    lower, upper = round_outward(low, high)
    assert lower <= low <= high <= upper
    assert lower < low or lower == 0
    assert upper > high or upper in (0, 1, 100)


@pytest.mark.parametrize(
    ("low", "high", "lower", "upper"),
    [
        (17, 84, 0, 100),
        (0, 100, 0, 100),
        (1953, 2004, 1940, 2020),
        (0, 0, 0, 1),
        (-40, 45, -50, 50),
    ],
)
def test_bounds_are_round(low: int, high: int, lower: int, upper: int) -> None:
    assert round_outward(Decimal(low), Decimal(high)) == (Decimal(lower), Decimal(upper))


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**9), st.booleans())
def test_steps_nest_and_stay_below_the_span(low: int, span: int, is_whole: bool) -> None:
    steps = nested_steps(Decimal(low), Decimal(low + span), is_whole=is_whole)
    assert all(coarse == 2 * fine for fine, coarse in pairwise(steps))
    assert all(0 < step < span for step in steps)
    assert not is_whole or all(step == int(step) for step in steps)
