"""A table against its population: who fits which class, and how sure it is that they are in it."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet.errors import EmptySource, InvalidCriterion, UnknownColumn, WrongUsage
from discreet.policy.model import ColumnPolicy, ColumnRole, DeltaPresence, KMap, Policy, TablePolicy


def policy(*criteria, quasi=("age",)) -> Policy:
    columns = tuple(ColumnPolicy(name, ColumnRole.QUASI_IDENTIFIER) for name in quasi)
    return Policy({"t": TablePolicy("t", columns, criteria=criteria)})


def test_presence_is_the_share_of_a_class_that_is_in_the_table():
    table = pa.table({"age": [30, 30, 41]})
    population = pa.table({"age": [30, 30, 30, 41, 41, 41, 41, 55]})
    found = discreet.assess(table, quasi=["age"], against=population, depth=0).presence
    assert (found.population, found.k_map, found.people_not_in_population) == (8, 3, 0)
    assert (found.lowest, found.highest) == (0.0, pytest.approx(2 / 3, rel=1e-12))


def test_without_strangers_in_the_population_the_lowest_presence_is_that_of_a_class():
    population = pa.table({"age": [30, 30, 41, 41, 41, 41]})
    found = discreet.assess(
        pa.table({"age": [30, 41]}), quasi=["age"], against=population, depth=0
    ).presence
    assert (found.lowest, found.highest) == (0.25, 0.5)


def test_a_person_with_several_rows_in_the_population_hides_no_one_twice():
    table = pa.table({"who": [1, 1, 2], "age": [30, 30, 41]})
    population = pa.table({"who": [1, 1, 1, 2, 3, None, None], "age": [30, 30, 30, 41, 41, 41, 41]})
    found = discreet.assess(table, quasi=["age"], unit="who", against=population, depth=0)
    assert (found.presence.population, found.presence.k_map) == (4, 1)
    assert found.risk.journalist.worst == 1


people = st.lists(st.tuples(st.sampled_from(["a", "b", "*", None]), st.integers(0, 2)), min_size=1)


@given(people, people)
@settings(max_examples=25)
def test_k_map_is_the_smallest_class_of_the_population_that_the_table_has(few, others):
    everyone = few + others
    kinds = pa.schema([("x", pa.string()), ("y", pa.int64())])

    def table(rows):
        return pa.Table.from_pylist([dict(zip("xy", row, strict=True)) for row in rows], kinds)

    found = discreet.assess(table(few), quasi=["x", "y"], against=table(everyone), depth=0)
    among = Counter(everyone)
    inside = Counter(few)
    assert found.presence.k_map == min(among[row] for row in inside)
    assert found.presence.highest == max(inside[row] / among[row] for row in inside)
    assert found.risk.journalist.worst == 1 / found.presence.k_map


def test_a_population_value_between_two_whole_numbers_is_neither():
    table = pa.table({"age": [30, 31, 31]})
    population = pa.table({"age": [30.0, 30.4, 30.5, 30.6, 31.0, 31.0]})
    found = discreet.assess(table, quasi=["age"], against=population, depth=0).presence
    assert (found.k_map, found.lowest, found.highest) == (1, 0.0, 1.0)


@pytest.mark.parametrize("name", ["people", "among", "size", "n", "value", "code", "rows"])
def test_a_quasi_identifier_may_have_any_name_the_queries_use_themselves(name):
    table = pa.table({name: ["a", "b"]})
    population = pa.table({name: ["a", "b", "b"]})
    assert discreet.assess(table, quasi=[name], against=population).presence.k_map == 1


@pytest.mark.parametrize("opened", [False, True])
def test_an_empty_population_is_refused_wherever_it_is(opened):
    empty = pa.table({"age": pa.array([], pa.int64())})
    against = discreet.open_table(empty) if opened else empty
    with pytest.raises(EmptySource, match="population"):
        discreet.assess(pa.table({"age": [1]}), quasi=["age"], against=against)


def test_a_population_on_another_engine_is_brought_over():
    against = discreet.open_table(pa.table({"age": [30, 30, 41]}))
    found = discreet.assess(pa.table({"age": [30]}), quasi=["age"], against=against, depth=0)
    assert (found.presence.k_map, found.presence.population) == (2, 3)


def test_a_population_without_a_quasi_identifier_is_refused():
    with pytest.raises(UnknownColumn, match="Did you mean 'ages'"):
        discreet.assess(pa.table({"age": [1]}), quasi=["age"], against=pa.table({"ages": [1]}))


def test_a_population_that_writes_a_column_in_another_form_is_refused():
    with pytest.raises(WrongUsage, match="integer in the table and text"):
        discreet.assess(pa.table({"age": [1]}), quasi=["age"], against=pa.table({"age": ["1"]}))


def test_criteria_about_a_population_need_one():
    with pytest.raises(InvalidCriterion, match="--against"):
        discreet.assess(pa.table({"age": [1]}), policy(KMap(2)))


def test_k_map_counts_who_is_not_hidden():
    table = pa.table({"age": [30, 30, 41, 41]})
    population = pa.table({"age": [30, 30, 30, 41, 41]})
    (verdict,) = discreet.assess(table, policy(KMap(3)), against=population).criteria
    assert (verdict.holds, verdict.reached) == (False, 2)
    assert (verdict.failing_classes, verdict.failing_people) == (1, 2)
    assert verdict.worst[0].values == {"age": 41}


def test_the_worst_classes_of_delta_presence_are_those_whose_presence_is_surest():
    table = pa.table({"age": [30] + [41] * 4 + [55] * 3})
    population = pa.table({"age": [30] * 2 + [41] * 4 + [55] * 4})
    criterion = DeltaPresence(0.0, 0.6)
    (verdict,) = discreet.assess(table, policy(criterion), against=population).criteria
    assert verdict.reached == [0.5, 1.0]
    assert (verdict.failing_classes, verdict.failing_people) == (2, 7)
    assert [(v.values["age"], v.level) for v in verdict.worst] == [(41, 1.0), (55, 0.75)]


def test_the_worst_classes_of_delta_presence_may_be_those_whose_absence_is_surest():
    table = pa.table({"age": [30] + [41] * 4})
    population = pa.table({"age": [30] * 2 + [41] * 4})
    criterion = DeltaPresence(0.9, 1.0)
    (verdict,) = discreet.assess(table, policy(criterion), against=population).criteria
    assert [(v.values["age"], v.level) for v in verdict.worst] == [(30, 0.5)]


def test_people_of_the_population_who_fit_no_class_are_surely_absent():
    table = pa.table({"age": [30, 30]})
    population = pa.table({"age": [30, 30, 41]})
    (held,) = discreet.assess(table, policy(DeltaPresence(0.0, 1.0)), against=population).criteria
    (broken,) = discreet.assess(table, policy(DeltaPresence(0.1, 1.0)), against=population).criteria
    assert (held.holds, broken.holds, broken.failing_people) == (True, False, 1)


def test_a_population_list_that_misses_people_is_reported_and_hides_no_one():
    table = pa.table({"age": [30, 30, 41]})
    population = pa.table({"age": [30, 41, 41]})
    found = discreet.assess(table, quasi=["age"], against=population, depth=0)
    assert found.presence.people_not_in_population == 1
    assert any("incomplete" in caution for caution in found.cautions)
    assert found.risk.journalist.worst == 0.5
