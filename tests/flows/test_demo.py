"""`discreet demo` from end to end: the real commands run on the written files."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.cli.demo import DEMO_STEPS, RESULTS
from discreet.cli.demo_files import read_hospital

pytestmark = pytest.mark.xdist_group("demo")  # the demo runs once
DISCREET = Path(sys.executable).parent / "discreet"


def discreet(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [DISCREET, *arguments], cwd=folder, capture_output=True, encoding="utf-8", check=False
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def result(place: Path) -> subprocess.CompletedProcess[str]:
    return discreet("demo", folder=place)


@pytest.fixture(scope="module")
def story(
    result: subprocess.CompletedProcess[str], place: Path
) -> subprocess.CompletedProcess[str]:
    return discreet("demo", "--force", "--json", folder=place)


def test_the_demo_ends_well_and_keeps_to_three_screens(result):
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) < 135


def test_every_chapter_shows_its_question_and_its_command(result):
    assert all(chapter.question in result.stdout for chapter in DEMO_STEPS)
    assert "$ discreet init discreet-demo/patients.csv" in result.stdout
    assert "$ discreet check discreet-demo/patients.csv --policy" in result.stdout


def test_the_raw_table_is_shown_to_be_unsafe(result):
    assert "1,988 of 2,000 people are unique on birth_date, sex and postcode" in result.stdout
    assert "FAILED k-anonymity: reached k = 1, required k ≥ 5" in result.stdout
    assert "exit code 3" in result.stdout


def test_a_voter_list_finds_patients_and_no_one_in_the_release(result):
    assert (
        "1,293 of 3,070 people in voters.csv are linked to one row of patients.csv" in result.stdout
    )
    assert "None of 3,070 people in voters.csv is linked to a row of released.csv" in result.stdout


def test_the_release_is_shown_to_be_safe_enough(result):
    assert "everyone looks like at least 4 others (k = 5)" in result.stdout
    assert "ok     k-anonymity: reached k = 5, required k ≥ 5" in result.stdout


def test_a_table_without_names_is_shown_to_be_refused(result, place):
    # Safe Harbor counts ages to this year, so that the number falls slowly: 1,970 in 2026.
    assert re.search(
        r"1,9\d\d people of 2,000 .* are alone on the columns that stay", result.stdout
    )
    assert result.stdout.count("exit code 3") == 2
    assert not (place / "discreet-demo" / "shared.csv").exists()


def test_the_demo_accepts_no_risk_and_its_release_has_a_green_headline(result, place):
    assert "--accept-risk" not in result.stdout
    assert "tolerance:" not in (place / "discreet-demo" / "policy.yaml").read_text()
    page = (place / "discreet-demo" / "released.html").read_text()
    assert '<p class="status holds">' in page


def test_answers_show_their_error_and_their_price(result):
    assert "Answer (± 95 % confidence, for the noise alone)" in result.stdout
    assert "Spent epsilon 0.5. Left: epsilon 2.5 and delta 1e-6." in result.stdout


def test_the_budget_is_shown_to_refuse(result):
    assert "This question costs epsilon 2.5, and account" in result.stdout
    assert "exit code 4" in result.stdout


@pytest.mark.soak
def test_the_difference_of_two_answers_is_shown_to_drown(story):
    attack = next(
        chapter
        for chapter in json.loads(story.stdout)["chapters"]
        if "two answers" in chapter["question"]
    )
    difference, error = (
        float(cell.replace(",", "")) for cell in attack["output"].splitlines()[4].split()
    )
    # The salary of the patient is 19,000; the noise is as wide as many people's salaries.
    assert error > 1_000_000
    assert abs(difference) < 10 * error


@pytest.mark.soak
def test_spending_stays_in_the_folder(place, story):
    typed = discreet("budget", "--ledger", "discreet-demo/ledger.sqlite", "--json", folder=place)
    (account,) = json.loads(typed.stdout)["accounts"]
    assert account["account"].startswith("table:patients.csv#")
    assert account["epsilon"] == {"spent": 1.0, "limit": 3.0, "left": 2.0}


def test_the_excerpts_begin_where_they_should(result):
    assert all(chapter.begins in result.stdout for chapter in DEMO_STEPS)


def test_the_files_and_the_report_are_written(result, place):
    written = {path.name for path in (place / "discreet-demo").iterdir()}
    assert written == {*read_hospital(), *RESULTS}
    assert "written: discreet-demo/report.html, " in result.stdout


def test_no_patient_is_named_in_the_output(result, place):
    lines = (place / "discreet-demo" / "patients.csv").read_text(encoding="utf-8").splitlines()
    names = [line.split(",")[1] for line in lines[1:]]
    assert not [name for name in names if name in result.stdout]


def test_a_second_demo_is_refused_without_force(result, place):
    again = discreet("demo", folder=place)
    assert again.returncode == 2
    assert "[output-refused]" in again.stderr
    assert "--force" in again.stderr
    assert again.stdout == ""


@pytest.mark.soak
def test_the_story_as_json_holds_what_each_command_printed(story, place):
    assert story.returncode == 0, story.stderr
    found = json.loads(story.stdout)
    assert found["folder"] == "discreet-demo"
    expected = [step.exit_code for step in DEMO_STEPS]
    assert [chapter["exit_code"] for chapter in found["chapters"]] == expected
    assert {0, 3, 4} == set(expected)
    gate = found["chapters"][2]
    typed = discreet(*gate["command"].split()[1:], folder=place)
    assert (typed.returncode, typed.stdout + typed.stderr) == (gate["exit_code"], gate["output"])
