"""`discreet attack` on classes: homogeneity, background, skewness, similarity, inference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.flows.conftest import Discreet

METHODS = ("uniqueness", "homogeneity", "background", "skewness", "similarity", "inference")
KEYS = {"attack", "targets", "claimed", "correct", "rate", "interval", "baseline", "queries"}
ROLES = ("--quasi", "zip,age", "--sensitive", "ill,paid")
ROWS = ["476**,2*,heart,20", "476**,2*,heart,30", "4790*,4*,flu,50", "4790*,4*,cancer,90"]
POLICY = """\
tables:
  release:
    unit: patient
    tolerance: {homogeneity: 10%, default: 100%}
    columns:
      patient: identifier
      zip: quasi-identifier
      age: quasi-identifier
      ill: {role: sensitive, hierarchy: {file: ill.csv}}
      paid: {role: sensitive, bounds: [0, 100]}
"""


@pytest.fixture
def release(folder: Path) -> Path:
    path = folder / "release.csv"
    path.write_text("\n".join(["zip,age,ill,paid", *ROWS, ""]), encoding="utf-8")
    (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
    kinds = "heart;chest;*\nflu;chest;*\ncancer;other;*\n"
    (folder / "ill.csv").write_text(kinds, encoding="utf-8")
    return path


@pytest.mark.parametrize("method", METHODS)
def test_every_method_prints_findings_as_json(discreet: Discreet, release: Path, method: str):
    ran = discreet("attack", method, release.name, *ROLES, "--json")
    assert ran.code == 0
    assert ran.json
    assert all(set(found) >= KEYS and found["attack"] == method for found in ran.json)
    assert "heart" not in ran.out


@pytest.mark.parametrize("method", METHODS)
def test_every_method_teaches(discreet: Discreet, folder: Path, method: str):
    ran = discreet("attack", method, "--help")
    assert ran.code == 0
    assert "Examples:" in ran.out


def test_the_terminal_shows_one_record_worked_through(discreet: Discreet, release: Path):
    ran = discreet("attack", "homogeneity", release.name, *ROLES)
    assert "2 of 4 people (50.0 %)" in ran.out
    assert "all with ill heart" in ran.out


def test_the_policy_says_parts_and_what_is_tolerated(discreet: Discreet, release: Path):
    result = ("--policy", "policy.yaml")
    assert discreet("attack", "homogeneity", release.name, *result).code == 3
    assert discreet("attack", "skewness", release.name, *result).code == 0
    assert discreet("attack", "homogeneity", release.name, *result, "--tolerance", "60%").code == 0


def test_a_report_holds_no_value(discreet: Discreet, release: Path, folder: Path):
    ran = discreet("attack", "homogeneity", release.name, *ROLES, "--report", "found.html")
    assert ran.code == 0
    page = (folder / "found.html").read_text("utf-8")
    assert "homogeneity" in page
    assert "heart" not in page


def test_people_alone_on_columns_of_any_role_are_found_without_a_word_about_them(
    discreet: Discreet, release: Path
):
    ran = discreet("attack", "uniqueness", release.name, "--quasi", "zip", "--json")
    (found,) = ran.json
    assert (found["rate"], found["details"]["unique_on_all"]) == (1.0, 4)
    assert found["details"]["enough"] == ["paid"]
    ran = discreet("attack", "uniqueness", release.name, *ROLES, "--tolerance", "5%", "--json")
    assert (ran.code, ran.json[0]["exceeds"]) == (3, True)
    assert discreet("attack", "uniqueness", release.name, "--policy", "policy.yaml").code == 0


def test_likeness_goes_by_the_policy(discreet: Discreet, release: Path):
    ran = discreet("attack", "similarity", release.name, "--policy", "policy.yaml", "--json")
    by = {(found["details"]["columns"][0], found["details"]["by"]) for found in ran.json}
    assert by == {("ill", "hierarchy"), ("paid", "distance")}


def test_likeness_of_words_needs_an_order_or_groups(discreet: Discreet, release: Path):
    ran = discreet("attack", "similarity", release.name, "--quasi", "zip", "--sensitive", "ill")
    assert (ran.code, ran.error) == (2, "wrong-usage")


def test_knowledge_is_given_in_words(discreet: Discreet, release: Path):
    words = ("attack", "background", release.name, "--quasi", "zip", "--sensitive", "ill", "--json")
    (found,) = discreet(*words, "--knows", "ill <> 'flu'").json
    assert (found["targets"], found["claimed"], found["details"]["rules_out"]) == (3, 3, 0)
    (found,) = discreet(*words, "--knows", "paid").json
    assert (found["rate"], found["baseline"]) == (1.0, 1.0)
    ran = discreet(*words, "--knows", "ill <>")
    assert (ran.code, ran.error) == (2, "wrong-usage")


def test_one_person_is_found_by_what_people_know(discreet: Discreet, release: Path):
    words = (release.name, "--quasi", "zip,age", "--sensitive", "ill", "--person")
    ran = discreet("attack", "inference", *words, "zip=47678,age=27")
    assert "2 rows fit the person" in ran.out
    assert "ill heart: 100 %" in ran.out
    ran = discreet("attack", "background", *words, "zip=47905,age=41", "--knows", "ill <> 'flu'")
    assert "ill cancer: 100 %" in ran.out
    assert discreet("attack", "inference", *words, "zip").code == 2
    assert discreet("attack", "inference", *words, "zap=1").code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("--quasi", "zap", "--sensitive", "ill"),
        ("--quasi", "zip", "--sensitive", "zip"),
        ("--quasi", "zip"),
        ("--quasi", "zip", "--sensitive", "ill", "--table", "other"),
    ],
)
def test_wrong_words_are_wrong_usage(discreet: Discreet, release: Path, words: tuple[str, ...]):
    ran = discreet("attack", "homogeneity", release.name, *words)
    assert ran.code == 2
    assert "heart" not in ran.err


@pytest.mark.parametrize(
    "words",
    [
        ("similarity", "--within", "much"),
        ("inference", "--sure", "2"),
        ("skewness", "--shift", "x"),
    ],
)
def test_a_wrong_number_is_wrong_usage(discreet: Discreet, release: Path, words: tuple[str, ...]):
    method, *rest = words
    assert discreet("attack", method, release.name, *ROLES, *rest).code == 2


def test_guessed_parts_are_reported(discreet: Discreet, people: Path):
    ran = discreet("attack", "inference", people.name, "--sensitive", "ill")
    assert ran.code == 0
    assert "guessed" in ran.err


def test_the_manifest_beside_a_release_says_the_parts(discreet: Discreet, people: Path):
    made = discreet("anonymize", people.name, "--policy", "policy.yaml", "-o", "out.csv")
    assert made.code == 0, made.err
    ran = discreet("attack", "homogeneity", "out.csv", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json[0]["details"]["columns"] == ["ill"]
