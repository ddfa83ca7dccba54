"""Exact replay: what a learner releases about a table costs at most its price on a neighboring one."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.learning.counts import make_space, replay

from discreet.learning.specs.boosting import fit_boosting
from discreet.learning.specs.forest import SPLITS, fit_forest
from discreet.learning.specs.huber import fit_huber
from discreet.learning.specs.k_means import fit_k_means
from discreet.learning.specs.linear import fit_linear
from discreet.learning.specs.logistic import fit_logistic
from discreet.learning.specs.naive_bayes import fit_naive_bayes
from discreet.learning.specs.pca import fit_pca
from discreet.learning.specs.quantile import fit_quantile
from discreet.learning.specs.tree import fit_tree
from discreet.learning.split_scores import CRITERIA
from discreet.learning.tree_growth import SELECTIONS

SIZES = [4, 8, 3]
WIDE = [5, 9, 40]
LEARNERS = {
    "boosting": (fit_boosting, SIZES, "classification"),
    "boosting of several classes": (fit_boosting, [4, 8, 5], "classification"),
    "boosting of numbers": (fit_boosting, WIDE, "regression"),
    "linear": (fit_linear, [4, 8, 3, 40], "regression"),
    "logistic": (fit_logistic, [4, 8, 5], "classification"),
    "huber": (fit_huber, [4, 8, 40], "regression"),
    "quantile": (fit_quantile, [4, 8, 40], "regression"),
    "naive Bayes": (fit_naive_bayes, [4, 8, 5], "classification"),
    "k-means": (partial(fit_k_means, clusters=3, rounds=2), [8, 9, 3, 2], "clustering"),
    "pca": (fit_pca, [8, 9, 3, 2], "components"),
    **{
        f"tree by {criterion} and {selection}": (
            partial(fit_tree, criterion=criterion, selection=selection, depth=2),
            SIZES,
            "classification",
        )
        for criterion in CRITERIA
        for selection in SELECTIONS
    },
    **{
        f"{splits} forest": (partial(fit_forest, splits=splits, trees=3), SIZES, "classification")
        for splits in SPLITS
    },
}


def make_rows(sizes, count, seed=1):
    chance = np.random.default_rng(seed)
    return np.stack([chance.integers(0, size, count) for size in sizes], axis=1)


@pytest.mark.parametrize("pure", [False, True], ids=["gaussian", "laplace"])
@pytest.mark.parametrize("name", LEARNERS)
@given(person=st.data())
@settings(max_examples=8, deadline=None)
def test_one_person_costs_at_most_the_price(name, pure, person):
    fit, sizes, task = LEARNERS[name]
    space = make_space(sizes, task=task, ordered=(1, len(sizes) - 1))
    rows = make_rows(sizes, 120)
    one = [person.draw(st.integers(0, size - 1)) for size in sizes]
    cost = replay(fit, rows, np.vstack([rows, one]), space, pure=pure, amount=Fraction(1, 2))
    assert cost <= 1 + 1e-9


@pytest.mark.parametrize("pure", [False, True], ids=["gaussian", "laplace"])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_person_who_is_there_many_times_exceeds_the_price(name, pure):
    fit, sizes, task = LEARNERS[name]
    space = make_space(sizes, task=task, ordered=(1, len(sizes) - 1))
    rows = make_rows(sizes, 120)
    many = np.vstack([rows, np.tile([1, 2, 1, 1][: len(sizes)], (6, 1))])
    assert replay(fit, rows, many, space, pure=pure) > 1
