"""Where known people may be in a release, on every engine."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet
from discreet.attacks.locating.locate import gather_combinations, locate
from discreet.engines.connect import open_table
from discreet.errors import UnknownColumn, WrongUsage
from discreet.policy.hierarchies.tree import build_taxonomy
from discreet.policy.model import ColumnPolicy, ColumnRole, KAnonymity, Policy, TablePolicy
from discreet.sql import build


def found(people, release, *, engine=None, on=None, **options) -> dict[tuple, list[tuple]]:
    """The labels of every class that each known combination may be in."""
    released = open_table(pa.table(release), engine=engine)
    known = gather_combinations(
        open_table(pa.table(people), engine=released.engine), list(on or people)
    )
    located = locate(known, released, on=on, **options)

    def rows(relation):
        return known.engine.run(
            build.select(*map(build.column, names(relation)), source=relation)
        ).to_pylist()

    def names(relation):
        return [column.name for column in known.engine.columns(relation)]

    keys = {
        row["person"]: tuple(row[f"k{i}"] for i in range(len(known.columns)))
        for row in rows(known.relation)
    }
    classes = {
        row["class"]: tuple(row[f"l{i}"] for i in range(len(located.on)))
        for row in rows(located.classes)
    }
    classes_by_person = {key: [] for key in keys.values()}
    for pair in rows(located.pairs):
        classes_by_person[keys[pair["person"]]].append(classes[pair["class"]])
    return {key: sorted(labels, key=str) for key, labels in classes_by_person.items()}


def test_people_are_in_every_class_whose_labels_may_stand_for_them(any_engine):
    people = {"age": [31, 31, 47, 5], "zip": ["47677", "47602", "47905", "47677"]}
    release = {"age": ["[30, 40)", "*", "3*", "47"], "zip": ["476**", "479**", "47602", "*"]}
    assert found(people, release, engine=any_engine) == {
        (31, "47677"): [("[30, 40)", "476**")],
        (31, "47602"): [("3*", "47602"), ("[30, 40)", "476**")],
        (47, "47905"): [("*", "479**"), ("47", "*")],
        (5, "47677"): [],
    }


def test_plain_values_are_joined_by_equality_and_missing_ones_by_nothing(any_engine):
    people = {"age": [31, None, 47], "sex": ["F", "F", None]}
    release = {"age": [31, None, 47, 31], "sex": ["f ", "F", "M", "M"]}
    classes_by_person = found(people, release, engine=any_engine)
    assert classes_by_person == {(31, "F"): [(31, "f ")], (None, "F"): [], (47, None): []}


def test_where_a_release_suppresses_a_missing_value_may_be_anything():
    release = {"age": ["31", None, "*"], "sex": ["F", "F", "M"]}
    assert found({"age": [31], "sex": ["F"]}, release) == {(31, "F"): [("31", "F"), (None, "F")]}


def test_codes_that_lost_their_zeros_and_dates_in_other_forms_agree():
    people = {"zip": ["00501", "10001"], "dob": ["9/7/67", "9/21/67"]}
    release = {"zip": [501, 10001], "dob": ["1967-09-07", "1967-09-21"]}
    classes_by_person = found(people, release)
    assert classes_by_person[("00501", "9/7/67")] == [(501, "1967-09-07")]
    assert classes_by_person[("10001", "9/21/67")] == [(10001, "1967-09-21")]


def test_a_word_among_dates_or_codes_does_not_keep_the_others_from_agreeing():
    classes_by_person = found({"dob": ["1967-05-01", "unknown"]}, {"dob": ["1967", "1970s"]})
    assert classes_by_person == {("1967-05-01",): [("1967",)], ("unknown",): []}
    assert found({"zip": ["00501", "K1A"]}, {"zip": [501, 502]})[("00501",)] == [(501,)]


def test_moments_of_one_day_are_not_the_same_moment():
    moments = pa.array([3600, 7200], pa.timestamp("s"))
    classes_by_person = found({"at": moments.slice(0, 1)}, {"at": moments})
    assert [len(classes) for classes in classes_by_person.values()] == [1]


def test_dates_within_a_tolerance_agree_and_others_do_not(any_engine):
    days = pa.array([100, 103, 104], pa.int32()).cast(pa.date32())
    people = {"day": days.slice(0, 1), "ward": ["a"]}
    release = {"day": days, "ward": ["a", "a", "a"]}
    classes_by_person = found(people, release, engine=any_engine, within={"day": 3})
    assert [len(classes) for classes in classes_by_person.values()] == [2]


def test_numbers_within_a_tolerance_agree_through_labels_as_well():
    assert found({"age": [29]}, {"age": ["[30, 40)", "[40, 50)"]}, within={"age": 1}) == {
        (29,): [("[30, 40)",)]
    }


def test_text_has_no_tolerance():
    with pytest.raises(WrongUsage, match="holds text"):
        found({"sex": ["F"]}, {"sex": ["F"]}, within={"sex": 1})


def test_columns_of_other_names_are_joined_and_unknown_ones_reported():
    assert found({"dob": [1967]}, {"born": [1967]}, on={"dob": "born"}) == {(1967,): [(1967,)]}
    with pytest.raises(UnknownColumn, match="'year' is not in"):
        found({"dob": [1967]}, {"born": [1967]}, on={"dob": "year"})


def test_group_names_need_the_hierarchy():
    tree = build_taxonomy({"Asia": ["Japan", "India"], "Europe": ["Spain"]})
    people, release = {"from": ["Japan"]}, {"from": ["Asia", "Europe"]}
    assert found(people, release) == {("Japan",): []}
    assert found(people, release, hierarchies={"from": tree}) == {("Japan",): [("Asia",)]}


def test_everyone_is_in_a_class_of_their_own_release(tmp_path):
    rows = [(20 + i % 37, f"{47600 + 7 * i % 300}", "FM"[i % 2], i % 5) for i in range(400)]
    table = pa.table(
        dict(zip(("age", "zip", "sex", "ill"), map(list, zip(*rows, strict=True)), strict=True))
    )
    columns = tuple(
        ColumnPolicy(name, ColumnRole.QUASI_IDENTIFIER) for name in ("age", "zip", "sex")
    )
    policy = Policy({"t": TablePolicy("t", columns, criteria=(KAnonymity(5),))})
    discreet.anonymize(table, policy, output=tmp_path / "r.csv", accept_risk="to be located")
    people = {name: table[name] for name in ("age", "zip", "sex")}
    released = open_table(tmp_path / "r.csv")
    known = gather_combinations(open_table(pa.table(people), engine=released.engine), list(people))
    located = locate(known, released)
    query = build.select(build.column("person"), source=located.pairs).distinct()
    everyone = build.select(build.column("person"), source=known.relation)
    assert known.engine.run(query).num_rows == known.engine.run(everyone).num_rows
