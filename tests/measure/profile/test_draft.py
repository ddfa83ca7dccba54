"""Drafts load as policies, are stable, and give no rare value away."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from discreet.engines.connect import open_table
from discreet.engines.engine import Table
from discreet.errors import WrongUsage
from discreet.measure.profile import PolicyDraft, draft_tables
from discreet.policy.load import parse_policy
from discreet.policy.model import ColumnRole, KAnonymity, LDiversity

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.engines.engine import Engine


def draft(data: pa.Table, label: str = "people") -> PolicyDraft:
    found = open_table(data)
    return draft_tables([Table(found.engine, found.relation, found.columns, label)])


def roles(found: PolicyDraft) -> dict[str, ColumnRole]:
    return {column.guess.column: column.guess.role for column in found.tables[0].columns}


PEOPLE = pa.table(
    {
        "name": [f"Anna Meier {n}" for n in range(200)],
        "zip": [f"0{n % 40 + 1000}" for n in range(200)],
        "age": [n % 70 + 18 for n in range(200)],
        "sex": ["f", "m"] * 100,
        "diagnosis": ["flu", "asthma", "gout", "angina"] * 49 + ["zebra disease"] * 4,
        "salary": [20_000 + 317 * n for n in range(200)],
    }
)


def test_a_draft_loads_as_the_policy_it_shows() -> None:
    found = draft(PEOPLE)
    table = parse_policy(found.to_yaml()).tables["people"]
    assert {column.name: column.role for column in table.columns} == roles(found)
    assert table.criteria == (
        KAnonymity(5),
        LDiversity("diagnosis", 3),
        LDiversity("salary", 3),
    )


def test_a_draft_proposes_what_suits_each_column() -> None:
    text = draft(PEOPLE).to_yaml()
    assert "zip: {role: quasi-identifier, kind: text, hierarchy: {prefix: [3, 1]}}" in text
    assert (
        "age: {role: quasi-identifier, kind: integer, bounds: {drafted: [0, 120]}, "
        "hierarchy: {intervals: [5, 10, 20]}}"
    ) in text
    assert "sex: {role: quasi-identifier, kind: text, values: {drafted: [f, m]}}" in text
    assert "salary: {role: sensitive, kind: integer, bounds: {drafted: [0, 100000]}}" in text


def test_every_column_has_its_reason_above_it() -> None:
    lines = draft(PEOPLE).to_yaml().splitlines()
    columns = [n for n, line in enumerate(lines) if line.startswith("      ") and "{role:" in line]
    assert len(columns) == PEOPLE.num_columns
    assert all(lines[n - 1].lstrip().startswith("#") for n in columns)


def test_no_rare_value_is_in_a_draft() -> None:
    found = draft(PEOPLE)
    for text in (found.to_yaml(), str(found.to_dict())):
        assert "zebra" not in text
        assert "Meier" not in text
        assert str(20_000 + 317 * 199) not in text.replace(",", "")
        assert "01000" not in text


def test_a_value_of_one_person_s_many_rows_is_rare() -> None:
    rows = [(person, "flu") for person in range(40)] + [(99, "zebra pox")] * 15
    people, ill = zip(*rows, strict=True)
    found = draft(pa.table({"patient_id": people, "diagnosis": ill}), "visits")
    assert found.tables[0].unit == "patient_id"
    assert "zebra" not in found.to_yaml() + str(found.to_dict())
    assert "values left out: one is held by fewer than 10 people" in found.to_yaml()


@pytest.mark.parametrize("extremes", [[5e-324, 0.0], [-1e300, 1e300], [2**62, -(2**62)]])
def test_a_draft_of_extreme_numbers_is_a_valid_policy(extremes: list[float]) -> None:
    found = draft(pa.table({"age": extremes * 3, "sex": ["F", "M"] * 3}))
    parse_policy(found.to_yaml())


def test_a_draft_says_why_values_are_left_out() -> None:
    assert "values left out: one is held by fewer than 10 rows" in draft(PEOPLE).to_yaml()


def test_a_draft_is_the_same_however_rows_are_ordered() -> None:
    assert draft(PEOPLE).to_yaml() == draft(PEOPLE.sort_by("salary").slice(0)).to_yaml()
    assert draft(PEOPLE).to_yaml() == draft(PEOPLE.sort_by([("zip", "descending")])).to_yaml()


def test_a_draft_is_the_same_on_every_engine(any_engine: Engine) -> None:
    relation = any_engine.load(PEOPLE.to_reader())
    table = Table(any_engine, relation, any_engine.columns(relation), "people")
    assert draft_tables([table]).to_yaml() == draft(PEOPLE).to_yaml()


COLORS = draft(pa.table({"color": ["red", "blue"] * 20}))


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_column_name_survives(name: str) -> None:
    table = COLORS.tables[0]
    column = replace(table.columns[0], guess=replace(table.columns[0].guess, column=name))
    text = PolicyDraft((replace(table, columns=(column,)),)).to_yaml()
    assert [column.name for column in parse_policy(text).tables["people"].columns] == [name]


@pytest.mark.parametrize("name", ["a\n# b: {role: insensitive}", 'quo"te', "ünï cödé", "null"])
def test_a_strange_column_name_is_drafted(name: str) -> None:
    text = draft(pa.table({name: ["red", "blue"] * 20})).to_yaml()
    assert [column.name for column in parse_policy(text).tables["people"].columns] == [name]


@pytest.mark.parametrize(
    "value", ["no", "null", "a: b", "- x", "#x", "{y}", "é", '"', "1e3", "007"]
)
def test_any_value_survives_every_yaml_reader(value: str) -> None:
    text = draft(pa.table({"sex": [value, "other"] * 20})).to_yaml()
    column = yaml.safe_load(text)["tables"]["people"]["columns"]["sex"]
    assert sorted(map(str, column["values"]["drafted"])) == sorted([value, "other"])
    loaded = parse_policy(text).tables["people"].column("sex")
    assert loaded is not None
    assert loaded.values == tuple(sorted([value, "other"]))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://anna:secret@db.example.org/clinic?table=patients",
        "postgresql://anna:se@secret@db.example.org/clinic?table=patients",
        "postgresql://anna@db.example.org/clinic?password=secret&table=patients",
        "postgresql://anna@db.example.org/clinic?table=patients&password=secret",
        "postgresql://anna:sec/ret@db.example.org/clinic?table=patients",
    ],
)
def test_a_password_is_not_copied_into_a_draft(url: str) -> None:
    text = draft_tables([open_table(PEOPLE)], sources=[url]).to_yaml()
    assert "sec" not in text.split("columns:")[0]
    assert "anna@db.example.org/clinic?table=patients" in text


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("data/patients.csv", "patients"),
        ("patients.csv.gz", "patients"),
        ("postgresql://h/clinic?table=visits", "visits"),
        ("spark:patients", "patients"),
        ("-", "-"),
        ("my file.csv", "my_file"),
    ],
)
def test_a_table_is_named_after_its_source(label: str, name: str) -> None:
    assert draft(PEOPLE, label).tables[0].name == name


def test_two_files_of_one_name_become_two_tables() -> None:
    tables = [open_table(PEOPLE), open_table(PEOPLE)]
    assert len({table.name for table in draft_tables(tables).tables}) == 2


def test_a_draft_of_nothing_is_refused() -> None:
    with pytest.raises(WrongUsage):
        draft_tables([])


def test_the_safe_harbor_list_shows_found_and_missing_kinds() -> None:
    found = draft(PEOPLE)
    assert found.safe_harbor["A"] == ("people.name",)
    assert found.safe_harbor["C"] == ("people.age",)
    assert re.search(r"not found, so look yourself: .*telephone numbers", found.to_yaml())
    assert len(found.to_dict()["safe_harbor"]) == 18


def test_unknown_numbers_beside_private_columns_are_taken_for_measurements() -> None:
    values = {"zork": [n / 7 for n in range(200)], "zip": ["10115", "10117"] * 100}
    assert roles(draft(pa.table(values)))["zork"] is ColumnRole.QUASI_IDENTIFIER
    found = draft(pa.table({**values, "salary": [20_000 + 317 * n for n in range(200)]}))
    assert roles(found)["zork"] is ColumnRole.SENSITIVE
    zork = parse_policy(found.to_yaml()).tables["people"].column("zork")
    assert zork is not None
    assert zork.unsure


def test_unknown_answers_in_a_table_about_special_categories_are_not_insensitive() -> None:
    values = {"q17": ["a", "b"] * 100, "religion": ["x", "y"] * 100, "zip": ["10115"] * 200}
    assert roles(draft(pa.table(values)))["q17"] is ColumnRole.INSENSITIVE
    found = draft(pa.table({**values, "diagnosis": ["flu", "gout"] * 100}))
    assert roles(found)["q17"] is ColumnRole.SENSITIVE
    q17 = parse_policy(found.to_yaml()).tables["people"].column("q17")
    assert q17 is not None
    assert q17.unsure


def test_numbers_that_are_codes_are_not_put_into_ranges() -> None:
    text = draft(pa.table({"region": [n % 16 + 1 for n in range(400)]})).to_yaml()
    assert "ordered: false" in text
    assert "intervals" not in text
    column = parse_policy(text).tables["people"].column("region")
    assert column is not None
    assert not column.is_ordered


def test_the_adult_table_gets_sensible_roles(shared_data: Path) -> None:
    found = roles(draft_tables([open_table(str(shared_data / "adult" / "adult.csv"))]))
    assert found.pop("salary-class") is ColumnRole.SENSITIVE
    assert found.pop("race") is ColumnRole.SENSITIVE
    assert set(found.values()) == {ColumnRole.QUASI_IDENTIFIER}


def test_the_adult_table_with_names_gets_sensible_roles(shared_data: Path) -> None:
    source = shared_data / "adult_with_pii" / "adult_with_pii.csv"
    drafted = draft_tables([open_table(str(source))])
    found = roles(drafted)
    assert found["Name"] is ColumnRole.IDENTIFIER
    quasi = ("DOB", "Zip", "Age", "Sex", "Occupation", "Marital Status", "Country")
    assert {found[name] for name in quasi} == {ColumnRole.QUASI_IDENTIFIER}
    sensitive = ("Race", "Target", "Capital Gain", "Capital Loss")
    assert {found[name] for name in sensitive} == {ColumnRole.SENSITIVE}
    assert "7,847 of 32,563 people are unique on it" in drafted.to_yaml()
    assert parse_policy(drafted.to_yaml()).tables["adult_with_pii"].with_role(
        ColumnRole.IDENTIFIER
    ) == ("Name",)


def test_names_are_found_when_the_header_says_nothing(shared_data: Path) -> None:
    import pyarrow.csv as csv

    data = csv.read_csv(shared_data / "adult_with_pii" / "adult_with_pii.csv")
    nameless = data.rename_columns([f"c{number}" for number in range(data.num_columns)])
    found = roles(draft(nameless))
    assert found["c0"] is ColumnRole.IDENTIFIER
    assert {found[f"c{number}"] for number in (1, 2, 10, 14)} == {ColumnRole.QUASI_IDENTIFIER}
