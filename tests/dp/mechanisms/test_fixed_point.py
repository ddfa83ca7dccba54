from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.dp.mechanisms.fixed_point import FixedPoint
from discreet.errors import InvalidMechanism, NoBounds

CENTS = FixedPoint(Fraction(-5), Fraction(100), Fraction(1, 100))
BINARY = FixedPoint(Fraction(-5), Fraction(100), Fraction(1, 1024))
any_float = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(any_float, max_size=20))
@pytest.mark.parametrize("scale", [CENTS, BINARY], ids=["decimal", "binary"])
def test_every_float_becomes_steps_within_the_bounds(scale: FixedPoint, values: list[float]):
    steps = scale.to_steps(np.array(values, np.float64)).tolist()
    assert all(scale.least <= step <= scale.most for step in steps)


@given(st.lists(any_float, max_size=20))
def test_arrays_and_single_floats_agree(values: list[float]):
    assert (
        BINARY.to_steps(np.array(values, np.float64)).tolist() == BINARY.to_steps(values).tolist()
    )


@given(st.fractions(min_value=-5, max_value=100))
def test_a_number_within_the_bounds_moves_by_half_a_step_at_most(value: Fraction):
    back = CENTS.from_steps(int(CENTS.to_steps([value])[0]))
    assert abs(back - value) <= CENTS.granularity / 2


@given(st.decimals(allow_nan=True, allow_infinity=True))
def test_every_decimal_becomes_steps_within_the_bounds(value: Decimal):
    assert CENTS.least <= int(CENTS.to_steps([value])[0]) <= CENTS.most


def test_decimals_are_read_exactly():
    """1.005 is no float: half of a step goes to the even one, and only for the decimal."""
    assert CENTS.to_steps([Decimal("1.005"), Decimal("1.015")]).tolist() == [100, 102]
    assert CENTS.to_steps([1.005]).tolist() == [100]


def test_what_is_no_number_is_the_step_nearest_to_0():
    above = FixedPoint(Fraction(18), Fraction(90), Fraction(1))
    nothing = [None, math.nan, Decimal("nan"), Decimal("snan")]
    assert CENTS.to_steps(nothing).tolist() == [0] * 4
    assert above.to_steps(nothing).tolist() == [18] * 4
    assert above.to_steps(np.array([math.nan])).tolist() == [18]


def test_infinities_and_extremes_are_clamped():
    large = [math.inf, Decimal("inf"), Decimal("1e999999"), 10**400, 1e308, Fraction(10**400)]
    assert set(CENTS.to_steps(large).tolist()) == {10_000}
    small = [-math.inf, Decimal("-inf"), Decimal("-1e999999"), -(10**400), -1e308]
    assert set(CENTS.to_steps(small).tolist()) == {-500}
    assert CENTS.to_steps([Decimal("1e-999999"), 5e-324, -0.0]).tolist() == [0, 0, 0]


def test_bounds_between_steps_are_moved_inward():
    scale = FixedPoint(Fraction(1, 3), Fraction(9, 4), Fraction(1, 2))
    assert (scale.least, scale.most, scale.largest, scale.neutral) == (1, 4, 4, 1)


def test_sums_do_not_depend_on_the_order():
    values = np.random.default_rng(1).normal(20, 30, 1000)
    assert BINARY.to_steps(values).sum() == BINARY.to_steps(values[::-1]).sum()


def test_bounds_and_granularity_that_make_no_sense_are_refused():
    with pytest.raises(InvalidMechanism):
        FixedPoint(Fraction(0), Fraction(1), Fraction(0))
    with pytest.raises(NoBounds):
        FixedPoint(Fraction(1), Fraction(0), Fraction(1))
    with pytest.raises(NoBounds):
        FixedPoint(Fraction(1, 3), Fraction(1, 2), Fraction(1))
    with pytest.raises(NoBounds):
        FixedPoint(Fraction(0), Fraction(10**30), Fraction(1))
