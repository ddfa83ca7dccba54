"""What a clearance sees: labels of NULLs, composite keys, compartments, and no error from what is hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlglot import exp, parse_one
from tests.guard.levels.world import employees, relation

from discreet.errors import StatementFailed
from discreet.guard.levels.read import read_at_clearance
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.guard.levels.world import World


@pytest.fixture
def smith(found: Callable[..., World]) -> World:
    """Smith with a version that only Secret sees, besides the one that Classified wrote."""
    world = found()
    world.add(employees())
    world.run("U", "INSERT INTO employee (name) VALUES ('Smith')")
    world.run("S", "UPDATE employee SET perf = 'Fair'")
    world.run("C", "UPDATE employee SET perf = 'Great'")
    return world


def test_nulls_have_the_label_of_the_key_when_so_set(smith: World):
    smith.null_label = "key"
    assert smith.show("C") == {"Smith U | - U | Great C | C"}
    assert smith.show("U") == {"Smith U | - U | - U | U"}


def test_a_null_that_hides_looks_like_a_null_that_was_never_written(smith: World):
    smith.run("U", "INSERT INTO employee (name) VALUES ('Jones')")
    rows = {row[0]: row[1:] for row in smith.see("U")}
    assert rows["Smith"] == rows["Jones"]


def test_a_row_that_says_less_is_dropped(smith: World):
    assert len(smith.stored()) == 2
    assert len(smith.see("C")) == 1


@pytest.mark.parametrize(
    "condition",
    [
        "CASE WHEN perf IS NULL THEN 1 / (LENGTH(name) - 5) ELSE 1 END = 1",
        "1 / (CASE WHEN perf IS NULL THEN 0 ELSE 1 END) = 1",
        "CAST(CASE WHEN perf IS NULL THEN 'x' ELSE '1' END AS INTEGER) = 1",
        "CAST(CASE WHEN perf = 'Fair' THEN 'x' ELSE '1' END AS INTEGER) = 1",
    ],
)
def test_no_error_comes_from_a_row_or_cell_that_is_not_seen(smith: World, condition: str):
    seen = smith.relations["public", "employee"]
    query = read_at_clearance(seen, smith.lattice, smith.lattice.label("C"))
    asked = exp.select(exp.Star()).from_(build.subquery(query, "employee"))
    wanted = parse_one(condition, dialect="postgres")
    assert smith.connection.query(asked.where(wanted)).num_rows == 1
    assert smith.run("C", f"UPDATE employee SET salary = 1 WHERE {condition}") == 1
    assert smith.run("C", f"DELETE FROM employee WHERE {condition}") == 1


def test_an_error_of_a_row_that_is_seen_is_an_error(smith: World):
    query = "UPDATE employee SET salary = 1 WHERE CAST(perf AS INTEGER) = 1"
    with pytest.raises(StatementFailed):
        smith.transact(lambda: smith.perform("C", query))


def test_only_the_wanted_labels_are_shown(smith: World):
    seen = smith.relations["public", "employee"]
    query = read_at_clearance(seen, smith.lattice, smith.lattice.label("C"), system=["perf_label"])
    assert smith.connection.query(query).column_names == ["name", "salary", "perf", "perf_label"]


def test_labels_can_be_asked_for_in_conditions(smith: World):
    assert smith.run("S", "DELETE FROM employee WHERE perf_label = 'S' AND tc = 'S'") == 1
    assert smith.show("S") == {"Smith U | - S | Great C | S"}


def test_compartments_are_read_and_written_as_sets(found: Callable[..., World]):
    world = found("U < S | nato, crypto")
    world.add(employees())
    world.run("U", "INSERT INTO employee (name) VALUES ('Smith')")
    world.run("S {nato}", "UPDATE employee SET salary = 1")
    world.run("S {crypto}", "UPDATE employee SET perf = 'Fair'")
    assert world.show("S") == {"Smith U | - S | - S | S"}
    assert world.show("S {nato}") == {"Smith U | 1 S {nato} | - S {nato} | S {nato}"}
    assert world.show("S {nato,crypto}") == {
        "Smith U | 1 S {nato} | - S {crypto,nato} | S {crypto,nato}",
        "Smith U | - S {crypto,nato} | Fair S {crypto} | S {crypto,nato}",
    }
    world.null_label = "key"
    assert world.show("S {nato,crypto}") == {
        "Smith U | 1 S {nato} | - U | S {nato}",
        "Smith U | - U | Fair S {crypto} | S {crypto}",
    }


def test_a_key_of_several_columns_has_one_label(found: Callable[..., World]):
    world = found()
    world.add(
        relation(
            "visit",
            {"place": "text", "day": "date", "note": "text"},
            primary_key=("place", "day"),
        )
    )
    world.run("C", "INSERT INTO visit VALUES ('Rome', '2020-01-01', NULL)")
    world.run("S", "UPDATE visit SET note = 'met'")
    assert world.run("C", "INSERT INTO visit (place, day) VALUES ('Rome', '2020-01-02')") == 1
    assert world.show("S", "visit") == {
        "Rome C | 2020-01-01 C | met S | S",
        "Rome C | 2020-01-02 C | - S | S",
    }
    assert world.show("U", "visit") == set()


def test_a_relation_may_have_nothing_but_a_key(found: Callable[..., World]):
    world = found()
    world.add(relation("word", {"w": "text"}))
    assert world.run("C", "INSERT INTO word VALUES ('a'), ('b')") == 2
    assert world.run("C", "DELETE FROM word WHERE w = 'a'") == 1
    assert world.run("S", "DELETE FROM word") == 0
    assert world.show("S", "word") == {"b C | C"}
