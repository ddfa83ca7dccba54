"""`discreet attack composition` and `republication`, from files to findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.flows.conftest import Discreet

FILES = {
    "north.csv": 'age,zip,ill\n"[20, 29]",130**,flu\n"[20, 29]",130**,hiv\n"[30, 39]",130**,flu\n',
    "south.csv": "age,postcode,ill\n< 30,1305*,hiv\n< 30,1305*,cold\n>= 30,1305*,flu\n",
    "people.csv": "name,age,zip,ill\nann,25,13053,hiv\nbob,70,99999,flu\n",
    "later.csv": "name,age,zip,ill\nann,31,13053,hiv\nbob,70,99999,flu\n",
    "others.csv": "age,zip,ill\n26,13053,flu\n",
}
ROLES = ("--on", "age", "--sensitive", "ill")


@pytest.fixture
def releases(folder: Path) -> Path:
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_two_releases_reveal_what_neither_reveals_alone(discreet: Discreet, releases: Path):
    words = ("composition", "north.csv", "south.csv", "--known", "people.csv", *ROLES)
    ran = discreet("attack", *words, "--control", "others.csv", "--json")
    assert ran.code == 0
    (found,) = [one for one in ran.json if "column" in one["details"]]
    assert (found["targets"], found["claimed"], found["correct"]) == (2, 1, 1)
    assert (found["control"], found["baseline"]) == (0.0, 0.0)
    assert discreet("attack", *words, "--tolerance", "5%").code == 3


def test_releases_are_joined_by_every_column_that_both_publish(discreet: Discreet, releases: Path):
    for name, jobs in (("north.csv", "xyz"), ("south.csv", "yxz")):
        header, *rows = FILES[name].splitlines()
        lines = [f"{header},job", *(f"{row},{job}" for row, job in zip(rows, jobs, strict=True))]
        (releases / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = ("attack", "composition", "north.csv", "south.csv", "--known", "people.csv", *ROLES)
    candidates = next(one for one in discreet(*words, "--json").json if "k" in one["details"])
    assert candidates["details"]["joined_by"] == ["ill", "job"]
    assert candidates["claimed"] == 1
    less = discreet(*words, "--joined-by", "ill", "--json").json
    assert {tuple(one["details"]["joined_by"]) for one in less} == {("ill",)}


def test_a_release_may_call_a_column_otherwise(discreet: Discreet, releases: Path):
    north = FILES["north.csv"].replace("zip", "postcode")
    (releases / "north.csv").write_text(north, encoding="utf-8")
    words = ("--known", "people.csv", "--on", "age,zip=postcode", "--sensitive", "ill")
    ran = discreet("attack", "composition", "north.csv", "south.csv", *words)
    assert ran.code == 0
    assert "Only hiv is left." in ran.out


def test_successive_releases_follow_people_by_name(discreet: Discreet, releases: Path):
    known = ("--known", "people.csv", "--known", "later.csv")
    words = ("attack", "republication", "north.csv", "north.csv", *known, *ROLES, "--json")
    (found,) = discreet(*words, "--name", "name").json
    assert found["details"]["located_in_each"] == [1, 1]
    assert discreet(*words).code == 2


@pytest.mark.parametrize("method", ["composition", "republication"])
def test_one_release_is_wrong_usage(discreet: Discreet, releases: Path, method: str):
    ran = discreet("attack", method, "north.csv", "--known", "people.csv", *ROLES)
    assert (ran.code, ran.error) == (2, "wrong-usage")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--on", "agee", "--sensitive", "ill"), "unknown-column"),
        (("--on", "age", "--sensitive", "il"), "unknown-column"),
        (("--on", "age"), "wrong-usage"),
        (("--on", "age", "--sensitive", "age"), "wrong-usage"),
    ],
)
def test_wrong_words_say_what_was_expected(
    discreet: Discreet, releases: Path, words: tuple[str, ...], error: str
):
    ran = discreet(
        "attack", "composition", "north.csv", "south.csv", "--known", "people.csv", *words
    )
    assert (ran.code, ran.error) == (2, error)


def test_without_words_people_are_found_by_what_all_tables_share(
    discreet: Discreet, releases: Path
):
    words = ("north.csv", "south.csv", "--known", "people.csv", "--sensitive", "ill")
    ran = discreet("attack", "composition", *words, "--json")
    assert "A person's age," in ran.json[0]["knowledge"]
