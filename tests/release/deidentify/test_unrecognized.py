"""A column with an unknown name is recognized by its values, however many rows a person has."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from discreet.engines.connect import open_table
from discreet.measure.profile import guess_roles
from discreet.measure.profile.contents import DetectedClass, detect_class
from discreet.policy import model
from discreet.release.deidentify.apply_pseudonyms import PseudonymChoices
from discreet.release.deidentify.deidentify import pseudonymize_source
from discreet.release.deidentify.kinds import RandomToken
from discreet.release.deidentify.treatments import Action, treat_columns
from discreet.release.unlisted import unlisted_columns

ROWS_OF_A_PERSON = 4


def action(values: list[Any]) -> tuple[Action, str | None]:
    visits = [value for value in values for _ in range(ROWS_OF_A_PERSON)]
    table = open_table(pa.table({"x7": visits}))
    try:
        (found,) = treat_columns(table, guess_roles(table))
    finally:
        table.engine.close()
    return found.action, found.letter


@pytest.mark.parametrize(
    ("letter", "values"),
    [
        ("A", [f"Dr. {name}" for name in ("Smith", "Garcia", "Patel", "Nguyen")] * 10),
        ("B", [f"{n} Main St" for n in range(100, 140)]),
        ("B", [f"40.{71000 + n}, -74.{10000 + n}" for n in range(40)]),
        ("B", ["Boston", "Denver", "Tulsa", "Springfield"] * 10),
        ("D", [f"1-202-555-{n:04d}" for n in range(40)]),
        ("G", [f"321 54 {n:04d}" for n in range(1000, 1040)]),
        ("N", [f"facebook.com/u{n}" for n in range(40)]),
        ("O", [f"12.34.56.{n}:443" for n in range(40)]),
        ("Q", [f"/img/{n}.jpg" for n in range(40)]),
        ("R", [2025550100 + n for n in range(40)]),
        ("R", [2025550100.0 + n for n in range(40)]),
        ("R", [f"MR{1234500 + n}" for n in range(40)]),
        ("R", [f"{n % 9}ABC{100 + n}" for n in range(40)]),
    ],
)
def test_an_identifier_repeated_over_the_rows_of_a_person_is_removed(
    letter: str, values: list[Any]
):
    assert action(values) == (Action.REMOVE, letter)


@pytest.mark.parametrize(
    "values",
    [
        [f"{n:02d}-Mar-2020" for n in range(1, 29)],
        [f"March {n}, 2020" for n in range(1, 29)],
        [20200301 + n for n in range(28)],
        [f"2020-{n:02d}" for n in range(1, 13)],
        [f"2020-Q{n}" for n in range(1, 5)],
        [f"2020-W{n:02d}" for n in range(1, 53)],
        [1930.0, 1950.0, 1960.0],
        ["1930", "1950", "1960"],
    ],
)
def test_dates_and_years_are_recognized_by_their_values(values: list[Any]):
    assert action(values) == (Action.YEAR, "C")


@pytest.mark.parametrize(
    "values",
    [
        ["mild", "moderate", "severe"] * 10,
        ["White", "Black", "Asian"] * 10,
        ["Maine", "New York", "Washington", "Utah", "Texas", "Ohio"] * 10,
        [f"{90 + n}/{60 + n}" for n in range(40)],
        [f"{n}.5" for n in range(40)],
        ["<0.5", ">10", "3.2"] * 10,
        [90 + n for n in range(40)],
        [f"{n}-{n + 9}" for n in range(0, 80, 10)],
        ["12345678", "87654321"] * 200,
    ],
)
def test_measurements_and_categories_stay(values: list[Any]):
    assert action(values) == (Action.KEEP, None)


def test_a_name_among_other_words_is_taken_out_of_the_column():
    assert action([*["not seen", "seen twice", "left early"] * 10, "ask Mary Smith"]) == (
        Action.REDACT,
        None,
    )


def test_a_code_that_many_people_share_stays():
    codes = [str(30042490 + n) for n in range(30)]
    assert detect_class(dict.fromkeys(codes, 3_000), is_number=True) is None
    assert detect_class(dict.fromkeys(codes, 10), is_number=True) == DetectedClass(
        "R", is_whole=True
    )


def test_pseudonyms_and_classes_do_not_publish_what_only_its_values_reveal():
    visits = [f"(202) 555-{n // 4:04d} x{n // 4}" for n in range(160)]
    table = pa.table({"patient_id": [f"P{n // 4}" for n in range(160)], "x7": visits})
    found = pseudonymize_source(table, choices=PseudonymChoices({"patient_id": RandomToken()}))
    assert found.column("x7").action == "removed"
    opened = open_table(table)
    policy = model.TablePolicy(
        "t", (model.ColumnPolicy("patient_id", model.ColumnRole.IDENTIFIER),)
    )
    try:
        assert unlisted_columns(opened, policy).left_out == ("x7",)
    finally:
        opened.engine.close()
