"""Peeling releases every group that holds at the cheapest node where it does."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.policy import model
from discreet.release.anonymize.attribute import CodedAttribute
from discreet.release.anonymize.frequencies import Frequencies, label_rows
from discreet.release.anonymize.judge import Judge
from discreet.release.anonymize.lattice_search import best_node, make_walk, search_lattice
from discreet.release.anonymize.problem import Problem
from discreet.release.anonymize.recoding import at_node, generalize, loss


def attribute(name: str, *levels: np.ndarray) -> CodedAttribute:
    size = len(levels[0])
    groups = (*levels, np.zeros(size, dtype=np.int64))
    return CodedAttribute(
        name, groups, tuple(np.bincount(level) / size for level in groups), 1 / size
    )


def build(rows: list[tuple[int, int]], *, k: int) -> Problem:
    attributes = (
        attribute("age", np.arange(8), np.arange(8) // 2, np.arange(8) // 4),
        attribute("zip", np.arange(6), np.arange(6) // 2),
    )
    cells = np.array(rows, dtype=np.int64)
    loose = Frequencies(cells.astype(np.int32), np.ones(len(rows), dtype=np.int64))
    table = loose.merge(*label_rows([(cells[:, 0], 8), (cells[:, 1], 6)]))
    return Problem(table, attributes, Judge((model.KAnonymity(k),)))


tables = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 5)), min_size=1, max_size=50)


@settings(max_examples=60)
@given(rows=tables, k=st.integers(1, 5))
def test_classes_hold_and_fewer_than_k_rows_are_left(rows, k):
    problem = build(rows, k=k)
    classes = search_lattice(problem, make_walk(problem))
    kept = classes >= 0
    sizes = np.bincount(classes[kept], weights=problem.table.rows[kept])
    assert (sizes >= k).all()
    assert problem.table.rows[~kept].sum() < k


@settings(max_examples=60)
@given(rows=tables, k=st.integers(1, 5))
def test_combinations_with_enough_rows_keep_their_values(rows, k):
    problem = build(rows, k=k)
    classes = search_lattice(problem, make_walk(problem))
    members = np.bincount(classes[classes >= 0])
    for place in np.flatnonzero(problem.table.rows >= k):
        assert members[classes[place]] == 1


@settings(max_examples=60)
@given(rows=tables, k=st.integers(1, 5))
def test_the_best_node_is_that_of_brute_force(rows, k):
    problem = build(rows, k=k)
    losses = []
    for node in product(range(4), range(3)):
        labels, count = generalize(problem, node)
        if problem.judge.holds(problem.table, labels, count).all():
            none = np.zeros(len(labels), dtype=np.bool_)
            losses.append(loss(problem, at_node(problem, node, none)))
    walk = make_walk(problem)
    found = best_node(problem, walk, below=np.inf)
    assert (found is None) == (not losses)
    if losses:
        assert best_node(problem, walk, below=min(losses) - 1e-6) is None
        assert best_node(problem, walk, below=min(losses) + 1e-6) is not None


def test_nodes_are_walked_from_cheap_to_dear_and_each_once():
    walk = make_walk(build([(0, 0), (1, 1), (7, 5)], k=2))
    assert (np.diff(walk.means) >= 0).all()
    assert len({tuple(node) for node in walk.nodes.tolist()}) == 12
