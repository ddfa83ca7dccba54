"""Cell suppression shows a value or `*`, meets the criteria by labels, and hides little."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.criteria.histograms import Overall
from discreet.errors import CriteriaUnreachable, WrongUsage
from discreet.policy import model
from discreet.release.anonymize.attribute import CodedAttribute
from discreet.release.anonymize.cells import keep_or_hide, suppress_cells_greedily
from discreet.release.anonymize.frequencies import Frequencies, Histogram, label_rows
from discreet.release.anonymize.judge import Judge
from discreet.release.anonymize.optimal_cells import suppress_cells_optimally
from discreet.release.anonymize.problem import Problem
from discreet.release.anonymize.recoding import (
    SUPPRESSED,
    Recoding,
    loss,
    suppressed_rows,
    tighten_labels,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

METHODS = [suppress_cells_greedily, suppress_cells_optimally]

CRITERIA = [
    (model.KAnonymity(2),),
    (model.KAnonymity(3),),
    (model.LDiversity("disease", 2),),
    (model.KAnonymity(2), model.TCloseness("disease", 0.5)),
    (model.LDiversity("disease", 1.5, "entropy"),),
]


def build(
    rows: list[tuple[int, ...]],
    *criteria: model.Criterion,
    limit: int = 0,
    weights: tuple[float, ...] = (1.0, 1.0, 1.0),
    has_units: bool = False,
) -> Problem:
    """A range, a hierarchy and a text with values 0, 1, 2; then disease; then person."""
    cells = np.array(rows, dtype=np.int64)
    each, one = np.arange(len(cells)), np.ones(len(cells), dtype=np.int64)
    units = cells[:, 4] if has_units else None
    loose = Frequencies(
        codes=cells[:, :3].astype(np.int32),
        rows=one,
        histograms=(Histogram(each, cells[:, 3], one, units),),
        people=None if units is None else (each, units),
    )
    table = loose.merge(*label_rows([(cells[:, j], 3) for j in range(3)]))
    values, top = np.arange(3), np.zeros(3, dtype=np.int64)
    kinds = [
        ((values, top), True),
        ((values, np.array([0, 0, 1]), top), False),
        ((values, top), False),
    ]
    attributes = tuple(
        CodedAttribute(
            name,
            groups,
            tuple(np.bincount(level) / 3 for level in groups),
            leaf=1 / 3,
            weight=weight,
            is_range=is_range,
        )
        for name, weight, (groups, is_range) in zip("abc", weights, kinds, strict=True)
    )
    shares = np.bincount(cells[:, 3], minlength=3) / len(cells)
    judge = Judge(criteria, ("disease",), (Overall(shares),), has_units)
    return Problem(table, attributes, judge, limit)


def tables(most: int) -> st.SearchStrategy[list[tuple[int, ...]]]:
    row = st.tuples(*[st.integers(0, 2)] * 4, st.integers(0, 6))
    return st.lists(row, min_size=4, max_size=most)


def hidden_cells(problem: Problem, recoding: Recoding) -> float:
    """What is hidden, weighted, when a suppressed row hides all."""
    cells = recoding.levels > 0
    gone = recoding.classes == SUPPRESSED
    each = np.where(gone, problem.weights.sum(), (cells @ problem.weights)[recoding.classes])
    return float(each @ problem.table.rows)


def divisions(count: int) -> Iterator[tuple[int, ...]]:
    """Every way to number `count` things by class, -1 for none; new classes get the next number."""
    if not count:
        yield ()
        return
    for start in divisions(count - 1):
        for last in range(-1, max(start, default=-1) + 2):
            yield (*start, last)


def least_hidden(problem: Problem) -> float | None:
    """The same for the best of all ways to divide the combinations, tried one by one."""
    choices, best = keep_or_hide(problem), None
    count = len(problem.table)
    for classes in divisions(count):
        given_classes = np.array(classes)
        gone = given_classes == SUPPRESSED
        if problem.table.rows[gone].sum() > problem.limit:
            continue
        found = tighten_labels(choices, given_classes)
        kept = problem.table.take(~gone)
        if len(kept) and not problem.judge.holds(kept, found.classes[~gone], len(found)).all():
            continue
        cost = hidden_cells(problem, found)
        best = cost if best is None else min(best, cost)
    return best


def keeps_or_hides(problem: Problem, recoding: Recoding) -> bool:
    kept = recoding.classes != SUPPRESSED
    classes, codes = recoding.classes[kept], problem.table.codes[kept]
    shown = (recoding.levels[classes] == 0) & (recoding.lows[classes] == codes)
    shown &= recoding.highs[classes] == codes
    return bool((shown | (recoding.levels[classes] == np.array(problem.heights))).all())


def is_reached(problem: Problem, recoding: Recoding) -> bool:
    kept = recoding.classes != SUPPRESSED
    table = problem.table.take(kept)
    return bool(problem.judge.holds(table, recoding.classes[kept], len(recoding)).all())


@pytest.mark.parametrize("suppress", METHODS)
@settings(max_examples=25)
@given(
    rows=tables(24),
    criteria=st.sampled_from(CRITERIA),
    limit=st.integers(0, 3),
    has_units=st.booleans(),
)
def test_classes_meet_the_criteria_by_their_labels(suppress, rows, criteria, limit, has_units):
    problem = build(rows, *criteria, limit=limit, has_units=has_units)
    try:
        found = suppress(problem)
    except (CriteriaUnreachable, WrongUsage):
        return
    assert is_reached(problem, found)
    assert keeps_or_hides(problem, found)
    assert suppressed_rows(problem, found) <= limit
    labels = np.concatenate([found.levels, found.lows], axis=1)
    assert len(np.unique(labels, axis=0)) == len(found)


@settings(max_examples=25)
@given(rows=tables(30), k=st.integers(2, 4), weight=st.sampled_from([0.5, 1.0, 3.0]))
def test_the_optimum_hides_no_more_than_the_greedy_way(rows, k, weight):
    problem = build(rows, model.KAnonymity(k), weights=(1.0, weight, 1.0))
    greedy, best = suppress_cells_greedily(problem), suppress_cells_optimally(problem)
    assert hidden_cells(problem, best) <= hidden_cells(problem, greedy) + 1e-9


@settings(max_examples=30)
@given(
    rows=tables(6),
    criteria=st.sampled_from(CRITERIA),
    limit=st.integers(0, 2),
    weights=st.sampled_from([(1.0, 1.0, 1.0), (1.0, 2.0, 5.0)]),
)
def test_the_optimum_is_that_of_trying_everything(rows, criteria, limit, weights):
    problem = build(rows, *criteria, limit=limit, weights=weights)
    least = least_hidden(problem)
    try:
        found = suppress_cells_optimally(problem)
    except CriteriaUnreachable:
        assert least is None
        return
    assert hidden_cells(problem, found) == pytest.approx(least)


@pytest.mark.parametrize("suppress", METHODS)
@settings(max_examples=10)
@given(rows=tables(20), seed=st.integers(0, 99))
def test_the_order_of_rows_changes_nothing(suppress, rows, seed):
    problem = build(rows, model.KAnonymity(2))
    order = np.random.default_rng(seed).permutation(len(problem.table))
    mixed = replace(problem, table=problem.table.merge(order, len(order)))
    one, other = suppress(problem), suppress(mixed)
    assert (other.classes[order] == one.classes).all()
    assert (other.levels == one.levels).all()


ROWS = [(0, 0, 0, 0), (0, 0, 1, 0), (1, 1, 1, 1), (1, 1, 1, 1)]


@pytest.mark.parametrize("suppress", METHODS)
def test_only_the_cells_that_distinguish_people_are_hidden(suppress):
    problem = build(ROWS, model.KAnonymity(2))
    found = suppress(problem)
    assert found.levels[found.classes].tolist() == [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    assert found.notes["cells"] == 2
    assert found.notes["cells_by_attribute"] == {"a": 0, "b": 0, "c": 2}


@pytest.mark.parametrize("suppress", METHODS)
def test_a_hidden_cell_does_not_stand_for_any_value(suppress):
    # sdcMicro would hide one cell of the lone row and let it match the two others.
    problem = build([(0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 1, 0)], model.KAnonymity(2))
    found = suppress(problem)
    assert len(found) == 1
    assert found.notes["cells"] == 3


@pytest.mark.parametrize("suppress", METHODS)
def test_important_attributes_are_hidden_last(suppress):
    rows = [(0, 0, 0, 0), (0, 0, 1, 0), (1, 0, 0, 0), (1, 0, 1, 0)]
    important = suppress(build(rows, model.KAnonymity(2), weights=(9.0, 1.0, 1.0)))
    other = suppress(build(rows, model.KAnonymity(2), weights=(1.0, 1.0, 9.0)))
    assert important.notes["cells_by_attribute"] == {"a": 0, "b": 0, "c": 4}
    assert other.notes["cells_by_attribute"] == {"a": 4, "b": 0, "c": 0}


@pytest.mark.parametrize("suppress", METHODS)
def test_the_limit_lets_a_lone_row_go(suppress):
    rows = [(0, 0, 0, 0)] * 5 + [(2, 2, 2, 0)]
    kept, gone = (suppress(build(rows, model.KAnonymity(2), limit=n)) for n in (0, 1))
    assert (kept.notes["cells"], gone.notes["cells"]) == (18, 0)
    assert gone.classes.tolist() == [0, SUPPRESSED]


@pytest.mark.parametrize("suppress", METHODS)
def test_criteria_out_of_reach_are_named(suppress):
    with pytest.raises(CriteriaUnreachable, match="The best is k = 4"):
        suppress(build(ROWS, model.KAnonymity(5)))
    with pytest.raises(WrongUsage, match="full-domain"):
        suppress(build(ROWS, model.KMap(2)))


def test_large_tables_are_refused_with_the_remedy():
    codes = np.array(list(product(range(5), repeat=3)), dtype=np.int32)
    problem = build(ROWS, model.KAnonymity(2))
    large = replace(problem, table=Frequencies(codes, np.ones(len(codes), dtype=np.int64)))
    with pytest.raises(WrongUsage, match=r"125 different combinations[\s\S]*Use greedy"):
        suppress_cells_optimally(large)


def test_many_attributes_are_cut_from_above():
    generator = np.random.default_rng(0)
    codes = np.unique(generator.integers(0, 3, (300, 20)), axis=0).astype(np.int32)
    one = build(ROWS, model.KAnonymity(3)).attributes[2]
    attributes = tuple(replace(one, name=f"q{j}") for j in range(20))
    table = Frequencies(codes, np.ones(len(codes), dtype=np.int64))
    problem = Problem(table, attributes, Judge((model.KAnonymity(3),)))
    found = suppress_cells_greedily(problem)
    assert is_reached(problem, found)
    assert keeps_or_hides(problem, found)
    assert loss(problem, found) < 0.9
