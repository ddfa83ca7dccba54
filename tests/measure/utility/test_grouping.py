"""Class sizes as measures of loss, against counting by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.measure.utility.grouping import average_size, discernibility, share_of_worst

SIZES = st.lists(st.integers(1, 50), min_size=1, max_size=20).map(np.array)


@given(sizes=SIZES)
def test_discernibility_counts_pairs_of_rows_that_look_alike(sizes):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    assert discernibility(sizes) == (labels[:, None] == labels[None, :]).sum()


@given(sizes=SIZES, hidden=st.integers(0, 50))
def test_a_suppressed_row_costs_as_much_as_the_whole_table(sizes, hidden):
    rows = int(sizes.sum()) + hidden
    found = discernibility(sizes, hidden=hidden, penalty=rows)
    assert found == discernibility(sizes) + hidden * rows
    assert found <= rows * rows


def test_squares_of_large_classes_do_not_overflow():
    assert discernibility(np.array([4_000_000_000, 4_000_000_000])) == 3.2e19


def test_the_worst_is_one_and_the_best_is_nothing():
    assert share_of_worst(2.0, best=2.0, worst=4.0) == 0
    assert share_of_worst(4.0, best=2.0, worst=4.0) == 1
    assert share_of_worst(4.0, best=4.0, worst=4.0) == 0


def test_no_class_has_no_size():
    assert average_size(10, 4) == 2.5
    assert average_size(0, 0) == 0
