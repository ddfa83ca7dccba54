"""The fit against brute force, and rows against the table they are drawn from."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from discreet.dp.spending import ZcdpSpending, divide_budget
from discreet.errors import InvalidBudget
from discreet.release.synthesize.fit import WEIGHT, NoisyMarginal, fit_maximum_entropy, sum_coarse
from discreet.release.synthesize.junction_tree import build_tree, pairs_of, triangulate
from discreet.release.synthesize.resolutions import (
    ColumnShape,
    choose_resolutions,
    project_on_simplex,
)
from discreet.release.synthesize.sample import draw_systematically, sample_rows


def brute_force(sizes, marginals, total, impossible):
    """Return the same table, fitted over all cells at once instead of by a junction tree."""
    cells = list(itertools.product(*(range(size) for size in sizes)))
    floor = np.zeros(len(cells))
    for columns, forbidden in impossible:
        for place, cell in enumerate(cells):
            if forbidden[tuple(cell[column] for column in columns)]:
                floor[place] = -np.inf
    rows = []
    for one in marginals:
        for place in itertools.product(*(range(size) for size in one.counts.shape)):
            fits = [
                all(
                    one.maps[axis][cell[column]] == place[axis]
                    for axis, column in enumerate(one.columns)
                )
                for cell in cells
            ]
            rows.append(np.array(fits, float))
    matrix = np.array(rows)
    counts = np.concatenate([one.counts.ravel() for one in marginals])
    pull = WEIGHT * np.concatenate([np.full(one.counts.size, one.scale) for one in marginals])

    def dual(multipliers):
        logs = multipliers @ matrix + floor
        largest = logs.max()
        weights = np.exp(logs - largest)
        share = weights / weights.sum()
        value = total * (largest + math.log(weights.sum())) - multipliers @ counts
        value += 0.5 * (pull * multipliers**2).sum()
        return value, total * matrix @ share - counts + pull * multipliers

    options = {"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-9}
    found = minimize(dual, np.zeros(len(counts)), jac=True, method="L-BFGS-B", options=options)
    logs = found.x @ matrix + floor
    weights = np.exp(logs - logs.max())
    return (weights / weights.sum()).reshape(sizes)


@st.composite
def measured_tables(draw):
    sizes = draw(st.lists(st.integers(1, 3), min_size=2, max_size=4))
    columns = range(len(sizes))
    wanted = [(place,) for place in columns]
    wanted += draw(st.lists(st.sampled_from(list(itertools.combinations(columns, 2))), max_size=3))
    marginals = []
    for some in wanted:
        maps = []
        for column in some:
            coarse = draw(st.integers(1, sizes[column]))
            maps.append(np.minimum(np.arange(sizes[column]), coarse - 1))
        shape = [int(codes.max()) + 1 for codes in maps]
        counts = [draw(st.integers(-20, 200)) for _ in range(math.prod(shape))]
        marginals.append(
            NoisyMarginal(some, tuple(maps), np.array(counts, float).reshape(shape), scale=3.0)
        )
    impossible = []
    for some in draw(
        st.lists(st.sampled_from(list(itertools.combinations(columns, 2))), max_size=2)
    ):
        shape = [sizes[column] for column in some]
        cells = [draw(st.booleans()) for _ in range(math.prod(shape))]
        impossible.append((some, np.array([False, *cells[1:]]).reshape(shape)))
    return sizes, marginals, impossible


@given(measured_tables())
def test_the_junction_tree_fits_what_brute_force_fits(case):
    sizes, marginals, impossible = case
    fitted = fit_maximum_entropy(
        sizes, marginals, total=300.0, impossible=impossible, iterations=3000, tolerance=1e-13
    )
    expected = brute_force(sizes, marginals, 300.0, impossible)
    for columns, forbidden in impossible:
        assert not fitted.marginal(columns)[forbidden].any()
    for one in marginals:
        others = tuple(axis for axis in range(len(sizes)) if axis not in one.columns)
        assert fitted.marginal(one.columns) == pytest.approx(expected.sum(axis=others), abs=2e-3)


def test_impossible_combinations_have_no_chance_and_no_row():
    forbidden = np.array([[False, True], [False, False]])
    marginals = [
        NoisyMarginal((0,), (np.arange(2),), np.array([50.0, 50.0]), 1.0),
        NoisyMarginal((1,), (np.arange(2),), np.array([30.0, 70.0]), 1.0),
    ]
    fitted = fit_maximum_entropy([2, 2], marginals, total=100, impossible=[((0, 1), forbidden)])
    assert fitted.marginal((0, 1))[0, 1] == 0
    rows = sample_rows(fitted, 1000, np.random.default_rng(1))
    assert not ((rows[:, 0] == 0) & (rows[:, 1] == 1)).any()


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12))
def test_a_tree_has_every_edge_and_keeps_each_column_connected(edges):
    edges = [(a, b) for a, b in edges if a != b]
    tree = build_tree([2, 3, 2, 4, 2, 3, 2], edges)
    assert pairs_of(edges) <= pairs_of(tree.cliques)
    for column in range(7):
        places = [place for place, clique in enumerate(tree.cliques) if column in clique]
        roots = [place for place in places if tree.parents[place] not in places]
        assert len(roots) == 1
    assert [tuple(clique) for clique in triangulate(tree.sizes, edges)] == list(tree.cliques)


@given(st.integers(1, 60), st.lists(st.integers(0, 9), min_size=2, max_size=5))
def test_systematic_rows_are_within_one_of_what_is_expected(count, weights):
    if not sum(weights):
        weights[0] = 1
    chances = np.array([weights], float)
    drawn = draw_systematically(chances, np.zeros(count, np.int64), np.random.default_rng(count))
    expected = count * chances[0] / chances.sum()
    assert (np.abs(np.bincount(drawn, minlength=len(weights)) - expected) < 1 + 1e-9).all()


@given(
    st.lists(st.floats(-5, 50), min_size=1, max_size=30),
    st.booleans(),
    st.lists(st.integers(1, 12), min_size=1, max_size=4).map(sorted),
)
def test_resolutions_are_nested_and_within_their_caps(counts, is_ordered, caps):
    noisy = np.array(counts)
    shares = project_on_simplex(noisy, 10.0) / 10
    shape = ColumnShape(len(counts), is_ordered)
    found = choose_resolutions(shares, noisy, scale=1.0, shape=shape, caps=caps)
    for level, cap in enumerate(caps):
        codes = found.of_values(level)
        assert int(codes.max()) + 1 == found.sizes[level] <= max(cap, 2)
        if is_ordered:
            assert (np.diff(codes) >= 0).all()
        finer = found.of_values(len(caps) - 1)
        assert len({(int(a), int(b)) for a, b in zip(finer, codes, strict=True)}) == found.sizes[-1]


def test_public_levels_are_the_resolutions_of_a_column():
    counts = np.arange(8.0)
    halves, quarters = np.repeat([7, 3], 4), np.repeat([3, 1, 0, 2], 2)
    shape = ColumnShape(8, is_ordered=False, levels=(quarters, np.zeros(8, int), halves))
    found = choose_resolutions(counts / 28, counts, scale=1.0, shape=shape, caps=(3, 6, 12))
    assert found.sizes == (2, 4, 8)
    assert found.of_values(0).tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert found.of_values(1).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_values_of_the_coarsest_public_level_are_merged_where_it_has_too_many():
    counts = np.array([90.0, 5, 5, 80, 70, 1])
    shape = ColumnShape(6, is_ordered=False, levels=(np.array([0, 0, 1, 2, 3, 3]),))
    found = choose_resolutions(counts / 251, counts, scale=0.1, shape=shape, caps=(2, 4))
    assert found.of_values(0).tolist() == [0, 0, 1, 1, 1, 1]
    assert found.of_values(1).tolist() == [0, 0, 1, 2, 3, 3]


def test_a_missing_value_of_an_ordered_column_stays_apart():
    counts = np.array([10.0, 10, 10, 10, 10, 50])
    shape = ColumnShape(6, is_ordered=True, has_missing=True)
    found = choose_resolutions(counts / 100, counts, scale=1.0, shape=shape, caps=(2, 4))
    assert found.of_values(0).tolist() == [0, 0, 0, 0, 0, 1]
    assert found.of_values(1).tolist()[-2:] == [2, 3]


def test_rows_that_count_in_parts_give_numbers_of_rows():
    allowance = ZcdpSpending(Fraction(10**6), sensitivity=8, one=8)
    assert allowance.measure([80, 8], Fraction(10**6)).tolist() == pytest.approx([10, 1], abs=0.1)
    assert allowance.scale(Fraction(1, 2)) == 1


def test_counts_are_coarsened_along_each_axis():
    counts = np.arange(12).reshape(3, 4)
    coarse = sum_coarse(counts, [np.array([0, 0, 1]), np.array([0, 1, 1, 1])], [2, 2])
    assert coarse.tolist() == [[4, 24], [8, 30]]


def test_an_allowance_is_never_overdrawn():
    allowance = ZcdpSpending(Fraction(1, 10), sensitivity=1)
    allowance.measure([1, 2, 3], Fraction(1, 20))
    with pytest.raises(InvalidBudget):
        allowance.measure([1], Fraction(3, 50))
    assert allowance.left >= Fraction(1, 20)


@given(st.lists(st.floats(0.001, 1000), min_size=1, max_size=50))
def test_shares_never_add_up_to_more_than_the_whole(weights):
    assert sum(divide_budget(Fraction(1, 7), weights)) <= Fraction(1, 7)
