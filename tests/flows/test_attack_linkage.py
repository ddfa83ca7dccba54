"""`discreet attack linkage`, from a voter list to named patients, and to no one after anonymize."""

from __future__ import annotations

import shutil
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.flows.conftest import Discreet

ON = "birth_date,sex,postcode"


@pytest.fixture
def hospital(folder: Path) -> Path:
    """The hospital's files, in the working folder."""
    bundled = Path(str(files("discreet") / "data" / "hospital"))
    for path in bundled.iterdir():
        shutil.copy(path, folder)
    return folder


def test_the_voter_list_names_patients_and_not_their_anonymized_release(
    hospital: Path, discreet: Discreet
):
    words = ("--known", "voters.csv", "--policy", "policy.yaml", "--table", "patients", "--json")
    raw = discreet(
        "attack", "linkage", "patients.csv", *words, "--truth", "name", "--tolerance", "1%"
    )
    assert raw.code == 3
    found = raw.json[0]
    assert (found["targets"], found["claimed"], found["correct"]) == (3070, 1293, 1287)
    assert found["details"]["linked_absent"] == 6
    made = discreet(
        "anonymize",
        "patients.csv",
        "--policy",
        "policy.yaml",
        "--table",
        "patients",
        "-o",
        "released.csv",
    )
    assert made.code == 0, made.err
    safe = discreet(
        "attack", "linkage", "released.csv", "--known", "voters.csv", "--tolerance", "0", "--json"
    )
    assert safe.code == 0
    assert (safe.json[0]["claimed"], safe.json[0]["details"]["unique_in_release"]) == (0, 0)
    assert safe.json[0]["details"]["on"] == ["birth_date", "sex", "postcode"]


def test_the_worked_example_is_on_the_terminal_only(hospital: Path, discreet: Discreet):
    words = ("attack", "linkage", "patients.csv", "--known", "voters.csv", "--on", ON)
    shown = discreet(*words, "--sensitive", "diagnosis", "--report", "found.html")
    assert "Known: Lucy Winterbourne has birth_date 1928-08-24" in shown.out
    result = discreet(*words, "--sensitive", "diagnosis", "--json")
    page = (hospital / "found.html").read_text("utf-8")
    assert not any("Winterbourne" in text or "1928-08-24" in text for text in (result.out, page))


def test_group_names_are_read_by_the_manifest_beside_the_release(folder: Path, discreet: Discreet):
    rows = ["nation,ill", *["Japan,flu", "India,cold", "Spain,flu", "France,hiv"] * 3]
    Path("people.csv").write_text("\n".join([*rows, ""]))
    Path("policy.yaml").write_text(
        "tables: {people: {columns: {nation: {role: quasi-identifier, hierarchy: "
        "{tree: {Asia: [Japan, India], Europe: [Spain, France]}}}, ill: sensitive}, "
        "tolerance: 100%, criteria: [k-anonymity: {k: 6}]}}\n"
    )
    made = discreet("anonymize", "people.csv", "--policy", "policy.yaml", "-o", "out.csv")
    assert made.code == 0, made.err
    Path("known.csv").write_text("name,nation\nKei,Japan\nZed,Chile\n")
    found = discreet("attack", "linkage", "out.csv", "--known", "known.csv", "--json").json[0]
    assert found["details"]["candidates"] == {"0": 1, **{str(n): 0 for n in range(1, 6)}, "6": 1}
    assert found["details"]["learned"]["ill"]["belief"] == 0.5
    Path("out.csv.release.json").unlink()
    blind = discreet(
        "attack", "linkage", "out.csv", "--known", "known.csv", "--on", "nation", "--json"
    )
    assert blind.json[0]["details"]["candidates"] == {"0": 2, "1": 0}


def test_a_tolerance_in_days_finds_who_remembers_about_when(folder: Path, discreet: Discreet):
    Path("visits.csv").write_text("admitted,ward\n2021-03-01,a\n2021-03-09,a\n2021-03-02,b\n")
    Path("diary.csv").write_text("name,day,ward\nAnn,2021-03-03,a\n")
    words = (
        "attack",
        "linkage",
        "visits.csv",
        "--known",
        "diary.csv",
        "--on",
        "day=admitted,ward",
        "--json",
    )
    assert discreet(*words).json[0]["claimed"] == 0
    assert discreet(*words, "--within", "day=3d").json[0]["claimed"] == 1
    assert discreet(*words, "--within", "day=1w").json[0]["claimed"] == 0


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((), "wrong-usage"),
        (("--on", "birthdate"), "unknown-column"),
        (("--on", "sex", "--within", "sex=3"), "wrong-usage"),
        (("--on", "sex", "--truth", "nam"), "unknown-column"),
        (("--on", "sex", "--fuzzy"), "wrong-usage"),
        (("--on", "birth_date", "--fuzzy", "--within", "birth_date=3d"), "wrong-usage"),
        (("--on", "sex", "--manifest", "none.json"), "no-such-source"),
    ],
)
def test_wrong_words_exit_with_2(words, error, hospital: Path, discreet: Discreet):
    ran = discreet("attack", "linkage", "patients.csv", "--known", "voters.csv", *words)
    assert (ran.code, ran.error) == (2, error)


def test_a_file_without_people_is_reported(hospital: Path, discreet: Discreet):
    Path("none.csv").write_text("sex\n")
    ran = discreet("attack", "linkage", "patients.csv", "--known", "none.csv", "--on", "sex")
    assert (ran.code, ran.error) == (1, "empty-source")
