"""Declassification: downward only, merging what it meets, and never below the key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.guard.levels.world import employees

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.guard.levels.world import World


@pytest.fixture
def staff(found: Callable[..., World]) -> World:
    """Brown, whose key is Classified and whose performance has two versions."""
    world = found()
    world.add(employees())
    world.run("C", "INSERT INTO employee VALUES ('Brown', NULL, 'Good')")
    world.run("S", "UPDATE employee SET perf = 'Bad', salary = 80000")
    return world


def test_cells_get_the_lower_label_and_are_seen_there(staff: World):
    assert staff.declassify("S", "salary", "S", "C") == 1
    assert staff.show("C") == {"Brown C | 80000 C | - C | C", "Brown C | - C | Good C | C"}


def test_rows_that_do_not_meet_the_condition_stay(staff: World):
    assert staff.declassify("S", "perf", "S", "C", "name = 'Smith'") == 0
    assert staff.show("C") == {"Brown C | - C | Good C | C"}


def test_the_way_is_down_only(staff: World):
    assert staff.declassify("S", "perf", "C", "S") == ("22023", 'label "S" is not below label "C"')
    assert staff.declassify("S", "perf", "S", "S")[0] == "22023"


def test_no_user_declassifies_what_they_do_not_see(staff: World):
    result = staff.declassify("C", "perf", "S", "C")
    assert result == ("42501", 'clearance "C" does not dominate label "S"')


def test_no_cell_goes_below_its_key(staff: World):
    result = staff.declassify("S", "perf", "S", "U")
    assert result == ("22023", 'label "U" is below the label of a key')


def test_a_column_must_be_there(staff: World):
    assert staff.declassify("S", "nope", "S", "C") == ("42703", 'column "nope" does not exist')


def test_a_key_is_declassified_as_a_whole_and_cells_keep_their_labels(staff: World):
    assert staff.declassify("S", "name", "C", "U") == 2
    assert staff.show("U") == {"Brown U | - U | - U | U"}
    assert staff.show("C") == {"Brown U | - C | Good C | C"}


def test_a_key_that_is_there_already_is_not_declassified(staff: World):
    staff.run("U", "INSERT INTO employee (name) VALUES ('Brown')")
    assert staff.declassify("S", "name", "C", "U")[0] == "23505"
