"""Swapping: who gets whose values."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.release.steps.swapping import swap_ranks, swap_within

strata = st.lists(st.integers(0, 4), min_size=1, max_size=60).map(np.array)
seeds = st.integers(0, 2**32).map(np.random.default_rng)


@given(strata, st.floats(0, 1), seeds)
def test_partners_exchange_within_their_stratum(
    found: np.ndarray, share: float, generator: np.random.Generator
) -> None:
    source = swap_within(found, share=share, generator=generator)
    assert np.array_equal(source[source], np.arange(len(found)))
    assert np.array_equal(found[source], found)


@given(strata, st.floats(0, 1), seeds)
def test_as_many_rows_swap_as_asked_or_as_have_partners(
    found: np.ndarray, share: float, generator: np.random.Generator
) -> None:
    source = swap_within(found, share=share, generator=generator)
    possible = int(np.sum(np.bincount(found) // 2))
    swapped = int(np.sum(source != np.arange(len(found))))
    assert swapped == 2 * min(possible, int(share * len(found) / 2 + 0.5))


@given(st.integers(1, 200), st.floats(0.001, 1), seeds)
def test_no_row_gets_a_value_from_beyond_the_window(
    count: int, window: float, generator: np.random.Generator
) -> None:
    order = generator.permutation(count)
    source = swap_ranks(order, window=window, generator=generator)
    ranks = np.empty(count, dtype=int)
    ranks[order] = np.arange(count)
    assert np.abs(ranks[source] - ranks).max() <= max(1, int(window * count))
    assert np.array_equal(source[source], np.arange(count))


def test_nearly_all_ranks_are_swapped() -> None:
    generator = np.random.default_rng(3)
    source = swap_ranks(np.arange(10_000), window=0.05, generator=generator)
    assert np.mean(source == np.arange(10_000)) < 0.01
