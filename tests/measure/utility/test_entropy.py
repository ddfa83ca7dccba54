"""Bits lost, against the definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.measure.utility.entropy import entropy_bits, lost_by_levels, lost_by_ranges

GROUPS = (np.arange(4), np.array([0, 0, 1, 1]), np.zeros(4, dtype=np.int64))
COUNTS = st.lists(st.integers(0, 30), min_size=12, max_size=12).map(
    lambda counts: np.array(counts).reshape(3, 4)
)


def test_a_column_holds_the_entropy_of_its_values():
    assert entropy_bits(np.array([0, 1, 2, 3]), np.array([5, 5, 5, 5])) == pytest.approx(20 * 2)
    assert entropy_bits(np.array([0]), np.array([7])) == 0
    assert entropy_bits(np.array([], dtype=np.int64), np.array([], dtype=np.int64)) == 0


def test_values_that_stay_lose_nothing_and_hidden_ones_lose_all():
    rows = np.array([1, 2, 3, 4])
    nothing = np.zeros(4, dtype=np.int64)
    whole = entropy_bits(np.arange(4), rows)
    assert lost_by_levels(np.stack([rows, nothing, nothing]), GROUPS) == 0
    assert lost_by_levels(np.stack([nothing, nothing, rows]), GROUPS) == pytest.approx(whole)


def test_half_way_up_costs_the_bit_that_distinguishes_two_values():
    nothing = np.zeros(4, dtype=np.int64)
    halves = np.stack([nothing, np.array([5, 5, 5, 5]), nothing])
    assert lost_by_levels(halves, GROUPS) == pytest.approx(20 * 1)


@given(counts=COUNTS)
def test_levels_lose_between_nothing_and_all(counts):
    rows = counts.sum(axis=0)
    lost = lost_by_levels(counts, GROUPS)
    assert -1e-6 <= lost <= entropy_bits(np.arange(4), rows) + 1e-6


@given(counts=COUNTS)
def test_going_further_up_never_loses_less(counts):
    higher = np.stack([np.zeros(4, dtype=np.int64), counts[0] + counts[1], counts[2]])
    assert lost_by_levels(higher, GROUPS) >= lost_by_levels(counts, GROUPS) - 1e-6


def test_a_range_costs_what_its_value_is_unknown_within_it():
    values, rows = np.array([0, 1, 2]), np.array([2, 2, 4])
    lows, highs = np.array([0, 0, 2]), np.array([1, 1, 2])
    assert lost_by_ranges(values, lows, highs, rows, 3) == pytest.approx(4 * 1)


@given(rows=st.lists(st.integers(1, 30), min_size=1, max_size=9).map(np.array))
def test_the_range_of_everything_loses_all(rows):
    values = np.arange(len(rows))
    lows, highs = np.zeros_like(values), np.full_like(values, len(rows) - 1)
    lost = lost_by_ranges(values, lows, highs, rows, len(rows))
    assert lost == pytest.approx(entropy_bits(values, rows))
