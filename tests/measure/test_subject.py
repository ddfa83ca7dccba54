"""Which table of a policy a source is, and which part each column plays."""

from __future__ import annotations

import pytest

from discreet.errors import ConflictingRoles, WrongUsage
from discreet.measure.assess import assess
from discreet.measure.roles import select_table
from discreet.policy.load import parse_policy

ONE = parse_policy("tables: {patients: {columns: {age: quasi-identifier}}}")
TWO = parse_policy(
    "tables: {patients: {source: p.csv, columns: {age: quasi-identifier}}, "
    "visits: {columns: {age: quasi-identifier}}}"
)


@pytest.mark.parametrize(
    ("label", "name", "chosen"),
    [
        ("anything.csv", "visits", "visits"),
        ("p.csv", None, "patients"),
        ("folder/visits.parquet", None, "visits"),
    ],
)
def test_a_table_is_found_by_name_then_source_then_file_name(label, name, chosen):
    assert select_table(TWO, label=label, name=name).name == chosen


def test_the_only_table_serves_a_table_that_a_database_calls_otherwise():
    assert select_table(ONE, label="patients_2024", name="patients_2024").name == "patients"


def test_a_name_that_neither_policy_nor_source_knows_is_refused():
    with pytest.raises(WrongUsage, match="Did you mean 'patients'"):
        select_table(ONE, label="people.csv", name="patient")


def test_several_tables_without_a_match_are_listed():
    with pytest.raises(WrongUsage, match=r"'patients', 'visits'.*--table"):
        select_table(TWO, label="people.csv")


@pytest.mark.parametrize(
    "roles", [{"quasi": ["a", "a"]}, {"quasi": ["b"], "sensitive": ["a", "a"]}]
)
def test_a_column_named_twice_in_one_role_is_refused(roles):
    import pyarrow as pa

    with pytest.raises(ConflictingRoles, match="'a' is named twice"):
        assess(pa.table({"a": [1], "b": [2]}), **roles)
