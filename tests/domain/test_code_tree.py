"""A tree over codes sends rows to the same leaves in Python and on an engine; what is no tree is refused."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain.code_lookup import find_smallest, look_up_line
from discreet.domain.code_tree import DEEPEST, CodeSplit, CodeTree
from discreet.engines.duckdb import DuckDB
from discreet.sql import build

SIZES = [4, 7]
TREE = CodeTree(
    (
        CodeSplit(0, (0, 1, 2, 3), (1, 2, 1, 3)),
        CodeSplit(1, (0, 4), (4, 5)),
        None,
        CodeSplit(1, (0, 1, 5), (6, 7, 8)),
        *[None] * 5,
    )
)
ROWS = np.stack(np.meshgrid(*(np.arange(size) for size in SIZES), indexing="ij"), -1).reshape(-1, 2)


def walk(tree, row):
    node = 0
    while (split := tree.splits[node]) is not None:
        node = split.spread(SIZES[split.column])[row[split.column]]
    return tree.leaves.index(node)


def test_rows_fall_into_the_leaf_that_a_walk_ends_at():
    assert TREE.find_leaves(ROWS).tolist() == [walk(TREE, row) for row in ROWS]
    assert TREE.depth == 2


def test_an_engine_finds_the_same_leaves():
    engine = DuckDB()
    stored = engine.load(
        pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1], "n": range(len(ROWS))}).to_reader()
    )
    leaf = TREE.leaf_expression([build.column("a"), build.column("b")])
    query = build.select(build.alias_as(leaf, "leaf"), build.column("n"), source=stored)
    assert engine.run(query).sort_by("n")["leaf"].to_pylist() == TREE.find_leaves(ROWS).tolist()
    engine.close()


def test_a_tree_is_read_as_it_was_written():
    assert CodeTree.from_content(TREE.to_content(), SIZES) == TREE


CHAIN = [[0, [0, 1], [one, one + 1]] for one in range(1, 2 * DEEPEST + 4, 2)]
DEEP = [entry for one in CHAIN for entry in (None, one)][1:]


@pytest.mark.parametrize(
    "content",
    [
        [],
        [[0, [0, 1], [0, 1]], None],
        [[0, [0, 1], [2, 1]], [1, [0, 1], [2, 3]], None, None],
        [[0, [0, 1], [1, 1]], None],
        [[0, [0, 1], [1, 2]], None, None, None],
        [[0, [0, 1], [1, 9]], None, None],
        [[2, [0, 1], [1, 2]], None, None],
        [[-1, [0, 1], [1, 2]], None, None],
        [[0, [0, 4], [1, 2]], None, None],
        [[0, [1, 2], [1, 2]], None, None],
        [[0, [0, 0], [1, 2]], None, None],
        [[0, [0], [1, 2]], None, None],
        [[0, [0, 1], [1, 2.0]], None, None],
        [[0, [0, True], [1, 2]], None, None],
        [[0, [], []]],
        ["x"],
        [{}],
        [None] * 10_000,
        [*DEEP, None, None],
    ],
)
def test_what_is_no_tree_is_refused(content):
    with pytest.raises((ValueError, TypeError)):
        CodeTree.from_content(content, SIZES)


@given(values=st.lists(st.integers(-5, 5), min_size=1, max_size=12))
@settings(max_examples=20, deadline=None)
def test_a_line_is_looked_up_as_its_values(values):
    tree = look_up_line(build.column("c"), np.array(values))
    found = duckdb.sql(
        f"SELECT {tree.sql('duckdb')} AS v FROM (SELECT unnest(range({len(values)})) AS c) ORDER BY c"
    ).fetchall()
    assert [one for (one,) in found] == values


def test_the_first_of_the_smallest_is_found():
    tree = find_smallest([build.column(name) for name in "abc"])
    found = duckdb.sql(
        f"SELECT {tree.sql('duckdb')} FROM (VALUES (1, 1, 0), (1, 1, 1), (2, 1, 1), (3, 2, 2)) t(a, b, c)"
    ).fetchall()
    assert [one for (one,) in found] == [2, 0, 1, 1]
