"""Names put to rows: who is linked, who is not, and what that reveals."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from discreet.attacks.linkage.link import link_people
from discreet.attacks.linkage.spec import make_linkage_spec
from discreet.engines.connect import open_table
from discreet.engines.postgres import PostgreSQL
from discreet.errors import EmptySource, UnknownColumn, WrongUsage
from discreet.policy.model import ColumnPolicy, ColumnRole, TablePolicy

RELEASE = {
    "dob": ["1967-09-07", "1967-09-07", "1970-01-01", "1980-05-05", None],
    "zip": [64152, 67306, 64152, 12345, 64152],
    "ill": ["flu", "flu", "hiv", "cold", "flu"],
}
PEOPLE = {
    "name": ["Ann", "Bob", "Cid", "Dan", "Eve", "Fay"],
    "dob": ["1967-09-07", "1970-01-01", "1980-05-05", "1980-05-05", "1999-01-01", None],
    "zip": [64152, 64152, 12345, 12345, 64152, 64152],
}


def link(release=None, people=None, on=("dob", "zip"), engine=None, **options):
    released = open_table(pa.table(release or RELEASE), engine=engine)
    known = open_table(pa.table(people or PEOPLE), engine=released.engine)
    return link_people(
        released, known, on=on if isinstance(on, dict) else {n: n for n in on}, **options
    )


def test_a_link_needs_one_row_that_fits_no_one_else_of_the_list():
    found = link()
    # Cid and Dan share the only row that fits: unique in the release, not among the people.
    assert (found.targets, found.claimed, found.correct) == (6, 2, None)
    assert found.details["unique_in_release"] == 4
    assert found.details["candidates"] == {"0": 2, "1": 4}
    assert (found.details["expected_prosecutor"], found.details["expected_journalist"]) == (4, 3)


def test_people_who_are_absent_or_lack_a_value_are_part_of_the_result():
    found = link()
    assert found.rate == pytest.approx(2 / 6)
    assert (found.details["without_key"], found.details["repeated_in_list"]) == (1, 2)


def test_candidates_share_their_chance_and_reveal_what_they_share():
    found = link(on=["dob"], sensitive=["ill"])
    assert found.details["candidates"] == {"0": 2, "1": 3, "2": 1}
    assert found.details["expected_prosecutor"] == 3.5
    assert found.details["learned"]["ill"] == {"certain": 4, "belief": 1.0, "prior": 0.6}


def test_the_truth_distinguishes_right_links_wrong_ones_and_absent_people():
    released = RELEASE | {"who": ["ann", "x", "Bob ", "y", "z"]}
    people = PEOPLE | {"name": ["Ann", "Zoe", "Cid", "Dan", "Eve", "Fay"]}
    found = link(released, people, identity=("name", "who"))
    assert (found.claimed, found.correct) == (2, 1)
    details = found.details
    assert (
        details["absent"],
        details["linked_absent"],
        details["precision"],
        details["recall"],
    ) == (
        5,
        1,
        0.5,
        1,
    )


@pytest.mark.postgres
def test_a_server_finds_the_same(postgres_url):
    server = PostgreSQL(postgres_url)
    released = RELEASE | {"who": ["ann", "x", "Bob ", "y", "z"]}
    options = {"identity": ("name", "who"), "sensitive": ["ill"], "unit": "who", "name": "name"}
    found = link(released, engine=server, **options)
    server.close()
    assert (found.claimed, found.correct) == (2, 2)
    assert found.details == link(released, **options).details
    assert found.example == link(released, **options).example


def test_a_row_that_is_suppressed_altogether_hides_no_one():
    released = {name: ["*", *map(str, values[:4])] for name, values in RELEASE.items()}
    found = link(released)
    assert (found.claimed, found.details["candidates"]) == (2, {"0": 2, "1": 4})


def test_a_row_that_says_little_hides_less_than_a_row_that_says_much():
    people = {"age": list(range(20, 60)), "zip": ["11111"] * 40}
    released = {"age": ["20", "[20, 60)", "[21, 22]", "[21, 22]"], "zip": ["11111"] * 4}
    found = link(released, people, on=["age", "zip"])
    # 20 fits its own row, and one of forty: its own is the better guess by far.
    assert (found.claimed, found.details["unique_in_release"]) == (1, 37)
    assert found.details["candidates"]["2"] == 1


def test_a_release_of_large_classes_links_no_one_and_says_how_many_fit():
    released = {"dob": ["1960s"] * 5, "zip": ["64***"] * 5, "ill": ["flu"] * 5}
    found = link(released, sensitive=["ill"])
    assert (found.claimed, found.rate) == (0, 0)
    assert "at least 5 candidate rows" in found.verdict
    assert found.details["learned"]["ill"]["certain"] == 1
    assert found.details["labels"]["dob"]["generalized"] == 1


def test_a_tolerance_links_those_whose_dates_are_a_little_off():
    people = PEOPLE | {"dob": ["1967-09-09", "1970-01-05", "1980-05-05", None, None, None]}
    assert link(people=people).claimed == 1
    assert link(people=people, within={"dob": 2}).claimed == 2
    assert link(people=people, within={"dob": 4}).claimed == 3


def test_columns_of_other_names_are_joined():
    people = {"name": ["Ann"], "birth": ["1967-09-07"]}
    assert link(people=people, on={"birth": "dob"}).details["candidates"] == {
        "0": 0,
        "1": 0,
        "2": 1,
    }


def test_the_example_names_one_person_and_the_findings_of_machines_name_no_one():
    found = link(sensitive=["ill"], name="name")
    assert found.example[0] == "Known: Ann has dob 1967-09-07, zip 64152."
    assert found.example[2] == "ill: flu 100 %."
    text = json.dumps(found.to_dict())
    assert not any(word in text for word in ("Ann", "1967-09-07", "64152", "flu", "hiv"))


def test_with_a_unit_candidates_are_people_and_one_row_reveals_all_of_theirs():
    visits = {
        "who": ["p1", "p1", "p2", "p2", None],
        "day": ["2021-01-01", "2021-01-01", "2021-03-03", "2021-04-04", "2021-04-04"],
        "ill": ["flu", "flu", "hiv", "flu", "cold"],
    }
    people = {"name": ["Ann", "Bob"], "day": ["2021-01-01", "2021-03-03"]}
    assert link(visits, people, on=["day"]).details["candidates"] == {"0": 0, "1": 1, "2": 1}
    found = link(visits, people, on=["day"], unit="who", sensitive=["ill"])
    assert (found.claimed, found.details["rows"]) == (2, 2)
    assert found.details["learned"]["ill"]["belief"] == 0.75


def test_an_empty_list_is_refused():
    with pytest.raises(EmptySource, match="has no rows"):
        link(people={name: values[:0] for name, values in PEOPLE.items()})


def wish(**words):
    released = open_table(pa.table(RELEASE))
    return make_linkage_spec(
        released, open_table(pa.table(PEOPLE), engine=released.engine), **words
    )


def test_without_words_the_quasi_identifiers_of_the_policy_are_joined():
    columns = (
        ColumnPolicy("dob", ColumnRole.QUASI_IDENTIFIER),
        ColumnPolicy("zip", ColumnRole.INSENSITIVE),
        ColumnPolicy("ill", ColumnRole.SENSITIVE),
    )
    found = wish(policy=TablePolicy("t", columns))
    assert (found.on, found.sensitive, found.name) == ({"dob": "dob"}, ("ill",), "name")


def test_words_say_other_names_tolerances_and_the_truth():
    found = wish(on=["name=ill", "dob"], within=["dob=2w"], truth="zip")
    assert found.on == {"name": "ill", "dob": "dob"}
    assert (found.within, found.identity) == ({"dob": 14}, ("zip", "zip"))


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ({}, WrongUsage, "They share dob and zip"),
        ({"on": ["nme"]}, UnknownColumn, "Did you mean 'name'"),
        ({"on": ["dob=born"]}, UnknownColumn, "'born' is not in"),
        ({"on": ["dob="]}, WrongUsage, "KNOWN=RELEASED"),
        ({"on": ["dob"], "within": ["dob=soon"]}, WrongUsage, "is no tolerance"),
        ({"on": ["dob"], "within": ["zip=1"]}, WrongUsage, "is not joined"),
        ({"on": ["dob"], "sensitive": ["il"]}, UnknownColumn, "'il' is not in"),
    ],
)
def test_wrong_options_are_reported(words, error, message):
    with pytest.raises(error, match=message):
        wish(**words)
