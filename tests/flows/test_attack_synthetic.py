"""Attacks on synthetic data through the command line: copies are found, words say what to do."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.flows.conftest import Discreet

ATTACKS = ["singling-out", "linkability", "attribute", "closest"]
GIVEN = ["--source", "people.csv", "--control", "others.csv", "--seed", 1]


def draw(chance: random.Random, rows: int) -> list[str]:
    return [
        f"{chance.randint(18, 90)},{chance.choice('fm')},z{chance.randint(100, 160)},"
        f"{chance.randint(10_000, 90_000)},{chance.choice(['flu', 'cold', 'hiv', ''])}"
        for _ in range(rows)
    ]


@pytest.fixture
def tables(folder: Path) -> Path:
    chance = random.Random(5)
    people, others = draw(chance, 200), draw(chance, 200)
    made = {
        "people.csv": people,
        "others.csv": others,
        "leaky.csv": [chance.choice(people) for _ in range(200)],
        "honest.csv": draw(chance, 200),
    }
    for name, rows in made.items():
        (folder / name).write_text("\n".join(["age,sex,zip,income,ill", *rows, ""]))
    return folder


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_table_that_copies_people_exits_3(attack: str, tables: Path, discreet: Discreet):
    ran = discreet("attack", attack, "leaky.csv", *GIVEN, "--tolerance", "5%")
    assert ran.code == 3
    assert f"✗ {attack}: " in ran.out
    assert "For your eyes only" in ran.out


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_table_that_copies_no_one_exits_0(attack: str, tables: Path, discreet: Discreet):
    ran = discreet("attack", attack, "honest.csv", *GIVEN, "--tolerance", "5%", "--json")
    assert ran.code == 0
    for found in ran.json:
        assert found["attack"] == attack
        assert found["control"] is not None
        assert not found["exceeds"]


def test_each_column_is_a_secret_in_turn(tables: Path, discreet: Discreet):
    ran = discreet("attack", "attribute", "leaky.csv", *GIVEN, "--json")
    secrets = sorted(found["details"]["secret"] for found in ran.json)
    assert secrets == ["age", "ill", "income", "sex", "zip"]


def test_the_policy_says_what_is_secret_and_tolerated(tables: Path, discreet: Discreet):
    (tables / "policy.yaml").write_text(
        "tables:\n  people:\n    tolerance: {attribute: 10%}\n"
        "    columns: {age: quasi-identifier, ill: sensitive}\n"
    )
    ran = discreet("attack", "attribute", "leaky.csv", *GIVEN, "--policy", "policy.yaml", "--json")
    assert ran.code == 3
    assert [found["details"]["secret"] for found in ran.json] == ["ill"]
    assert ran.json[0]["tolerance"] == 0.1


def test_two_sets_of_columns_are_named(tables: Path, discreet: Discreet):
    ran = discreet(
        "attack", "linkability", "leaky.csv", *GIVEN, "--first", "age,sex", "--second", "zip",
        "--neighbors", 3, "--json",
    )  # fmt: skip
    assert ran.json[0]["details"]["first"] == ["age", "sex"]
    assert ran.json[0]["details"]["neighbors"] == 3


@pytest.mark.parametrize(
    ("words", "code", "result"),
    [
        (["--source", "people.csv"], 2, "--control"),
        ([*GIVEN, "--columns", "agee"], 2, "Did you mean 'age'"),
        ([*GIVEN, "--guesses", 0], 2, "--guesses"),
        (["--source", "missing.csv", "--control", "others.csv"], 2, "missing.csv"),
    ],
)
def test_wrong_words_are_answered(
    tables: Path, discreet: Discreet, words: list[object], code: int, result: str
):
    ran = discreet("attack", "closest", "leaky.csv", *words)
    assert ran.code == code
    assert result in ran.err


@pytest.mark.parametrize("attack", [*ATTACKS, "census"])
def test_help_teaches_by_examples(attack: str, discreet: Discreet):
    ran = discreet("attack", attack, "--help")
    assert ran.code == 0
    assert f"discreet attack {attack} " in ran.out.partition("Examples:")[2]


def test_files_are_read_as_they_were_written(tables: Path, discreet: Discreet):
    for name in ("people.csv", "others.csv", "leaky.csv"):
        text = (tables / name).read_text().replace("flu", "Grippé").replace(",", "|")
        (tables / name).write_bytes(text.encode("latin-1"))
    given = (*GIVEN, "--delimiter", "|", "--encoding", "latin-1", "--secret", "ill")
    ran = discreet("attack", "attribute", "leaky.csv", *given)
    assert ran.code == 0
    assert "right 'ill' of" in ran.out
