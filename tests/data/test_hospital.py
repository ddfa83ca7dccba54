"""The bundled hospital is what its script writes, and holds what each chapter needs to show."""

from __future__ import annotations

import collections
import csv
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from discreet.policy.load import load_policy

ROOT = Path(__file__).parents[2]
HOSPITAL = Path(str(files("discreet") / "data" / "hospital"))
TABLES = ("patients", "visits", "doctors", "voters", "diagnoses", "diagnoses_hierarchy")


def rows(table: str) -> list[dict[str, str]]:
    with (HOSPITAL / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def patients() -> list[dict[str, str]]:
    return rows("patients")


@pytest.fixture(scope="module")
def visits() -> list[dict[str, str]]:
    return rows("visits")


@pytest.fixture(scope="module")
def voters() -> list[dict[str, str]]:
    return rows("voters")


def test_the_script_writes_the_bundled_bytes(tmp_path: Path):
    script = ROOT / "scripts" / "make_hospital.py"
    subprocess.run([sys.executable, script, tmp_path], check=True)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert written == {f"{name}.csv": (HOSPITAL / f"{name}.csv").read_bytes() for name in TABLES}


def test_the_tables_are_small():
    assert sum(path.stat().st_size for path in HOSPITAL.iterdir()) < 1_500_000


def test_keys_are_unique_and_point_to_rows(patients, visits):
    people = {row["patient_id"] for row in patients}
    staff = {row["doctor_id"] for row in rows("doctors")}
    codes = {row["code"] for row in rows("diagnoses")}
    assert len(people) == len(patients) == 2000
    assert len({row["visit_id"] for row in visits}) == len(visits)
    assert {row["patient_id"] for row in visits} == people
    assert {row["doctor_id"] for row in visits} <= staff
    assert {row["diagnosis"] for row in [*visits, *patients]} <= codes


def test_national_numbers_are_unique_and_leave_one_modulo_97(patients):
    numbers = [row["national_id"] for row in patients]
    assert len(set(numbers)) == len(numbers)
    assert {int(number) % 97 for number in numbers} == {1}
    assert {len(number) for number in numbers} == {11}


def test_no_email_address_or_phone_number_is_real(patients):
    domains = {row["email"].rpartition("@")[2] for row in patients if row["email"]}
    assert domains == {"example.org", "example.com", "example.net"}
    assert {row["phone"][7:10] for row in patients if row["phone"]} == {"960"}


def test_seven_in_ten_patients_are_on_the_voter_list(patients, voters):
    listed = {row["name"] for row in voters}
    assert len(listed) == len(voters)
    assert len({row["name"] for row in patients}) == len(patients)
    share = sum(row["name"] in listed for row in patients) / len(patients)
    assert 0.65 < share < 0.75
    assert listed - {row["name"] for row in patients}


def test_the_voter_list_finds_most_of_its_patients_but_not_all_of_them_rightly(patients, voters):
    known = ("birth_date", "sex", "postcode")
    by_known = collections.defaultdict(list)
    for row in voters:
        by_known[tuple(row[name] for name in known)].append(row["name"])
    pairs = [
        (row["name"], name)
        for row in patients
        for name in by_known[tuple(row[name] for name in known)]
    ]
    right = sum(patient == voter for patient, voter in pairs)
    assert 1200 < right < len(pairs)


def test_most_people_are_unique_on_what_the_voter_list_knows(patients):
    classes = collections.Counter(
        (row["birth_date"], row["sex"], row["postcode"]) for row in patients
    )
    unique = sum(count for count in classes.values() if count == 1)
    assert 1900 < unique < 2000


def test_the_rare_people_are_there(patients):
    ages = [2025 - int(row["birth_date"][:4]) for row in patients]
    surgeons = [
        row for row in patients if (row["occupation"], row["postcode"]) == ("surgeon", "12419")
    ]
    miners = [
        row["diagnosis"]
        for row in patients
        if (row["sex"], row["postcode"]) == ("M", "12407") and row["birth_date"] < "1960-12-31"
    ]
    assert ages.count(97) == 1
    assert max(ages) == 97
    assert len(surgeons) == 1
    assert len(miners) >= 5
    assert set(miners) == {"J60"}


def test_places_values_and_names_have_the_traps_of_real_files(patients):
    columns = ("email", "phone", "occupation", "salary", "insurance")
    postcodes = collections.Counter(row["postcode"] for row in patients)
    assert all(len(code) == 5 for code in postcodes)
    assert any(code.startswith("0") for code in postcodes)
    assert max(postcodes.values()) > 20 * min(postcodes.values())
    assert all(any(row[name] == "" for row in patients) for name in columns)
    assert any(not row["name"].isascii() for row in patients)
    assert any("," in row["address"] for row in patients)


def test_the_hierarchy_nests_and_covers_every_code():
    lines = (HOSPITAL / "diagnoses_hierarchy.csv").read_text(encoding="utf-8").splitlines()
    levels = [line.split(";") for line in lines]
    chapters = collections.defaultdict(set)
    for _code, block, chapter, top in levels:
        chapters[block].add(chapter)
        assert top == "*"
    assert [level[0] for level in levels] == [row["code"] for row in rows("diagnoses")]
    assert all(len(found) == 1 for found in chapters.values())


def test_old_people_have_other_illnesses_than_children(patients):
    old = collections.Counter(r["diagnosis"] for r in patients if r["birth_date"] < "1961")
    young = collections.Counter(r["diagnosis"] for r in patients if r["birth_date"] > "2008")
    assert old["I50"] > 10
    assert young["I50"] == 0
    assert {r["sex"] for r in patients if r["diagnosis"] == "O80"} == {"F"}


def test_the_policy_lists_every_column_of_every_table():
    policy = load_policy(HOSPITAL / "policy.yaml")
    listed = {
        name: [column.name for column in table.columns] for name, table in policy.tables.items()
    }
    tables = [name for name in TABLES if name != "diagnoses_hierarchy"]
    assert listed == {name: list(rows(name)[0]) for name in tables}


def test_the_policy_names_the_keys_between_tables():
    visits = load_policy(HOSPITAL / "policy.yaml").tables["visits"]
    assert visits.unit == "patient_id"
    assert {column.references for column in visits.columns if column.references} == {
        ("patients", "patient_id"),
        ("doctors", "doctor_id"),
    }
