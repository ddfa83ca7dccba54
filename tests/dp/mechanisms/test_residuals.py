"""Residuals put together are the marginals, one unit changes them by what is priced, and shares are best."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.dp.mechanisms.residuals import (
    cell_factor,
    centered_residual,
    kept_share,
    least_error_shares,
    marginal_variance,
    residual_subsets,
    scaled_residual,
    squared_residual,
    sum_residuals,
)

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4)


def total_over(table, columns):
    dropped = tuple(axis for axis in range(table.ndim) if axis not in columns)
    return np.asarray(table.sum(axis=dropped))


@given(shapes, st.integers(0, 2**32 - 1))
def test_residuals_put_together_are_the_counts(shape, seed):
    table = np.random.default_rng(seed).integers(0, 1000, shape)
    columns = tuple(range(table.ndim))
    subsets = residual_subsets([columns], shape)
    residuals = {
        subset: centered_residual(scaled_residual(total_over(table, subset))) for subset in subsets
    }
    for count in range(table.ndim + 1):
        for wanted in combinations(columns, count):
            found = sum_residuals(wanted, residuals, shape)
            assert np.allclose(found, total_over(table, wanted))


@given(shapes, st.data())
def test_one_unit_changes_a_residual_by_exactly_what_is_priced(shape, data):
    place = tuple(data.draw(st.integers(0, size - 1)) for size in shape)
    table = np.zeros(shape, np.int64)
    table[place] = 1
    change = scaled_residual(table)
    assert int((change * change).sum()) == squared_residual(shape)


def test_a_residual_beyond_64_bits_stays_exact():
    table = np.full((2, 3), 2**40, np.int64)
    table[1, 2] += 1
    found = scaled_residual(table, one=2**30)
    assert found.dtype == object
    assert found.tolist() == scaled_residual(table - 2**40).tolist()


@pytest.mark.statistics
def test_the_variance_of_a_cell_is_what_was_predicted():
    """20,000 runs: the standard error of a variance is 1 %, and 5 % are allowed (alpha below 1e-6)."""
    chance, sizes, columns = np.random.default_rng(4), [3, 4], (0, 1)
    variances = {(): 9.0, (0,): 4.0, (1,): 1.0, (0, 1): 16.0}
    shapes_of = {subset: [sizes[c] for c in subset] for subset in variances}
    cells = []
    for _ in range(20_000):
        noise = {
            subset: centered_residual(
                chance.normal(0, variances[subset] ** 0.5, shape) * np.prod(shape)
            )
            for subset, shape in shapes_of.items()
        }
        cells.append(sum_residuals(columns, noise, sizes)[1, 2])
    assert np.var(cells) == pytest.approx(marginal_variance(columns, variances, sizes), rel=0.05)


def test_one_marginal_alone_costs_what_counting_its_cells_costs():
    sizes, columns = [37, 5, 2], (0, 1, 2)
    roots = [
        (370 * cell_factor(columns, subset, sizes) * kept_share(subset, sizes)) ** 0.5
        for subset in residual_subsets([columns], sizes)
    ]
    assert sum(roots) ** 2 == pytest.approx(370)


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=6))
def test_shares_add_up_and_no_exchange_between_two_is_better(errors):
    shares = least_error_shares(errors, Fraction(1, 3))
    assert sum(shares) == Fraction(1, 3)
    best = sum(error / float(share) for error, share in zip(errors, shares, strict=True))
    assert best == pytest.approx(3 * sum(error**0.5 for error in errors) ** 2, rel=1e-3)
