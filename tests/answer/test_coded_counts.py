"""Counts of coded rows: those of arrays, with each unit bounded, on every engine, and nothing else leaves it."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp
from tests.answer.curators import hold

from discreet.answer.coded_counts import CodedCounter, cover_marginals
from discreet.answer.sources import scan_table
from discreet.domain.code_tree import CodeSplit, CodeTree
from discreet.errors import QuestionRefused

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = [3, 5, 200]
POLICY = """
tables:
  visits:
    unit: {unit}
    limits: {{rows-per-unit: 4}}
    columns: {{person: {{role: identifier, kind: integer}}, day: {{role: sensitive, kind: date}}, a: sensitive,
      b: sensitive, c: sensitive}}
"""
MAPS = [np.array([0, 1, 1]), np.array([2, 0, 0, 1, 2]), np.repeat([1, 0, 2, 1], 50)]
WANTED = [(0,), (2, 0), (0, 1, 2), (1, 0)]


def code(cell: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=cell, expressions=[exp.Literal.number(0)])


COLUMNS = [(name, code, size) for name, size in zip("abc", SIZES, strict=True)]


def make_visits(count: int) -> pa.Table:
    chance = np.random.default_rng(5)
    days = np.datetime64("2024-01-01") + chance.integers(0, 90, count)
    person = [None if one == 7 else int(one) for one in chance.integers(0, 15, count)]
    codes = {name: chance.integers(0, size, count) for name, size in zip("abc", SIZES, strict=True)}
    return pa.table({"person": pa.array(person, pa.int64()), "day": days, **codes})


def add_up(
    visits: pa.Table, factors: np.ndarray[Any, Any], maps: Any = None
) -> list[np.ndarray[Any, Any]]:
    """Return the counts that rows with these factors have."""
    codes = [visits.column(name).to_numpy() for name in "abc"]
    sizes = SIZES
    if maps is not None:
        codes = [one[values] for one, values in zip(maps, codes, strict=True)]
        sizes = [int(one.max()) + 1 for one in maps]
    found = []
    for some in WANTED:
        counts = np.zeros([sizes[one] for one in some], np.int64)
        np.add.at(counts, tuple(codes[one] for one in some), factors)
        found.append(counts)
    return found


def unit_factors(units: list[Any]) -> np.ndarray[Any, Any]:
    rows = Counter(units)
    one = 2**15
    return np.array(
        [0 if unit is None else min(one, 4 * one // rows[unit]) for unit in units], np.int64
    )


def open_counter(curator: Any) -> CodedCounter:
    held = curator.catalog.find("visits")
    return CodedCounter(scan_table(held, "visits"), COLUMNS, curator.engine)


@pytest.fixture(
    params=["duckdb", pytest.param("postgresql", marks=pytest.mark.postgres)], scope="module"
)
def engine(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "duckdb":
        from discreet.engines.duckdb import DuckDB

        opened: Any = DuckDB()
    else:
        from discreet.engines.postgres.engine import PostgreSQL

        opened = PostgreSQL(request.getfixturevalue("postgres_url"))
    yield opened
    opened.close()


def require_equal(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == np.int64
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("maps", [None, MAPS], ids=["fine", "coarse"])
def test_counts_are_those_of_the_rows(engine, maps):
    visits = make_visits(300)
    policy = POLICY.format(unit="row")
    counter = open_counter(hold({"visits": visits}, policy, engine=engine))
    require_equal(counter.count(WANTED, maps), add_up(visits, np.ones(300, np.int64), maps))
    assert (counter.one, counter.sensitivity) == (1, 1)
    counter.close()


@pytest.mark.parametrize("maps", [None, MAPS], ids=["fine", "coarse"])
@pytest.mark.parametrize("unit", ["person", "{column: person, per: month, on: day}"])
def test_each_row_of_a_person_with_many_counts_for_less(engine, maps, unit):
    visits = make_visits(300)
    counter = open_counter(hold({"visits": visits}, POLICY.format(unit=unit), engine=engine))
    people = visits.column("person").to_pylist()
    if unit != "person":
        months = [day.month for day in visits.column("day").to_pylist()]
        people = [
            None if one is None else (one, month) for one, month in zip(people, months, strict=True)
        ]
    require_equal(counter.count(WANTED, maps), add_up(visits, unit_factors(people), maps))
    assert (counter.one, counter.sensitivity) == (2**15, 4 * 2**15)
    counter.close()


@pytest.mark.parametrize("cuts", [[-600, 0, 150], [-96, -32, 32, 96]], ids=["uneven", "even"])
@pytest.mark.parametrize("unit", ["row", "person"])
def test_rows_are_counted_by_their_score(engine, unit, cuts):
    visits = make_visits(300)
    counter = open_counter(hold({"visits": visits}, POLICY.format(unit=unit), engine=engine))
    weights = [np.array([-700, 0, 90]), np.array([5, 5, -60, 0, 1]), np.arange(200) * 3 - 200]
    scores = sum(
        one[visits.column(name).to_numpy()] for one, name in zip(weights, "abc", strict=True)
    )
    factors = np.ones(300, np.int64)
    if unit == "person":
        factors = unit_factors(visits.column("person").to_pylist())
    for changed in (0, 40):
        weights[1] = weights[1] + changed
        expected = np.zeros((len(cuts) + 1, 5), np.int64)
        buckets = np.searchsorted(cuts, scores + changed, side="right")
        np.add.at(expected, (buckets, visits.column("b").to_numpy()), factors)
        np.testing.assert_array_equal(counter.count_scored(weights, cuts, [(1,)])[0], expected)
    counter.close()


@pytest.mark.parametrize("unit", ["row", "person"])
def test_rows_are_counted_by_the_leaves_of_trees(any_engine, unit):
    visits = make_visits(300)
    counter = open_counter(hold({"visits": visits}, POLICY.format(unit=unit), engine=any_engine))
    codes = np.stack([visits.column(name).to_numpy() for name in "abc"], axis=1)
    trees = [
        CodeTree((CodeSplit(2, (0, 90), (1, 2)), CodeSplit(1, (0, 1, 3), (3, 4, 3)), *[None] * 3)),
        CodeTree((None,)),
    ]
    factors = np.ones(300, np.int64)
    if unit == "person":
        factors = unit_factors(visits.column("person").to_pylist())
    looks = [(trees[0], (0, 1)), (trees[0], (2,)), (trees[1], (0,)), (trees[1], ())]
    found = counter.count_by_leaf(looks)
    for counts, (tree, some) in zip(found, looks, strict=True):
        expected = np.zeros([len(tree.leaves), *(SIZES[one] for one in some)], np.int64)
        np.add.at(expected, (tree.find_leaves(codes), *codes[:, some].T), factors)
        np.testing.assert_array_equal(counts, expected)
    counter.close()


@pytest.mark.parametrize("unit", ["row", "person"])
def test_rows_are_counted_by_their_nearest_center(any_engine, unit):
    visits = make_visits(300)
    counter = open_counter(hold({"visits": visits}, POLICY.format(unit=unit), engine=any_engine))
    codes = np.stack([visits.column(name).to_numpy() for name in "abc"], axis=1)
    chance = np.random.default_rng(3)
    lines = np.arange(200)[:, None] * np.array([-3, 0, 4]) + np.array([300, 0, -400])
    distances = [chance.integers(-200, 200, (3, 3)), None, lines]
    total = distances[0][codes[:, 0]] + distances[2][codes[:, 2]]
    expected = np.zeros((3, 5), np.int64)
    factors = np.ones(300, np.int64)
    if unit == "person":
        factors = unit_factors(visits.column("person").to_pylist())
    np.add.at(expected, (total.argmin(axis=1), codes[:, 1]), factors)
    np.testing.assert_array_equal(counter.count_by_center(distances, [(1,)])[0], expected)
    counter.close()


@pytest.mark.parametrize("scores", [1, 3])
def test_rows_are_counted_by_what_leaves_weigh_together(any_engine, scores):
    visits = make_visits(300)
    held = hold({"visits": visits}, POLICY.format(unit="person"), engine=any_engine)
    counter = open_counter(held)
    codes = np.stack([visits.column(name).to_numpy() for name in "abc"], axis=1)
    trees = [
        CodeTree((CodeSplit(2, (0, 90), (1, 2)), CodeSplit(1, (0, 1, 3), (3, 4, 3)), *[None] * 3)),
        CodeTree((CodeSplit(0, (0, 1), (1, 2)), None, None)),
    ]
    chance = np.random.default_rng(5)
    weights = [chance.integers(-99, 99, (len(tree.leaves), scores)) for tree in trees]
    cuts = [-50, 0, 1, 60]
    total = sum(one[tree.find_leaves(codes)] for tree, one in zip(trees, weights, strict=True))
    places = np.searchsorted(cuts, total[:, 0], side="right") if scores == 1 else total.argmax(1)
    expected = np.zeros((5 if scores == 1 else scores, 5), np.int64)
    factors = unit_factors(visits.column("person").to_pylist())
    np.add.at(expected, (places, codes[:, 1]), factors)
    found = counter.count_by_forest(trees, weights, cuts, [(1,)])
    np.testing.assert_array_equal(found[0], expected)
    counter.close()


def test_rows_that_are_registered_count_by_their_rank():
    visits = pa.table({"person": [1] * 6, "rank": [1, 2, 3, 4, 5, 6], "a": [0, 1, 2, 0, 1, 2]})
    policy = "tables: {visits: {unit: person, limits: {rows-per-unit: 4}, columns: {person: identifier}}}"
    curator = hold({"visits": visits}, policy, ranks={"visits": "rank"})
    rows = scan_table(curator.catalog.find("visits"), "visits")
    counter = CodedCounter(rows, COLUMNS[:1], curator.engine)
    assert (counter.one, counter.sensitivity) == (1, 4)
    assert counter.count([(0,)], None)[0].tolist() == [2, 1, 1]


def test_a_person_with_any_number_of_rows_is_refused_before_a_row_is_read():
    policy = POLICY.format(unit="person").replace("limits: {rows-per-unit: 4}", "limits: {}")
    curator = hold({"visits": make_visits(20)}, policy)
    with pytest.raises(QuestionRefused, match="rows-per-unit"):
        open_counter(curator)
    assert curator.engine.queries == []


def test_only_counts_of_cells_leave_the_engine():
    curator = hold({"visits": make_visits(300)}, POLICY.format(unit="person"))
    counter = open_counter(curator)
    counter.count(WANTED, None)
    counter.count(WANTED, MAPS)
    assert curator.engine.queries
    assert all(query.args.get("group") for query in curator.engine.queries)
    relation = counter.store_rows()
    assert [column.name for column in curator.engine.columns(relation)][:3] == ["c0", "c1", "c2"]
    counter.close()


def test_an_empty_table_has_counts_of_zero():
    counter = open_counter(hold({"visits": make_visits(0)}, POLICY.format(unit="row")))
    assert [int(counts.sum()) for counts in counter.count(WANTED, None)] == [0, 0, 0, 0]


@given(
    st.lists(st.integers(1, 90), min_size=1, max_size=7).flatmap(
        lambda sizes: st.tuples(
            st.just(sizes),
            st.lists(
                st.sets(st.integers(0, len(sizes) - 1), min_size=1, max_size=3).map(
                    lambda some: tuple(sorted(some))
                ),
                max_size=20,
            ),
        )
    )
)
def test_every_marginal_is_part_of_a_block_and_blocks_are_small(case):
    sizes, wanted = case
    blocks = cover_marginals(wanted, sizes, most_cells=1000)
    assert all(any(set(block) >= set(some) for block in blocks) for some in wanted)
    assert len(blocks) <= len(set(wanted))
    large = [block for block in blocks if np.prod([sizes[one] for one in block]) > 1000]
    assert set(large) <= set(wanted)


def test_all_pairs_of_many_columns_need_few_looks():
    pairs = list(itertools.combinations(range(12), 2))
    assert len(cover_marginals(pairs, [4] * 12, most_cells=4096)) <= 8
