"""Every multi-level table of the textbook: values, labels and tuple classes (C4-C10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.guard.levels.world import employees

from discreet.guard.levels.lattice import LabelLattice

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.guard.levels.world import World


@pytest.fixture
def smith_and_brown(found: Callable[..., World]) -> World:
    """The textbook's table, made by those who may write its cells."""
    world = found()
    world.add(employees())
    world.run("U", "INSERT INTO employee (name) VALUES ('Smith')")
    world.run("C", "UPDATE employee SET salary = 40000 WHERE name = 'Smith'")
    world.run("S", "UPDATE employee SET perf = 'Fair' WHERE name = 'Smith'")
    world.run("C", "INSERT INTO employee (name, perf) VALUES ('Brown', 'Good')")
    world.run("S", "UPDATE employee SET salary = 80000 WHERE name = 'Brown'")
    return world


@pytest.fixture
def four_people(found: Callable[..., World]) -> World:
    """The textbook's second table."""
    world = found("U < C < S")
    world.add(employees())
    world.run("U", "INSERT INTO employee (name, salary) VALUES ('Alice', 40000)")
    world.run("C", "UPDATE employee SET perf = 'Fair' WHERE name = 'Alice'")
    world.run("C", "INSERT INTO employee VALUES ('Bob', 80000, 'Good')")
    world.run("C", "INSERT INTO employee (name, perf) VALUES ('Carol', 'Good')")
    world.run("S", "UPDATE employee SET salary = 80000 WHERE name = 'Carol'")
    world.run("S", "INSERT INTO employee VALUES ('Dave', 80000, 'Fair')")
    return world


def test_the_table_has_the_tuple_classes_of_the_seed(smith_and_brown: World):
    assert smith_and_brown.show("S") == {
        "Smith U | 40000 C | Fair S | S",
        "Brown C | 80000 S | Good C | S",
    }


def test_at_classified_hidden_cells_are_empty_and_classified(smith_and_brown: World):
    assert smith_and_brown.show("C") == {
        "Smith U | 40000 C | - C | C",
        "Brown C | - C | Good C | C",
    }


def test_at_unclassified_only_smith_is_there(smith_and_brown: World):
    assert smith_and_brown.show("U") == {"Smith U | - U | - U | U"}


def test_at_top_secret_the_table_is_what_it_is_at_secret(smith_and_brown: World):
    assert smith_and_brown.show("TS") == smith_and_brown.show("S")


def test_four_people_at_secret_are_the_full_table(four_people: World):
    assert four_people.show("S") == {
        "Alice U | 40000 U | Fair C | C",
        "Bob C | 80000 C | Good C | C",
        "Carol C | 80000 S | Good C | S",
        "Dave S | 80000 S | Fair S | S",
    }


def test_four_people_at_classified_are_three(four_people: World):
    assert four_people.show("C") == {
        "Alice U | 40000 U | Fair C | C",
        "Bob C | 80000 C | Good C | C",
        "Carol C | - C | Good C | C",
    }


def test_four_people_at_unclassified_are_one(four_people: World):
    assert four_people.show("U") == {"Alice U | 40000 U | - U | U"}


def test_a_low_update_of_a_hidden_cell_is_invisible_polyinstantiation(smith_and_brown: World):
    assert smith_and_brown.run("C", "UPDATE employee SET perf = 'Great' WHERE name = 'Smith'") == 1
    assert smith_and_brown.show("S") == {
        "Smith U | 40000 C | Fair S | S",
        "Smith U | 40000 C | Great C | C",
        "Brown C | 80000 S | Good C | S",
    }


def test_after_it_the_low_user_sees_what_was_written(smith_and_brown: World):
    smith_and_brown.run("C", "UPDATE employee SET perf = 'Great' WHERE name = 'Smith'")
    assert "Smith U | 40000 C | Great C | C" in smith_and_brown.show("C")
    assert len(smith_and_brown.show("C")) == 2


def test_a_high_update_of_a_low_cell_is_visible_polyinstantiation(smith_and_brown: World):
    before = smith_and_brown.show("C")
    assert smith_and_brown.run("S", "UPDATE employee SET perf = 'Bad' WHERE name = 'Brown'") == 1
    assert smith_and_brown.show("S") == {
        "Smith U | 40000 C | Fair S | S",
        "Brown C | 80000 S | Good C | S",
        "Brown C | 80000 S | Bad S | S",
    }
    assert smith_and_brown.show("C") == before


def test_declassification_merges_what_a_low_update_made(smith_and_brown: World):
    smith_and_brown.run("C", "UPDATE employee SET perf = 'Great' WHERE name = 'Smith'")
    assert smith_and_brown.declassify("S", "perf", "S", "C", "name = 'Smith'") == 1
    assert smith_and_brown.show("S") == {
        "Smith U | 40000 C | Fair C | C",
        "Brown C | 80000 S | Good C | S",
    }
    assert "Smith U | 40000 C | Fair C | C" in smith_and_brown.show("C")


def test_declassification_merges_what_a_high_update_made(smith_and_brown: World):
    smith_and_brown.run("S", "UPDATE employee SET perf = 'Bad' WHERE name = 'Brown'")
    assert smith_and_brown.declassify("S", "perf", "S", "C", "name = 'Brown'") == 1
    assert smith_and_brown.show("S") == {
        "Smith U | 40000 C | Fair S | S",
        "Brown C | 80000 S | Bad C | S",
    }
    assert "Brown C | - C | Bad C | C" in smith_and_brown.show("C")


@pytest.mark.parametrize(
    ("label", "readers", "writers"),
    [
        ("Top Secret", {"Trent"}, {"Alice", "Bob", "Trent"}),
        ("Secret", {"Alice", "Trent"}, {"Alice", "Bob"}),
        ("Classified", {"Alice", "Bob", "Trent"}, {"Bob"}),
    ],
)
def test_bell_lapadula_says_who_may_read_and_who_may_write(
    label: str, readers: set[str], writers: set[str]
):
    lattice = LabelLattice.parse("Top Secret > Secret > Classified > Unclassified")
    people = {"Alice": "Secret", "Trent": "Top Secret", "Bob": "Classified"}
    cleared = {name: lattice.label(clearance) for name, clearance in people.items()}
    of = lattice.label(label)
    assert {name for name, c in cleared.items() if lattice.dominates(c, of)} == readers
    assert {name for name, c in cleared.items() if lattice.dominates(of, c)} == writers
