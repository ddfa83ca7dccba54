"""Rows given some of their columns, against the whole table."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.release.synthesize.fit import NoisyMarginal, fit_maximum_entropy
from discreet.release.synthesize.sample_given import sample_rows_given

SIZES = (2, 3, 2, 4, 3)
ROWS = 6_000


def fit_table(columns, *, impossible=()):
    cells = np.random.default_rng(3).integers(1, 40, SIZES).astype(float)
    marginals = []
    for some in [*((one,) for one in range(len(SIZES))), *columns]:
        shape = [SIZES[one] for one in some]
        counts = cells.sum(axis=tuple(one for one in range(len(SIZES)) if one not in some))
        marginals.append(
            NoisyMarginal(some, tuple(np.arange(size) for size in shape), counts, scale=1.0)
        )
    return fit_maximum_entropy(SIZES, marginals, total=cells.sum(), impossible=impossible)


def whole_table(table):
    """Return the chance of each cell: the product of all beliefs, divided by what they share."""
    tree = table.tree
    joint = np.ones(SIZES)
    for place, (clique, shared) in enumerate(zip(tree.cliques, tree.separators, strict=True)):
        belief = table.beliefs[place]
        below = belief.sum(
            axis=tuple(axis for axis, one in enumerate(clique) if one not in shared),
            keepdims=True,
        )
        share = np.divide(belief, below, out=np.zeros_like(belief), where=below > 0)
        joint = joint * share.reshape([SIZES[one] if one in clique else 1 for one in range(5)])
    return joint


@pytest.mark.parametrize(
    "columns",
    [
        [(0, 1), (1, 2), (2, 3), (3, 4)],
        [(0, 3), (1, 3), (0, 4), (1, 4), (2, 4)],
        [(0, 1, 2), (2, 3, 4)],
        [],
    ],
    ids=["chain", "crossed", "triples", "apart"],
)
@pytest.mark.parametrize("known", [(), (0,), (0, 1), (1, 4), (0, 2, 3)], ids=str)
def test_rows_have_the_law_of_the_table_given_what_is_known(columns, known):
    table = fit_table(columns)
    joint = whole_table(table)
    assert joint.sum() == pytest.approx(1)
    for values in itertools.islice(itertools.product(*(range(SIZES[one]) for one in known)), 4):
        given = {
            column: np.full(ROWS, value, np.int32)
            for column, value in zip(known, values, strict=True)
        }
        rows = sample_rows_given(table, given, ROWS, np.random.default_rng(5))
        wanted = np.zeros(SIZES)
        fixed = tuple(values[known.index(one)] if one in known else slice(None) for one in range(5))
        wanted[fixed] = joint[fixed] / joint[fixed].sum()
        found = np.zeros(SIZES)
        np.add.at(found, tuple(rows.T), 1 / ROWS)
        assert abs(found - wanted).sum() / 2 < 0.07


def test_known_values_that_cannot_occur_together_still_give_rows():
    table = fit_table(
        [(0, 1), (1, 2)], impossible=[((0, 1), np.array([[1, 0, 0], [0, 0, 0]], bool))]
    )
    given = {0: np.zeros(50, np.int32), 1: np.zeros(50, np.int32)}
    rows = sample_rows_given(table, given, 50, np.random.default_rng(1))
    assert (rows >= 0).all()
    assert (rows < SIZES).all()
    assert (rows[:, :2] == 0).all()


def test_each_row_has_its_own_known_values():
    table = fit_table([(0, 3)])
    values = np.arange(1_000, dtype=np.int32) % 2
    rows = sample_rows_given(table, {0: values}, 1_000, np.random.default_rng(1))
    assert (rows[:, 0] == values).all()
    joint = whole_table(table).sum(axis=(1, 2, 4))
    for value in (0, 1):
        found = np.bincount(rows[values == value, 3], minlength=4) / 500
        assert abs(found - joint[value] / joint[value].sum()).max() < 0.06
