"""A European extract and a survey file go through all commands without a word about their form."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyreadstat
import pytest

LINES = [
    f"{1000 + n};{1 + n % 2:02}.{1 + n % 3:02}.{1960 + n % 4};{1 + n % 3}.{n % 4}50,50;{'MW'[n % 2]};Köln"
    for n in range(240)
] + ["1240;31.12.1962;N/A;M;Köln", "1241;k.A.;1.250,50;W;Köln"]


@pytest.fixture
def extract(folder: Path) -> Path:
    path = folder / "kunden.csv"
    text = "\r\n".join(["nr;geboren;einkommen;geschlecht;ort", *LINES, ""])
    path.write_bytes(text.encode("cp1252"))
    return path


def test_the_draft_is_enough_for_the_commands_that_follow(extract: Path, discreet) -> None:
    assert discreet("init", extract, "-o", "kunden.yaml").code == 0
    text = Path("kunden.yaml").read_text("utf-8")
    assert 'reading: {encoding: cp1252, decimal: ",", thousands: "."' in text
    Path("kunden.yaml").write_text(text.replace(", unsure: true", ""), "utf-8")
    assessed = discreet("assess", extract, "--policy", "kunden.yaml")
    assert assessed.code == 0
    assert "missing" not in assessed.err
    made = discreet(
        *(
            "anonymize",
            extract,
            "--policy",
            "kunden.yaml",
            "--output",
            "out.csv",
            "--suppress",
            "0.2",
        ),
        *("--accept-risk", "a test"),
    )
    assert made.code == 0, made.err
    released = pd.read_csv("out.csv", dtype=str)
    assert set(released.columns) <= {"geboren", "einkommen", "geschlecht", "ort"}
    assert "Köln" in set(released["ort"])
    assert discreet("check", "out.csv", "--policy", "kunden.yaml", "--rows").code in (0, 3)


def test_assess_without_a_policy_says_what_it_assumed(extract: Path, discreet) -> None:
    found = discreet("assess", extract, "--quasi", "geboren,ort")
    assert "is read in cp1252, with a decimal comma" in found.out
    assert "`N/A` and `k.A.` as missing, 'geboren' as %d.%m.%Y" in found.out


def test_a_survey_file_is_released_by_its_labels(folder: Path, discreet) -> None:
    frame = pd.DataFrame({"v1": [1.0, 2.0] * 60, "v2": [30.0, 31.0, 99.0, 33.0] * 30})
    labels = {"v1": {1.0: "male", 2.0: "female"}, "v2": {99.0: "refused"}}
    pyreadstat.write_sav(
        frame,
        str(folder / "survey.sav"),
        column_labels=["Sex", "Age in years"],
        variable_value_labels=labels,
    )
    assert discreet("init", "survey.sav", "-o", "survey.yaml").code == 0
    text = Path("survey.yaml").read_text("utf-8")
    assert '# "Age in years"' in text
    Path("survey.yaml").write_text(text.replace(", unsure: true", ""), "utf-8")
    made = discreet(
        *("anonymize", "survey.sav", "--policy", "survey.yaml", "--output", "out.csv"),
        *("--accept-risk", "a test"),
    )
    assert made.code == 0, made.err
    released = pd.read_csv("out.csv", dtype=str)
    assert set(released["v1"].dropna()) <= {"male", "female", "*"}
    assert "99" not in set(released["v2"].dropna())


def test_a_cell_of_another_form_is_named_with_its_row_and_what_was_expected(
    extract: Path, discreet
) -> None:
    assert discreet("init", extract, "-o", "kunden.yaml").code == 0
    text = Path("kunden.yaml").read_text("utf-8")
    Path("kunden.yaml").write_text(text.replace(", unsure: true", ""), "utf-8")
    with extract.open("ab") as file:
        file.write(b"1300;um 1950;1,50;M;Ulm\r\n")
    found = discreet("assess", extract, "--policy", "kunden.yaml")
    assert "1 cell of 'geboren' is no date written as %d.%m.%Y (first in row 243)" in found.out
    made = discreet("anonymize", extract, "--policy", "kunden.yaml", "--output", "out.csv")
    assert made.code == 1
    assert "kunden.csv, row 243, column 'geboren': the cell is no date written as" in made.err
    assert "1950" not in made.err
