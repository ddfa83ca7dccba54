"""The full-domain search finds the optimum that trying every node finds."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.criteria.histograms import Overall
from discreet.errors import CriteriaUnreachable, WrongUsage
from discreet.policy import model
from discreet.release.anonymize import full_domain, metrics, recoding
from discreet.release.anonymize.attribute import CodedAttribute
from discreet.release.anonymize.frequencies import Frequencies, Histogram, label_rows
from discreet.release.anonymize.judge import Judge
from discreet.release.anonymize.minimal import minimal_nodes
from discreet.release.anonymize.problem import Population, Problem

METRICS = [*metrics.METRICS.values(), metrics.classification(0)]


def attribute(name: str, levels: list[list[int]], weight: float = 1.0) -> CodedAttribute:
    groups = tuple(np.array(level, dtype=np.int64) for level in levels)
    size = len(groups[0])
    shares = tuple(np.bincount(level) / size for level in groups)
    return CodedAttribute(name, groups, shares, 1 / size, weight)


def nested(size: int, cuts: list[int]) -> list[list[int]]:
    """Levels that put runs of neighbors together, ever fewer, the last one everything."""
    levels = [list(range(size))]
    for width in np.cumprod([1 + cut for cut in cuts]):
        level = [value // int(width) for value in range(size)]
        if level[-1] > 0:
            levels.append(level)
    return [*levels, [0] * size]


def table_of(rows: np.ndarray, values: np.ndarray, units: np.ndarray | None) -> Frequencies:
    """The frequencies of rows of codes with one sensitive value each."""
    codes, owners = np.unique(rows, axis=0, return_inverse=True)
    owners = owners.reshape(-1).astype(np.int64)
    counts = np.ones(len(rows), dtype=np.int64)
    loose = Frequencies(
        codes.astype(np.int32),
        np.bincount(owners).astype(np.int64),
        (Histogram(owners, values, counts, units),),
        None if units is None else (owners, units),
    )
    return loose.merge(np.arange(len(codes)), len(codes))


CRITERIA = st.lists(
    st.one_of(
        st.integers(1, 4).map(model.KAnonymity),
        st.integers(1, 3).map(lambda l: model.LDiversity("s", l, "distinct")),
        st.sampled_from([1.0, 1.5, 2.0]).map(lambda l: model.LDiversity("s", l, "entropy")),
        st.sampled_from([1.0, 1.5, 2.0]).map(lambda l: model.LDiversity("s", l, "probabilistic")),
        st.sampled_from([1.0, 2.0]).map(lambda c: model.LDiversity("s", 2, "recursive", c)),
        st.sampled_from([0.0, 0.2, 0.4, 0.7]).map(lambda t: model.TCloseness("s", t, "equal")),
        st.sampled_from([0.1, 0.3]).map(lambda t: model.TCloseness("s", t, "ordered")),
        st.sampled_from([0.5, 0.8]).map(lambda alpha: model.AlphaK("s", alpha, 2)),
        st.sampled_from([0.5, 1.0]).map(lambda beta: model.BetaLikeness("s", beta)),
    ),
    min_size=1,
    max_size=2,
)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    attributes = tuple(
        attribute(
            f"q{j}",
            nested(size, draw(st.lists(st.integers(1, 2), max_size=2))),
            draw(st.sampled_from([1.0, 0.5, 2.0])),
        )
        for j, size in enumerate(sizes)
    )
    count = draw(st.integers(1, 30))
    row = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    rows = np.array(draw(st.lists(row, min_size=count, max_size=count))).reshape(count, -1)
    values = np.array(draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)))
    values = np.unique(values, return_inverse=True)[1].astype(np.int64)
    units = None
    if draw(st.booleans()):
        units = np.array(draw(st.lists(st.integers(0, 12), min_size=count, max_size=count)))
    shares = np.bincount(values) / count
    judge = Judge(
        tuple(draw(CRITERIA)),
        ("s",),
        (Overall(shares, ranks=np.arange(len(shares))),),
        units is not None,
    )
    limit = draw(st.sampled_from([0, 0, count // 10, count // 4, count]))
    return Problem(table_of(rows, values, units), attributes, judge, limit)


def outcome(problem: Problem, node: tuple[int, ...]) -> recoding.Recoding:
    """The recoding at a node, by the plain definition."""
    labels, count = recoding.generalize(problem, node)
    held = problem.judge.holds(problem.table, labels, count)
    return recoding.at_node(problem, node, ~held[labels])


def every_node(problem: Problem) -> list[tuple[int, ...]]:
    return list(product(*(range(height + 1) for height in problem.heights)))


def solutions(problem: Problem) -> list[tuple[int, ...]]:
    return [
        node
        for node in every_node(problem)
        if recoding.suppressed_rows(problem, outcome(problem, node)) <= problem.limit
    ]


def plain_score(problem: Problem, node: tuple[int, ...], name: str) -> float:
    """The score of a node, by the plain definition, row by row."""
    found = outcome(problem, node)
    rows = np.repeat(np.arange(len(problem.table)), problem.table.rows)
    classes = found.classes[rows]
    total, lost = len(rows), int((classes < 0).sum())
    sizes = np.bincount(classes[classes >= 0], minlength=len(found))
    losses = recoding.attribute_losses(problem, found)
    relative = [
        (total - lost) / total * level / height + lost / total if height else 0.0
        for level, height in zip(node, problem.heights, strict=True)
    ]
    return {
        "loss": lambda: recoding.loss(problem, found),
        "geometric-loss": lambda: float(np.prod((losses + 1) ** problem.weights)) - 1,
        "precision": lambda: float(problem.weights @ relative),
        "height": lambda: float(sum(node)),
        "entropy": lambda: float(problem.weights @ _bits(problem, node, rows, classes < 0)),
        "monotone-entropy": lambda: float(
            _bits(problem, node, rows, np.zeros(total, dtype=bool)).sum()
        ),
        "discernibility": lambda: float((sizes**2).sum() + total * lost),
        "class-size": lambda: total / (len(sizes) + (lost > 0)),
        "classification": lambda: (total - _majority(problem, found)) / total,
    }[name]()


def _bits(problem: Problem, node: tuple[int, ...], rows: np.ndarray, lost: np.ndarray):
    bits = np.zeros(len(node))
    for j, level in enumerate(node):
        codes = problem.table.codes[rows, j]
        groups = problem.attributes[j].groups[level][codes]
        own = np.bincount(codes)[codes] / np.bincount(groups)[groups]
        hidden = groups[lost]
        gone = np.bincount(hidden)[hidden] / max(len(hidden), 1)
        bits[j] = -np.log2(own).sum() - np.log2(gone).sum()
    return bits


def _majority(problem: Problem, found: recoding.Recoding) -> int:
    histogram = problem.table.histograms[0]
    classes = found.classes[histogram.owners]
    kept = classes >= 0
    if not kept.any():
        return 0
    counts = np.zeros((len(found), int(histogram.codes.max()) + 1), dtype=np.int64)
    np.add.at(counts, (classes[kept], histogram.codes[kept]), histogram.counts[kept])
    return int(counts.max(axis=1).sum())


@given(problem=problems(), metric=st.sampled_from(METRICS))
@settings(max_examples=120)
def test_the_search_finds_the_score_of_brute_force(problem: Problem, metric: metrics.Metric):
    assume(metric.name != "classification" or problem.table.people is None)
    possible = solutions(problem)
    if not possible:
        with pytest.raises(CriteriaUnreachable):
            full_domain.search(problem, metric=metric)
        return
    found = full_domain.search(problem, metric=metric)
    node = tuple(found.notes["node"].values())
    scores = {one: plain_score(problem, one, metric.name) for one in possible}
    least = min(scores.values())
    assert found.notes["optimal"]
    assert found.notes["score"] == pytest.approx(least, rel=1e-9, abs=1e-9)
    best = [one for one, score in scores.items() if score <= least + 1e-9 * max(1, least)]
    assert node == min(best, key=lambda one: (sum(one), one))
    assert np.array_equal(found.classes, outcome(problem, node).classes)


@given(problem=problems())
@settings(max_examples=50)
def test_the_score_is_the_loss_of_the_recoding(problem: Problem):
    assume(solutions(problem))
    found = full_domain.search(problem)
    assert found.notes["score"] == pytest.approx(recoding.loss(problem, found), abs=1e-12)
    assert recoding.suppressed_rows(problem, found) <= problem.limit


@given(problem=problems(), metric=st.sampled_from(METRICS))
@settings(max_examples=60)
def test_a_lattice_too_large_to_hold_has_the_same_optimum(problem: Problem, metric: metrics.Metric):
    assume(metric.name != "classification" or problem.table.people is None)
    assume(solutions(problem))
    held = full_domain.search(problem, metric=metric)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(full_domain, "HELD_NODES", 0)
        found = full_domain.search(problem, metric=metric, seconds=1000)
    assert found.notes["optimal"]
    assert found.notes["score"] == pytest.approx(held.notes["score"], rel=1e-9, abs=1e-12)


@given(problem=problems(), metric=st.sampled_from(METRICS), steps=st.integers(0, 40))
@settings(max_examples=60)
def test_a_search_out_of_time_is_within_its_gap_of_the_optimum(
    problem: Problem, metric: metrics.Metric, steps: int
):
    assume(metric.name != "classification" or problem.table.people is None)
    assume(problem.heights in solutions(problem))
    held = full_domain.search(problem, metric=metric)
    ticks = iter(range(10_000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(full_domain, "HELD_NODES", 0)
        found = full_domain.search(
            problem, metric=metric, seconds=steps, clock=lambda: float(next(ticks))
        )
    optimum = held.notes["score"]
    assert found.notes["score"] - found.notes["gap"] <= optimum + 1e-9 * max(1, optimum)
    assert found.notes["score"] >= optimum - 1e-9 * max(1, optimum)


@given(problem=problems())
@settings(max_examples=80)
def test_minimal_nodes_hold_and_nothing_below_them_does(problem: Problem):
    possible = solutions(problem)
    minimal = {
        node
        for node in possible
        if not any(
            other != node and all(a <= b for a, b in zip(other, node, strict=True))
            for other in possible
        )
    }
    found = minimal_nodes(problem)
    assert found == sorted(minimal, key=lambda node: (sum(node), node))


@given(problem=problems(), data=st.data())
@settings(max_examples=80)
def test_criteria_about_a_population_are_met_at_every_node(problem: Problem, data: st.DataObject):
    rows = [tuple(map(int, row)) for row in problem.table.codes]
    sizes = [attribute.size for attribute in problem.attributes]
    others = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    around = {row: data.draw(st.integers(0, 6)) for row in rows + data.draw(st.lists(others))}
    population = Population(
        np.array(list(around), dtype=np.int32), np.array(list(around.values()), dtype=np.int64)
    )
    criterion = data.draw(
        st.one_of(
            st.integers(1, 6).map(model.KMap),
            st.sampled_from([(0.0, 0.5), (0.0, 0.9), (0.1, 0.9), (0.3, 1.0)]).map(
                lambda pair: model.DeltaPresence(*pair)
            ),
        )
    )
    judge = replace(problem.judge, criteria=(*problem.judge.criteria, criterion))
    problem = replace(problem, judge=judge, population=population)
    scores = [
        recoding.loss(problem, found)
        for node in every_node(problem)
        if (found := _with_population(problem, node, criterion)) is not None
    ]
    if not scores:
        with pytest.raises(CriteriaUnreachable):
            full_domain.search(problem)
        return
    assert full_domain.search(problem).notes["score"] == pytest.approx(min(scores), abs=1e-9)


def _with_population(
    problem: Problem, node: tuple[int, ...], criterion: model.KMap | model.DeltaPresence
) -> recoding.Recoding | None:
    """The recoding at a node, None when it is no solution, by the plain definition."""
    table, people = problem.table, problem.population
    assert people is not None
    codes = np.concatenate([table.codes, people.codes])
    labels, count = label_rows(
        [
            (attribute.groups[level][codes[:, j]], attribute.cardinalities[level])
            for j, (attribute, level) in enumerate(zip(problem.attributes, node, strict=True))
        ]
    )
    own, members = labels[: len(table)], labels[len(table) :]
    among = np.bincount(members, weights=people.people, minlength=count)
    there, groups = recoding.generalize(problem, node)
    held = problem.judge.holds(table, there, groups)[there]
    sizes = table.sizes(there, groups)[there]
    if isinstance(criterion, model.KMap):
        held &= among[own] >= criterion.k
    else:
        with np.errstate(divide="ignore"):
            chance = np.where(among[own] > 0, sizes / among[own], np.inf)
        held &= (chance >= criterion.lower - 1e-9) & (chance <= criterion.upper + 1e-9)
        published = np.zeros(count, dtype=bool)
        published[own[held]] = True
        if criterion.lower > 0 and not published[among > 0].all():
            return None
    if int(table.rows[~held].sum()) > problem.limit:
        return None
    return recoding.at_node(problem, node, ~held)


def test_a_table_without_rows_is_recoded_to_nothing():
    empty = Frequencies(np.empty((0, 1), dtype=np.int32), np.empty(0, dtype=np.int64))
    problem = Problem(
        empty, (attribute("q", [[0, 1], [0, 0]]),), Judge((model.KAnonymity(2),)), limit=0
    )
    assert len(full_domain.search(problem)) == 0


def test_classification_is_refused_where_people_have_several_rows():
    table = table_of(np.array([[0], [0]]), np.array([0, 1]), np.array([0, 0]))
    judge = Judge((model.KAnonymity(1),), ("s",), (Overall(np.array([0.5, 0.5])),), has_units=True)
    problem = Problem(table, (attribute("q", [[0], [0]]),), judge)
    with pytest.raises(WrongUsage, match="several"):
        full_domain.search(problem, metric=metrics.classification(0))


def test_progress_reports_how_many_nodes_were_checked():
    rows = np.array([[0], [1], [1]])
    values = np.zeros(3, dtype=np.int64)
    problem = Problem(
        table_of(rows, values, None),
        (attribute("q", [[0, 1], [0, 0]]),),
        Judge((model.KAnonymity(2),)),
        limit=1,
    )
    result: list[tuple[str, int, int]] = []
    found = full_domain.search(problem, progress=lambda *step: result.append(step))
    assert result[-1] == ("nodes", found.notes["checked"], 2)
