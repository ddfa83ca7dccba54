"""Census reconstruction through the command line: a block, a table, and what is wrong with either."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.flows.conftest import Discreet

BLOCK = """\
people: 4
variables: {age: 0..115, race: [White, Asian]}
groups:
  - {where: {age: 17}, count: 2}
  - {where: {race: White}, count: 2, age: {mean: exactly 30}}
  - {where: {race: Asian}, count: 2, age: {mean: exactly 32}}
"""
TRUTH = "age,race\n17,White\n43,White\n17,Asian\n47,Asian\n"


@pytest.fixture
def block(folder: Path) -> Path:
    (folder / "block.yaml").write_text(BLOCK)
    (folder / "truth.csv").write_text(TRUTH)
    return folder


def test_one_table_is_reported_with_its_people(block: Path, discreet: Discreet):
    ran = discreet("attack", "census", "block.yaml", "--tolerance", "0")
    assert ran.code == 3
    assert "Exactly one table of 4 people" in ran.out
    assert "age 43, race White" in ran.out


def test_json_reports_how_many_tables_and_no_age_of_a_person(block: Path, discreet: Discreet):
    ran = discreet("attack", "census", "block.yaml", "--truth", "truth.csv", "--json")
    found = ran.json[0]
    assert ran.code == 0
    assert found["correct"] == found["claimed"] == found["targets"] == 4
    assert found["details"]["solutions"] == 1
    assert found["details"]["unique"]
    assert "43" not in ran.out


def test_a_custodian_tests_what_is_about_to_be_published(block: Path, discreet: Discreet):
    ran = discreet("attack", "census", "--table", "truth.csv", "--ways", 1, "--json")
    found = ran.json[0]
    assert found["details"]["solutions"] == 4
    assert found["details"]["matched"] in range(5)
    two = discreet("attack", "census", "--table", "truth.csv", "--columns", "race,age", "--json")
    assert two.json[0]["rate"] == 1


def test_hidden_small_cells_are_ranges(block: Path, discreet: Discreet):
    ran = discreet("attack", "census", "--table", "truth.csv", "--suppress", 3, "--json")
    assert ran.json[0]["details"]["solutions"] == 1


def test_a_cap_is_reported(block: Path, discreet: Discreet):
    (block / "open.yaml").write_text("people: 3\nvariables: {age: 0..9}\n")
    ran = discreet("attack", "census", "open.yaml", "--most", 7, "--time", 30)
    assert "More than 7 tables of 3 people" in ran.out


@pytest.mark.parametrize(
    ("words", "result"),
    [
        ([], "either a BLOCK.yaml or --table"),
        (["block.yaml", "--table", "truth.csv"], "either a BLOCK.yaml or --table"),
        (["block.yaml", "--ways", 2], "--ways goes with --table"),
        (["blok.yaml"], "Did you mean 'block.yaml'"),
        (["--table", "truth.csv", "--ways", 3], "ways is from 1 to 2"),
        (["block.yaml", "--time", 0], "--time"),
        (["truth.csv"], "truth.csv:1: "),
    ],
)
def test_wrong_words_are_answered(
    block: Path, discreet: Discreet, words: list[object], result: str
):
    ran = discreet("attack", "census", *words)
    assert ran.code == 2
    assert result in ran.err


def test_every_fault_of_a_block_is_reported(block: Path, discreet: Discreet):
    (block / "bad.yaml").write_text(BLOCK.replace("White}", "Wite}").replace("people", "poeple"))
    ran = discreet("attack", "census", "bad.yaml")
    assert ran.code == 2
    assert "bad.yaml:1: unknown key 'poeple'. Did you mean 'people'?" in ran.err
    assert "bad.yaml:5: 'race' cannot be 'Wite'. Did you mean 'White'?" in ran.err
