"""Columns that a policy or a call leaves out: they are not published, and nothing is asked of them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import discreet
from discreet.errors import ConflictingRoles, InvalidPolicy, RiskNotTolerated, UnknownColumn
from discreet.policy.load import parse_policy
from discreet.policy.write import dump_policy

COUNT = 60
PEOPLE = pa.table(
    {
        "name": [f"Zebulon Quackenbush {n}" for n in range(COUNT)],
        "sex": ["F", "M"] * (COUNT // 2),
        "ill": ["flu", "gout", "cold"] * (COUNT // 3),
        "salary": list(range(COUNT)),
    }
)
POLICY = """
tables:
  people:
    columns: {name: identifier, sex: quasi-identifier, ill: sensitive, salary: sensitive}
    criteria: [k-anonymity: {k: 5}, l-diversity: {column: ill, l: 3}, l-diversity: {column: salary, l: 3}]
"""
LESS = POLICY + "    release: {leave-out: [salary]}\n"


def test_a_release_without_the_columns_that_are_not_needed_passes_the_gate():
    with pytest.raises(RiskNotTolerated, match="uniqueness learns 100 %"):
        discreet.anonymize(PEOPLE, parse_policy(POLICY), table="people")
    found = discreet.anonymize(PEOPLE, parse_policy(LESS), table="people")
    assert found.to_arrow().column_names == ["sex", "ill"]
    assert found.left_out == ("name", "salary")
    assert [(one.criterion, one.column) for one in found.criteria] == [
        ("k-anonymity", None),
        ("l-diversity", "ill"),
    ]
    assert not any(one.exceeds for one in found.findings)


def test_a_call_leaves_out_more_than_its_policy():
    found = discreet.anonymize(
        PEOPLE.append_column("shoe", [list(range(COUNT))]),
        parse_policy(LESS),
        table="people",
        leave_out=["shoe"],
    )
    assert found.left_out == ("name", "salary", "shoe")


def test_a_release_is_checked_without_the_columns_it_left_out(tmp_path: Path):
    place = tmp_path / "out.csv"
    discreet.anonymize(PEOPLE, parse_policy(LESS), table="people", output=place)
    found = discreet.check(place, parse_policy(LESS), table="people")
    assert found.holds
    assert found.is_tolerable
    with pytest.raises(UnknownColumn, match="'salary'"):
        discreet.check(place, parse_policy(POLICY), table="people")


def test_a_table_that_has_them_is_checked_with_them():
    found = discreet.check(PEOPLE, parse_policy(LESS), table="people")
    assert "salary" in {one.column for one in found.criteria}
    assert not found.is_tolerable


@pytest.mark.parametrize("method", ["safe-harbor", "expert"])
def test_deidentified_rows_leave_them_out_as_well(method, tmp_path: Path):
    place = tmp_path / "out.csv"
    discreet.deidentify(PEOPLE, parse_policy(LESS), method=method, table="people", output=place)
    assert place.read_text().splitlines()[0] == "sex,ill"


def test_a_call_to_deidentify_leaves_out_what_it_names():
    options = {"method": "safe-harbor", "leave_out": ["salary"], "keep": ["sex", "ill"]}
    found = discreet.deidentify(PEOPLE, **options)
    assert found.to_arrow().column_names == ["sex", "ill"]
    assert found.settings["left_out"] == ["salary"]


@pytest.mark.parametrize(
    "options", [{"target": "salary"}, {"sensitive": ["salary"]}, {"l": {"salary": 2}}]
)
def test_an_option_about_a_column_that_is_left_out_is_refused(options):
    with pytest.raises(ConflictingRoles, match="'salary' is left out"):
        discreet.anonymize(PEOPLE, parse_policy(LESS), table="people", dry_run=True, **options)


@pytest.mark.parametrize("job", [discreet.anonymize, discreet.deidentify])
def test_a_column_that_is_not_there_cannot_be_left_out(job):
    options = {"method": "safe-harbor"} if job is discreet.deidentify else {}
    with pytest.raises(UnknownColumn, match="Did you mean 'salary'"):
        job(PEOPLE, parse_policy(POLICY), table="people", leave_out=["salari"], **options)


@pytest.mark.parametrize(
    ("release", "message"),
    [
        ("{leave-out: [salari]}", "column 'salari' is not listed in table 'people'. Did you mean"),
        ("{leave-out: [salary, salary]}", "listed twice"),
        ("{leave-out: [salary], target: salary}", "column 'salary' is left out"),
        ("{leave-out: [sex], weights: {sex: 2}}", "column 'sex' is left out"),
        (
            "{leave-out: [salary], steps: [round: {column: salary, base: 9}]}",
            "'salary' is left out",
        ),
    ],
)
def test_a_policy_that_leaves_out_what_it_needs_is_refused(release: str, message: str):
    with pytest.raises(InvalidPolicy, match=message):
        parse_policy(POLICY + f"    release: {release}\n")


def test_what_is_left_out_is_written_with_the_policy():
    loaded = parse_policy(LESS)
    assert parse_policy(dump_policy(loaded)).tables["people"].release.leave_out == ("salary",)


SURVEY = PEOPLE.select(["sex", "ill"]).append_column("hhid", [[n // 3 for n in range(COUNT)]])
SURVEY = SURVEY.append_column("wt", [[100.0, 200.0] * (COUNT // 2)])
SURVEYED = """
tables:
  people:
    columns: {hhid: household, sex: quasi-identifier, ill: sensitive, wt: weight}
    criteria: [k-anonymity: {k: 5}, l-diversity: {column: ill, l: 3}]
"""


def test_no_release_has_a_household_and_the_weight_only_if_it_is_asked_for():
    silent = discreet.anonymize(SURVEY, parse_policy(SURVEYED), table="people")
    policy = parse_policy(SURVEYED + "    release: {publish-weight: true}\n")
    asked = discreet.anonymize(SURVEY, policy, table="people")
    assert silent.to_arrow().column_names == ["sex", "ill"]
    assert silent.left_out == ("hhid", "wt")
    assert asked.to_arrow().column_names == ["sex", "ill", "wt"]


def test_a_published_weight_that_singles_people_out_stops_the_release():
    rare = SURVEY.set_column(3, "wt", [[100.5 + n for n in range(COUNT)]])
    policy = parse_policy(SURVEYED + "    release: {publish-weight: true}\n")
    with pytest.raises(RiskNotTolerated, match="uniqueness"):
        discreet.anonymize(rare, policy, table="people")
    assert discreet.anonymize(rare, parse_policy(SURVEYED), table="people").k == COUNT // 2
