"""`discreet deidentify` from the prompt: what is written, what is printed, what is refused."""

from __future__ import annotations

import csv
import json
import re
import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from discreet.release.deidentify.keys import new_key_file

HOSPITAL = Path(str(files("discreet") / "data" / "hospital"))
PATIENTS = ("name", "national_id", "email", "phone", "address", "patient_id")
SAFE_HARBOR = ("--method", "safe-harbor")
ACCEPTED = ("--accept-risk", "goes to the hospital's own researchers")
EXPERT = ("--method", "expert", "--policy", "policy.yaml")
PSEUDONYMIZE = ("--method", "pseudonymize", "--key-file", "secret.key")


@pytest.fixture
def hospital(folder: Path) -> Path:
    """The demo's tables in the working folder, and a key beside them."""
    shutil.copytree(HOSPITAL, folder, dirs_exist_ok=True)
    new_key_file(folder / "secret.key")
    return folder


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_safe_harbor_writes_the_hospital_without_its_identifiers(hospital: Path, discreet):
    ran = discreet(
        *("deidentify", "patients.csv", *SAFE_HARBOR, *ACCEPTED),
        *("-o", "shared.csv", "--report", "r.html"),
    )
    assert ran.code == 0, ran.err
    rows = rows_of(hospital / "shared.csv")
    assert len(rows) == 2000
    assert not set(PATIENTS) & set(rows[0])
    assert {len(row["postcode"]) for row in rows} == {3}
    assert all(re.fullmatch(r"\d{4}|90\+", row["birth_date"]) for row in rows)
    assert "What still singles people out" in ran.out
    assert "Wrote 2,000 rows to shared.csv." in ran.out
    page = (hospital / "r.html").read_text()
    assert "164.514(b)(2)(ii)" in page
    assert "<script" not in page


@pytest.mark.parametrize("method", [SAFE_HARBOR, (*PSEUDONYMIZE, "--columns", "patient_id")])
def test_people_alone_on_what_stays_are_not_published_without_a_reason(
    hospital: Path, discreet, method: tuple[str, ...]
):
    ran = discreet("deidentify", "patients.csv", *method, "-o", "shared.csv")
    assert (ran.code, ran.error) == (3, "risk-not-tolerated")
    assert "are alone on the columns that stay, all together" in ran.out
    for step in ("--dry-run", "discreet anonymize", "`tolerance` in the policy", "--accept-risk"):
        assert step in ran.err
    assert not (hospital / "shared.csv").exists()
    ran = discreet("deidentify", "patients.csv", *method, "--dry-run")
    assert ran.code == 0
    assert "are alone on the columns that stay, all together" in ran.out.split("\n\n")[0]
    assert "it would be refused" in ran.out


def test_no_cell_that_was_removed_is_in_any_output(hospital: Path, discreet):
    ran = discreet(
        *("deidentify", "patients.csv", *SAFE_HARBOR, *ACCEPTED),
        *("-o", "s.csv", "--report", "r.html", "--json"),
    )
    written = "".join(
        (hospital / name).read_text() for name in ("s.csv", "s.csv.release.json", "r.html")
    )
    for row in rows_of(HOSPITAL / "patients.csv")[:300]:
        for column in ("name", "email", "national_id", "birth_date"):
            if row[column]:
                assert row[column] not in written + ran.out + ran.err


def test_json_is_all_that_is_printed_and_is_kept_for_the_custodian(hospital: Path, discreet):
    ran = discreet("deidentify", "visits.csv", *SAFE_HARBOR, *ACCEPTED, "-o", "v.parquet", "--json")
    record = json.loads((hospital / "v.parquet.release.json").read_text())
    kept = json.loads(next((hospital / "discreet-releases").glob("*.json")).read_text())
    assert kept["release"] == ran.json
    assert record["output"] == ran.json["output"]
    assert not {"rows", "findings", "warnings"} & set(record)
    assert set(ran.json) == {
        *("method", "source", "verdict", "rows", "columns", "classes", "settings"),
        *("remaining", "warnings", "cautions", "output", "findings", "accepted_risk", "not_tried"),
        "undecided",
    }
    assert len(ran.json["classes"]) == 18


def test_a_dry_run_writes_nothing(hospital: Path, discreet):
    before = sorted(hospital.iterdir())
    ran = discreet("deidentify", "patients.csv", *SAFE_HARBOR, "--dry-run", "--json")
    assert (ran.code, ran.json["output"]) == (0, None)
    assert sorted(hospital.iterdir()) == before


def test_the_custodian_may_say_what_a_column_is(hospital: Path, discreet):
    ran = discreet(
        *("deidentify", "patients.csv", *SAFE_HARBOR, "--dry-run", "--json"),
        *("--class", "occupation=A", "--class", "insurance=text", "--keep", "birth_date"),
    )
    found = {item["column"]: item["action"] for item in ran.json["columns"]}
    assert found["occupation"] == "removed"
    assert found["insurance"] == "redacted"
    assert found["birth_date"] == "kept"
    assert any("'birth_date' (class C)" in caution for caution in ran.json["cautions"])


def test_ages_are_counted_to_the_year_given(hospital: Path, discreet):
    discreet(
        *("deidentify", "patients.csv", *SAFE_HARBOR, *ACCEPTED),
        *("--as-of", "2100", "-o", "s.csv"),
    )
    years = {row["birth_date"] for row in rows_of(hospital / "s.csv")}
    assert "90+" in years
    assert min(years - {"90+"}) >= "2011"


def test_a_list_of_small_areas_may_be_given(hospital: Path, discreet):
    (hospital / "small.txt").write_text("124\n")
    discreet(
        *("deidentify", "patients.csv", *SAFE_HARBOR, *ACCEPTED, "-o", "s.csv"),
        *("--restricted-zips", "small.txt"),
    )
    assert "124" not in {row["postcode"] for row in rows_of(hospital / "s.csv")}


def test_an_expert_gets_risks_and_a_line_to_sign_and_exit_3(hospital: Path, discreet):
    ran = discreet("deidentify", "patients.csv", *EXPERT, "-o", "o.csv", "--report", "e.html")
    assert ran.code == 3
    assert "above the threshold of 9.1 %" in ran.out
    assert not (hospital / "o.csv").exists()
    page = (hospital / "e.html").read_text()
    for words in ("Prosecutor", "Journalist", "Marketer", "Signature", "Attacks tried", "Assump"):
        assert words in page


def test_an_expert_signs_a_release_that_is_safe_enough(folder: Path, discreet):
    rows = ["id,sex,ill", *(f"{n},{'FM'[n % 2]},{('flu', 'cold')[n % 3 > 0]}" for n in range(40))]
    (folder / "people.csv").write_text("\n".join(rows))
    (folder / "policy.yaml").write_text(
        "tables:\n  people:\n    unit: id\n    columns:\n"
        "      id: identifier\n      sex: quasi-identifier\n      ill: sensitive\n"
    )
    ran = discreet(
        *("deidentify", "people.csv", *EXPERT, "-o", "o.csv", "--expert", "Ada Lovelace"),
        *("--report", "e.html", "--json"),
    )
    assert (ran.code, ran.json["holds"], ran.json["residual_risk"]) == (0, True, 0.05)
    assert list(rows_of(folder / "o.csv")[0]) == ["sex", "ill"]
    assert "Ada Lovelace" in (folder / "e.html").read_text()


def test_pseudonyms_keep_joins_and_hide_identifiers(hospital: Path, discreet):
    for name in ("patients", "visits"):
        ran = discreet(
            *("deidentify", f"{name}.csv", *PSEUDONYMIZE, *ACCEPTED, "--policy", "policy.yaml"),
            *("--columns", "patient_id", "-o", f"{name}_p.csv", "--report", "r.html"),
        )
        assert ran.code == 0, ran.err
    people, visits = rows_of(hospital / "patients_p.csv"), rows_of(hospital / "visits_p.csv")
    assert {row["patient_id"] for row in visits} <= {row["patient_id"] for row in people}
    assert not any(row["patient_id"].startswith("P0") for row in people)
    assert not {"name", "email", "address"} & set(people[0])
    secret = (hospital / "secret.key").read_text().strip()
    assert all(
        secret not in (hospital / f"{n}_p.csv.release.json").read_text() for n in ("visits",)
    )


def test_dates_shift_together_and_tokens_are_sealed(hospital: Path, discreet):
    arguments = (
        *("deidentify", "visits.csv", *PSEUDONYMIZE, "--policy", "policy.yaml"),
        *("--tokens", "patient_id", "--mapping", "sealed.map", "--shift-dates", "admitted"),
        *("--accept-risk", "visits that a token links single people out"),
    )
    ran = discreet(*arguments, "--unit", "patient_id", "-o", "one.csv")
    assert ran.code == 0, ran.err
    discreet(*arguments, "--unit", "patient_id", "-o", "two.csv")
    assert (hospital / "one.csv").read_bytes() == (hospital / "two.csv").read_bytes()
    assert b"P00527" not in (hospital / "sealed.map").read_bytes()


def test_an_unkeyed_hash_is_refused_with_the_reason(hospital: Path, discreet):
    ran = discreet(
        *("deidentify", "patients.csv", "--method", "pseudonymize"),
        *("--hash", "sha256", "--columns", "patient_id", "-o", "o.csv"),
    )
    assert (ran.code, ran.error) == (2, "unkeyed-hash")
    assert not (hospital / "o.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("none.csv", *SAFE_HARBOR, "-o", "o.csv"), "no-such-source"),
        (("patients.csv", "-o", "o.csv"), "wrong-usage"),
        (("patients.csv", *SAFE_HARBOR), "wrong-usage"),
        (("patients.csv", *SAFE_HARBOR, "-o", "o.csv", "--threshold", "0.1"), "wrong-usage"),
        (("patients.csv", *SAFE_HARBOR, "-o", "o.csv", "--columns", "name"), "wrong-usage"),
        (("patients.csv", *SAFE_HARBOR, "-o", "o.csv", "--class", "sex"), "wrong-usage"),
        (("patients.csv", *SAFE_HARBOR, "-o", "o.csv", "--class", "sex=Z"), "wrong-usage"),
        (("patients.csv", *SAFE_HARBOR, "-o", "o.csv", "--keep", "nam"), "unknown-column"),
        (("patients.csv", *SAFE_HARBOR, "-o", "o.xlsx"), "output-refused"),
        (("patients.csv", *SAFE_HARBOR, "-o", "visits.csv"), "output-refused"),
        (("patients.csv", *SAFE_HARBOR, "-o", "patients.csv", "--force"), "output-refused"),
        (("patients.csv", *SAFE_HARBOR, "-o", "nowhere/o.csv"), "output-refused"),
        (
            ("patients.csv", *SAFE_HARBOR, "-o", "o.csv", "--restricted-zips", "policy.yaml"),
            "unreadable-source",
        ),
        (("patients.csv", *SAFE_HARBOR, "--dry-run", "--report", "r.html"), "wrong-usage"),
        (("patients.csv", "--method", "expert"), "wrong-usage"),
        (("patients.csv", *EXPERT, "--adversary", "journalist"), "wrong-usage"),
        (("patients.csv", *PSEUDONYMIZE, "-o", "o.csv"), "wrong-usage"),
        (
            ("patients.csv", "--method", "pseudonymize", "--columns", "name", "-o", "o.csv"),
            "invalid-key",
        ),
        (
            ("patients.csv", *PSEUDONYMIZE, "--columns", "name", "--tokens", "name", "-o", "o.csv"),
            "wrong-usage",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_input_is_refused_and_nothing_is_written(
    hospital: Path, discreet, arguments: tuple[str, ...], error: str
):
    before = {path: path.read_bytes() for path in hospital.iterdir()}
    ran = discreet("deidentify", *arguments)
    assert ran.code in (1, 2)
    assert ran.error == error
    assert {path: path.read_bytes() for path in hospital.iterdir()} == before
