"""PRAM: what is expected stays, and the matrix tells the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.release.steps.pram import invariant_matrix, replace_codes

counts = st.lists(st.integers(1, 10_000), min_size=2, max_size=12).map(np.array)


@given(counts, st.floats(0.01, 1))
def test_expected_counts_stay(found: np.ndarray, keep: float) -> None:
    matrix = invariant_matrix(found, keep=keep)
    assert np.all(matrix >= 0)
    assert matrix.sum(axis=1) == pytest.approx(np.ones(len(found)))
    assert found @ matrix == pytest.approx(found)


@given(counts, st.floats(0.01, 1))
def test_the_share_of_rows_that_keep_their_value_is_as_asked(
    found: np.ndarray, keep: float
) -> None:
    shares = found / found.sum()
    kept = float(shares @ np.diag(invariant_matrix(found, keep=keep)))
    assert kept == pytest.approx(max(keep, float(np.sum(shares**2))), abs=1e-6)


def test_one_value_stays() -> None:
    assert invariant_matrix(np.array([7]), keep=0.5).tolist() == [[1.0]]


def test_rare_values_change_oftener_than_frequent_ones() -> None:
    diagonal = np.diag(invariant_matrix(np.array([1_000, 100, 5]), keep=0.8))
    assert diagonal[0] > diagonal[1] > diagonal[2]


@pytest.mark.statistics
def test_values_change_as_often_as_the_matrix_says() -> None:
    """200,000 draws, seeded; a chi-square of 9 cells beyond 33.7 has a chance of 1e-4."""
    codes = np.repeat([0, 1, 2], [120_000, 60_000, 20_000])
    matrix = invariant_matrix(np.bincount(codes), keep=0.7)
    new = replace_codes(codes, matrix, generator=np.random.default_rng(1))
    seen = np.zeros((3, 3))
    np.add.at(seen, (codes, new), 1)
    expected = np.bincount(codes)[:, None] * matrix
    assert np.sum((seen - expected) ** 2 / expected) < 33.7
