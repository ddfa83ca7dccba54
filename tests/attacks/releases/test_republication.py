"""Successive releases of one table, followed by an adversary who waits."""

from __future__ import annotations

import pyarrow as pa
import pytest

from discreet.attacks.releases.republication import find_republication
from discreet.engines.connect import open_table
from discreet.errors import WrongUsage

ON = {"age": "age"}


def opened(*tables: dict[str, list]):
    first, *rest = [pa.table(columns) for columns in tables]
    home = open_table(first)
    return [home, *(open_table(table, engine=home.engine) for table in rest)]


def published(*classes: tuple[str, str]) -> dict[str, list]:
    """A release written as (label, values separated by blanks)."""
    rows = [(label, value) for label, values in classes for value in values.split()]
    return {"age": [label for label, _ in rows], "ill": [value for _, value in rows]}


FIRST = published(("[20, 29]", "flu hiv gout"), ("[30, 39]", "flu cold"))


def test_values_that_vanish_around_a_person_who_stays_reveal_theirs():
    later = published(("[20, 29]", "hiv acne cold"), ("[30, 39]", "flu cold"))
    people = {"age": [25, 35], "ill": ["hiv", "flu"]}
    first, second, known = opened(FIRST, later, people)
    (found,) = find_republication([known], [first, second], on=ON, sensitive=["ill"])
    assert (found.claimed, found.correct, found.rate, found.baseline) == (1, 1, 0.5, 0.0)
    assert found.details["disclosed_after_each"] == [0.0, 0.5]
    assert found.details["candidates_after_each"] == [2.5, 1.5]
    invariance = found.details["m_invariance"]
    assert invariance["holds"] is False
    assert (invariance["signature_changed"], invariance["critical_absence"]) == (1, 1)


def test_m_invariant_releases_reveal_nothing_more():
    later = published(("[20, 24]", "gout flu hiv"), ("[25, 39]", "flu cold"), ("[40, 49]", "a b"))
    people = {"name": ["ann", "bob"], "age": [21, 35], "ill": ["hiv", "cold"]}
    first, second, known = opened(FIRST, later, people)
    (found,) = find_republication([known], [first, second], on=ON, sensitive=["ill"])
    assert (found.claimed, found.rate) == (0, 0.0)
    assert found.details["m_invariance"] == {
        "holds": True,
        "m": 2,
        "distinct_values_in_classes": True,
        "persisting": 2,
        "signature_changed": 0,
        "critical_absence": 0,
    }


def test_a_value_twice_in_a_class_breaks_m_invariance():
    twice = published(("[20, 29]", "flu flu hiv gout"), ("[30, 39]", "flu cold"))
    first, second, known = opened(twice, twice, {"age": [25]})
    (found,) = find_republication([known], [first, second], on=ON, sensitive=["ill"])
    assert found.details["m_invariance"]["distinct_values_in_classes"] is False
    assert found.details["m_invariance"]["holds"] is False


def test_a_birthday_moves_a_person_into_another_class():
    then = {"name": ["ann", "bob"], "age": [29, 35], "ill": ["flu", "cold"]}
    now = {"name": ["bob", "ann"], "age": [36, 30], "ill": ["cold", "flu"]}
    first, second, known, later = opened(FIRST, FIRST, then, now)
    (found,) = find_republication(
        [known, later], [first, second], on=ON, sensitive=["ill"], name="name"
    )
    # Ann: flu, hiv or gout at 29, flu or cold at 30.
    assert (found.targets, found.claimed, found.correct) == (2, 1, 1)
    assert found.example[-1].endswith("together with what was left before, flu.")


def test_who_is_not_in_a_later_release_keeps_what_was_left():
    then = {"name": ["ann", "bob"], "age": [29, 35]}
    now = {"name": ["bob"], "age": [25]}
    first, second, known, later = opened(FIRST, FIRST, then, now)
    (found,) = find_republication(
        [known, later], [first, second], on=ON, sensitive=["ill"], name="name"
    )
    assert (found.targets, found.claimed, found.correct) == (2, 1, None)
    assert found.details["candidates_after_each"] == [2.5, 2.0]
    assert found.details["located_in_each"] == [2, 1]


def test_people_in_no_release_are_the_control():
    later = published(("[20, 29]", "hiv acne cold"), ("[30, 39]", "flu cold"))
    people, absent = {"age": [25], "ill": ["hiv"]}, {"age": [26, 60], "ill": ["flu", "flu"]}
    first, second, known, control = opened(FIRST, later, people, absent)
    (found,) = find_republication(
        [known], [first, second], on=ON, sensitive=["ill"], control=control
    )
    assert (found.rate, found.control) == (1.0, 0.0)


def test_two_sensitive_columns_are_two_findings():
    table = {**FIRST, "paid": [1, 2, 3, 4, 5]}
    first, second, known = opened(table, table, {"age": [25], "ill": ["flu"], "paid": [1]})
    found = find_republication([known], [first, second], on=ON, sensitive=["ill", "paid"])
    assert [one.details["column"] for one in found] == ["ill", "paid"]
    assert found[1].details["candidates_after_each"] == [3.0, 3.0]


def test_several_tables_of_people_need_a_name():
    first, second, known, later = opened(FIRST, FIRST, {"age": [25]}, {"age": [26]})
    with pytest.raises(WrongUsage, match="--name"):
        find_republication([known, later], [first, second], on=ON, sensitive=["ill"])


def test_a_name_must_distinguish_people():
    people = {"name": ["ann", "ann"], "age": [25, 26]}
    first, second, known, later = opened(FIRST, FIRST, people, people)
    with pytest.raises(WrongUsage, match="distinguish"):
        find_republication([known, later], [first, second], on=ON, sensitive=["ill"], name="name")


def test_there_are_as_many_tables_of_people_as_releases_or_one():
    people = {"name": ["ann"], "age": [25]}
    first, second, third, known, later = opened(FIRST, FIRST, FIRST, people, people)
    with pytest.raises(WrongUsage, match="3 releases and 2 tables"):
        find_republication(
            [known, later], [first, second, third], on=ON, sensitive=["ill"], name="name"
        )
