"""Microaggregation: groups of k rows, near ones together, their means kept."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet.release.steps import microaggregation
from discreet.release.steps.microaggregation import aggregate, group_means, mdav, univariate

reals = st.floats(-1e6, 1e6).map(lambda number: round(number, 3))
sizes = st.tuples(st.integers(5, 60), st.integers(1, 3))
points = sizes.flatmap(lambda shape: arrays(np.float64, shape, elements=reals))


def squared_error(values: np.ndarray, groups: np.ndarray) -> float:
    return float(np.sum((values - group_means(values, groups)) ** 2))


def brute_force(values: np.ndarray, k: int) -> float:
    """The least error over all ways to cut the sorted values into runs of k or more."""
    ordered = np.sort(values)

    @cache
    def best(start: int) -> float:
        if start == len(ordered):
            return 0.0
        ends = range(start + k, len(ordered) + 1)
        return min(
            (
                float(np.sum((ordered[start:e] - ordered[start:e].mean()) ** 2)) + best(e)
                for e in ends
            ),
            default=float("inf"),
        )

    return best(0)


@given(arrays(np.float64, st.integers(3, 14), elements=reals), st.integers(1, 3))
def test_univariate_groups_have_the_least_error_of_all(values: np.ndarray, k: int) -> None:
    scale = max(1.0, float(np.sum((values - values.mean()) ** 2)))
    found = squared_error(values, univariate(values, k))
    assert found == pytest.approx(brute_force(values, k), abs=1e-9 * scale)


@given(points, st.integers(2, 5), st.sampled_from(["mdav", "univariate"]))
def test_every_group_has_k_to_2k_minus_1_rows(numbers: np.ndarray, k: int, method: str) -> None:
    groups = mdav(numbers, k) if method == "mdav" else univariate(numbers[:, 0], k)
    counts = np.bincount(groups)
    assert counts.min() >= k
    assert counts.max() <= 2 * k - 1


@given(points, st.integers(2, 5))
def test_means_of_columns_stay(numbers: np.ndarray, k: int) -> None:
    found = aggregate(numbers, k, mdav)
    assert np.allclose(found.mean(axis=0), numbers.mean(axis=0), rtol=1e-9, atol=1e-6)


def test_two_clusters_are_found() -> None:
    numbers = np.array([[0, 0], [9, 9], [0, 1], [9, 8], [1, 0], [8, 9]], dtype=float)
    assert len({*mdav(numbers, 3)[::2]}) == 1
    assert np.array_equal(mdav(numbers, 3) == mdav(numbers, 3)[0], [True, False] * 3)


def test_mdav_stays_near_the_optimum_of_one_column() -> None:
    values = np.random.default_rng(4).lognormal(size=600)
    best = squared_error(values, univariate(values, 5))
    assert best <= squared_error(values, mdav(values[:, None], 5)) <= 2 * best


def test_many_rows_are_grouped_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.random.default_rng(5).normal(size=(1_000, 2))
    whole = aggregate(numbers, 5, mdav)
    monkeypatch.setattr(microaggregation, "ROWS_PER_BLOCK", 100)
    blocks = aggregate(numbers, 5, mdav)
    assert np.unique(blocks, axis=0, return_counts=True)[1].min() >= 5
    assert np.sum((blocks - numbers) ** 2) <= 1.5 * np.sum((whole - numbers) ** 2)


@given(
    arrays(np.float64, st.tuples(st.integers(0, 40), st.just(2)), elements=reals | st.just(np.nan)),
    st.integers(2, 4),
)
def test_with_missing_numbers_every_combination_still_has_k_rows(
    numbers: np.ndarray, k: int
) -> None:
    found = aggregate(numbers, k, mdav)
    assert np.isnan(found[np.isnan(numbers)]).all()
    shown = np.nan_to_num(found[~np.isnan(found).all(axis=1)], nan=1e9)
    assert all(np.unique(shown, axis=0, return_counts=True)[1] >= k)


def test_equal_rows_are_no_trouble() -> None:
    assert np.array_equal(aggregate(np.ones((20, 2)), 3, mdav), np.ones((20, 2)))
