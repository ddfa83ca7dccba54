"""Move costs state what every label and every move costs, whatever moves came before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.policy import model
from discreet.release.anonymize import label_cost
from discreet.release.anonymize.attribute import CodedAttribute
from discreet.release.anonymize.blocks import cut_into_blocks
from discreet.release.anonymize.frequencies import Frequencies, label_rows
from discreet.release.anonymize.greedy_clustering import grow_classes
from discreet.release.anonymize.judge import CachedJudge, Judge
from discreet.release.anonymize.label_cost import Space
from discreet.release.anonymize.move_costs import MoveCosts
from discreet.release.anonymize.problem import Problem
from discreet.release.anonymize.recoding import class_losses, tighten_labels
from discreet.release.anonymize.refine import Refiner

AGES, ZIPS = 11, 12


def attribute(name: str, *levels: np.ndarray, **kind: bool) -> CodedAttribute:
    size = len(levels[0])
    groups = (*levels, np.zeros(size, dtype=np.int64))
    known = size - kind.get("has_missing", False)
    shares = tuple(np.bincount(level) / known for level in groups[:-1])
    return CodedAttribute(name, groups, (*shares, np.ones(1)), 1 / known, **kind)


def build(seed: int, *, rows: int = 60, k: int = 3) -> Problem:
    """A range that may be missing, a hierarchy of uneven groups in no order, a text."""
    rng = np.random.default_rng(seed)
    mixed = rng.permutation(ZIPS)
    attributes = (
        attribute("age", np.arange(AGES + 1), is_range=True, has_missing=True),
        attribute("zip", np.arange(ZIPS), np.array([0, 0, 0, 1, 1, 1, 1, 2, 3, 3, 4, 4])[mixed],
                  np.array([0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1])[mixed]),
        attribute("sex", np.arange(2)),
    )  # fmt: skip
    cells = np.stack([rng.integers(0, one.size, rows) for one in attributes], axis=1)
    loose = Frequencies(cells.astype(np.int32), np.ones(rows, dtype=np.int64))
    labels, count = label_rows([(cells[:, j], one.size) for j, one in enumerate(attributes)])
    return Problem(loose.merge(labels, count), attributes, Judge((model.KAnonymity(k),)))


def classes_of(problem: Problem, seed: int, count: int = 8) -> np.ndarray:
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, count, len(problem.table))
    chosen[:count] = np.arange(count)
    return chosen


def true_totals(problem: Problem, classes: np.ndarray) -> float:
    recoding = tighten_labels(problem, classes)
    losses = class_losses(problem, recoding) @ problem.weights
    return float((losses[recoding.classes] * problem.table.rows).sum())


seeds = st.integers(0, 10_000)


@settings(max_examples=40)
@given(seed=seeds)
def test_a_label_loses_what_its_first_and_last_place_are_apart(seed):
    problem = build(seed)
    classes = classes_of(problem, seed)
    space = Space(problem)
    lows, highs = space.ends(classes, 8)
    rows = np.bincount(classes, weights=problem.table.rows)
    total = float((space.parts(lows, highs).sum(axis=1) * rows).sum())
    assert total == pytest.approx(true_totals(problem, classes), rel=1e-5)


@settings(max_examples=40)
@given(seed=seeds)
def test_joining_costs_what_the_total_grows_by(seed):
    problem = build(seed)
    classes = classes_of(problem, seed)
    member, own = len(classes) - 1, int(classes[-1])
    board = MoveCosts(Space(problem), np.arange(len(classes)), classes, 8)
    board.set_members(own, [one for one in board.members[own] if one != member])
    before = board.score
    for target in range(8):
        cost = float(board.joining(member)[target])
        moved = classes.copy()
        moved[member] = target
        assert before + cost == pytest.approx(true_totals(problem, moved), rel=1e-4, abs=1e-4)


@settings(max_examples=40)
@given(seed=seeds)
def test_a_board_after_moves_is_the_board_of_the_classes_after_them(seed):
    problem = build(seed)
    classes = classes_of(problem, seed)
    everyone = np.arange(len(classes))
    board = MoveCosts(Space(problem), everyone, classes, 8)
    rng = np.random.default_rng(seed)
    for member in rng.permutation(len(classes))[:20].tolist():
        source, target = int(board.classes[member]), int(rng.integers(0, 8))
        if source != target and len(board.members[source]) > 1:
            board.join(member, target)
            board.set_members(source, [one for one in board.members[source] if one != member])
            board.settle([target])
    fresh = MoveCosts(Space(problem), everyone, board.classes, 8)
    np.testing.assert_allclose(board.totals, fresh.totals, rtol=1e-5, atol=1e-6)
    for member in range(5):
        np.testing.assert_allclose(
            board.joining(member), fresh.joining(member), rtol=1e-4, atol=1e-5
        )


@settings(max_examples=40)
@given(seed=seeds)
def test_refinement_never_costs_more_and_keeps_classes_large_enough(seed):
    problem = build(seed)
    space, referee = Space(problem), CachedJudge(problem.table, problem.judge)
    everyone = np.arange(len(problem.table))
    start = grow_classes(space, referee)
    board = MoveCosts(space, everyone, start, int(start.max()) + 1)
    refiner = Refiner(board, referee, lambda: False)
    refiner.place(np.flatnonzero(start < 0).tolist())
    before = board.score
    refiner.sweep()
    swept = board.score
    refiner.exchange()
    assert board.score <= swept + 1e-4 <= before + 2e-4
    assert board.score == pytest.approx(true_totals(problem, board.classes), rel=1e-4)
    sizes = np.bincount(board.classes, weights=problem.table.rows)
    assert sizes[sizes > 0].min() >= 3


def test_refinement_stops_on_request():
    problem = build(1)
    classes = classes_of(problem, 1)
    board = MoveCosts(Space(problem), np.arange(len(classes)), classes, 8)
    refiner = Refiner(board, CachedJudge(problem.table, problem.judge), lambda: True)
    assert refiner.sweep() == refiner.exchange() == 0


@settings(max_examples=30)
@given(seed=seeds, most=st.integers(1, 20))
def test_blocks_are_small_and_hold_every_row_once(seed, most):
    space = Space(build(seed))
    blocks = cut_into_blocks(space.places, space.label_costs, most=most)
    assert max(map(len, blocks)) <= most
    assert sorted(np.concatenate(blocks).tolist()) == list(range(len(space.places)))


@settings(max_examples=20)
@given(seed=seeds)
def test_places_shared_by_rare_values_never_promise_too_little(seed):
    problem = build(seed)
    classes = classes_of(problem, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_cost, "MOST_PLACES", 8)
        space = Space(problem)
    assert max(one.size for one in space.label_costs) <= 8
    nested = [1, 2]
    lows, highs = space.ends(classes, 8)
    recoding = tighten_labels(problem, classes)
    losses = (class_losses(problem, recoding) * problem.weights)[recoding.classes][:, nested]
    promised = space.parts(lows, highs)[classes][:, nested]
    assert (promised >= losses - 1e-6).all()
