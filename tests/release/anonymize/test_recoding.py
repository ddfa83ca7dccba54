"""Labels cover their members, no more than they must, and cost what the definition says."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.engines.duckdb import DuckDB
from discreet.measure.classes import group_cells
from discreet.measure.roles import bind_roles
from discreet.policy import model
from discreet.policy.hierarchies.tree import build_taxonomy
from discreet.policy.model import ColumnPolicy, ColumnRole
from discreet.release.anonymize.read import read_problem
from discreet.release.anonymize.recoding import (
    SUPPRESSED,
    at_node,
    attribute_losses,
    generalize,
    loss,
    suppressed_rows,
    tighten_labels,
)

TREE = build_taxonomy({"cold": ["ice", "snow"], "warm": {"dry": ["sand"], "wet": ["rain", "mud"]}})
VALUES = ("ice", "snow", "sand", "rain", "mud")
ROWS = [(value, pay) for value in VALUES for pay in (1, 2, 4, 9, None)]


@pytest.fixture(scope="module")
def problem():
    """Every combination of five values in a tree of three levels and of five numbers, once."""
    engine = DuckDB()
    rows = pa.table({"soil": [row[0] for row in ROWS], "pay": [row[1] for row in ROWS]})
    table = engine.table(engine.load(rows.to_reader()), label="rows")
    columns = (
        ColumnPolicy("soil", ColumnRole.QUASI_IDENTIFIER, hierarchy=TREE),
        ColumnPolicy("pay", ColumnRole.QUASI_IDENTIFIER),
    )
    policy = model.TablePolicy("rows", columns)
    bound = bind_roles(table, policy=policy)
    reading = read_problem(group_cells(bound.subject), bound, [model.KAnonymity(1)])
    yield reading.problem
    engine.close()


CLASSES = st.lists(st.integers(-1, 4), min_size=len(ROWS), max_size=len(ROWS)).map(np.array)


@given(CLASSES)
def test_a_class_covers_its_members_and_no_lower_label_does(problem, classes):
    recoding = tighten_labels(problem, classes)
    soil, pay = problem.attributes
    for index in range(len(recoding)):
        codes = problem.table.codes[recoding.classes == index]
        level, low = recoding.levels[index, 0], recoding.lows[index, 0]
        assert set(soil.groups[level][codes[:, 0]]) == {low}
        if level:
            assert len(set(soil.groups[level - 1][codes[:, 0]])) > 1
        if recoding.levels[index, 1] == pay.height:
            assert {4} < set(codes[:, 1].tolist())  # a missing value beside others
        else:
            assert recoding.lows[index, 1] == codes[:, 1].min()
            assert recoding.highs[index, 1] == codes[:, 1].max()


@given(CLASSES)
def test_loss_is_the_mean_share_of_the_domain(problem, classes):
    recoding = tighten_labels(problem, classes)
    expected = []
    for row, own in enumerate(recoding.classes):
        if own == SUPPRESSED:
            expected.append((1.0, 1.0))
            continue
        level, low = recoding.levels[own, 0], recoding.lows[own, 0]
        covered = np.count_nonzero(problem.attributes[0].groups[level] == low)
        wide = recoding.highs[own, 1] - recoding.lows[own, 1] + 1
        hidden = recoding.levels[own, 1] == problem.attributes[1].height
        # Four values of pay, and the missing one.
        expected.append(((covered - 1) / 4, 1.0 if hidden else (wide - 1) / 4))
        assert row >= 0
    assert np.allclose(attribute_losses(problem, recoding), np.mean(expected, axis=0))
    assert np.isclose(loss(problem, recoding), np.mean(expected))
    assert suppressed_rows(problem, recoding) == np.count_nonzero(classes == -1)


@given(CLASSES, st.permutations(range(5)))
def test_the_numbers_of_classes_do_not_matter(problem, classes, renumbered):
    other = np.where(classes < 0, classes, np.array(renumbered)[classes])
    first, second = tighten_labels(problem, classes), tighten_labels(problem, other)
    assert np.array_equal(first.classes, second.classes)
    assert np.array_equal(first.lows, second.lows)


@given(st.integers(0, 3), st.integers(0, 2), st.data())
def test_a_node_puts_equal_labels_into_one_class(problem, soil, pay, data):
    node = (soil, min(pay, problem.heights[1]))
    hidden = np.array(data.draw(st.lists(st.booleans(), min_size=len(ROWS), max_size=len(ROWS))))
    labels, _ = generalize(problem, node)
    hidden = hidden[labels]  # whole groups
    recoding = at_node(problem, node, hidden)
    assert np.array_equal(recoding.classes == SUPPRESSED, hidden)
    kept = ~hidden
    pairs = set(zip(labels[kept].tolist(), recoding.classes[kept].tolist(), strict=True))
    assert len(pairs) == len(recoding)
