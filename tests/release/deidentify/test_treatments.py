"""Each column gets the class the rule names, and what is unclear goes."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from discreet.engines.connect import open_table
from discreet.errors import ConflictingRoles, UnknownColumn, WrongUsage
from discreet.measure.profile import guess_roles
from discreet.policy import model
from discreet.policy.model import ColumnRole
from discreet.release.deidentify.treatments import Action, Treatment, treat_columns

ROWS = 60


def treated(values: dict[str, list[Any]], **choices: Any) -> dict[str, Treatment]:
    table = open_table(pa.table(values))
    try:
        found = treat_columns(table, guess_roles(table), **choices)
    finally:
        table.engine.close()
    return {item.column: item for item in found}


def codes(pattern: str) -> list[str]:
    return [pattern.format(number) for number in range(ROWS)]


IDENTIFIERS = {
    "A": ("last_name", codes("Smith{:03d}")),
    "B": ("address", codes("{} Main Street")),
    "D": ("phone", codes("+1 212 555 01{:02d}")),
    "E": ("fax", codes("212-555-01{:02d}")),
    "F": ("contact", codes("p{}@example.org")),
    "G": ("ssn", codes("123-45-67{:02d}")),
    "H": ("mrn", codes("{:06d}")),
    "I": ("member_number", codes("M{:05d}")),
    "J": ("account_number", codes("{:08d}")),
    "K": ("license_number", codes("L{:05d}")),
    "L": ("license_plate", codes("ABC {:03d}")),
    "M": ("device_id", codes("dev-{:05d}")),
    "N": ("page", codes("https://example.org/{}")),
    "O": ("seen_from", codes("10.0.0.{}")),
    "P": ("fingerprint", codes("f{:05d}")),
    "Q": ("photo", codes("{}.jpg")),
    "R": ("token", codes("t-{}")),
}


@pytest.mark.parametrize("letter", IDENTIFIERS)
def test_an_identifier_of_each_class_is_removed(letter: str):
    name, values = IDENTIFIERS[letter]
    found = treated({name: values})[name]
    assert (found.action, found.letter) == (Action.REMOVE, letter)


@pytest.mark.parametrize(
    ("name", "values", "action", "letter"),
    [
        ("zip", ["10001", "03601"] * 30, Action.PREFIX, "B"),
        ("zip", [10001, 3601] * 30, Action.PREFIX, "B"),
        ("city", ["Springfield", "Shelbyville"] * 30, Action.REMOVE, "B"),
        ("county", ["Cook", "Lake"] * 30, Action.REMOVE, "B"),
        ("state", ["NY", "NH"] * 30, Action.KEEP, None),
        ("place_of_birth", ["Springfield", "Boston"] * 30, Action.REMOVE, "B"),
        ("country_of_birth", ["France", "Spain"] * 30, Action.KEEP, None),
        ("latitude", [40.7, 41.9] * 30, Action.REMOVE, "B"),
        ("hospital", ["St. Mary", "General"] * 30, Action.REMOVE, "B"),
        ("employer", ["Acme", "Initech"] * 30, Action.REMOVE, "A"),
        ("ward", ["surgery", "maternity"] * 30, Action.KEEP, None),
        ("age", [34, 91] * 30, Action.AGE, "C"),
        ("birth_yr", [1934.0, 1991.0] * 30, Action.YEAR, "C"),
        ("los_days", [3, 14] * 30, Action.KEEP, None),
        ("months_on_treatment", [3, 14] * 30, Action.KEEP, None),
        ("days_since_birth", [3000, 14000] * 30, Action.REMOVE, "C"),
        ("weekday", ["Mon", "Tue"] * 30, Action.REMOVE, "C"),
        ("cpt", ["99213", "36415"] * 30, Action.KEEP, None),
        ("age_in_months", [34, 91] * 30, Action.REMOVE, "C"),
        ("birth_year", [1934, 1991] * 30, Action.YEAR, "C"),
        ("admitted", [dt.date(2020, 1, 1), dt.date(2020, 1, 2)] * 30, Action.YEAR, "C"),
        ("dob", ["1950-01-01", "1960-02-02"] * 30, Action.YEAR, "C"),
        ("month", [1, 12] * 30, Action.REMOVE, "C"),
        ("at", [dt.time(1, 2), dt.time(3, 4)] * 30, Action.REMOVE, "C"),
        ("scan", [b"\x00", b"\x01"] * 30, Action.REMOVE, "R"),
        ("sex", ["F", "M"] * 30, Action.KEEP, None),
        ("diagnosis", ["flu", "cold"] * 30, Action.KEEP, None),
        ("salary", list(range(20_000, 20_000 + ROWS)), Action.KEEP, None),
        ("q17", ["yes", "no"] * 30, Action.KEEP, None),
        ("q18", codes("answer {}"), Action.REMOVE, "R"),
        ("q19", [number / 7 for number in range(ROWS)], Action.REMOVE, "R"),
    ],
)
def test_a_column_is_treated_as_the_rule_says(
    name: str, values: list[Any], action: Action, letter: str | None
):
    found = treated({name: values})[name]
    assert (found.action, found.letter) == (action, letter), found.reason


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("remarks", [f"Seen on the ward and sent home, case {n}" for n in range(ROWS)]),
        ("q20", [f"Seen on the ward and sent home, case {n}" for n in range(ROWS)]),
        ("comment", ["call back", "none"] * 30),
        ("diagnosis", ["flu"] * (ROWS - 1) + ["flu, ask kim@example.org"]),
        ("notes", [f"Wrote to p{n}@example.org about the result today" for n in range(ROWS)]),
    ],
)
def test_free_text_is_redacted(name: str, values: list[str]):
    assert treated({name: values})[name].action is Action.REDACT


def test_a_region_with_more_values_than_there_are_states_is_a_smaller_place():
    values = [f"region {number % 70}" for number in range(700)]
    found = treated({"region": values})["region"]
    assert (found.action, found.letter) == (Action.REMOVE, "B")


def test_the_custodian_knows_better():
    values = {
        "ref": codes("{:06d}"),
        "area": ["10001", "10002"] * 30,
        "seen": ["2020-01-01", "2021-01-01"] * 30,
        "q1": ["yes", "no"] * 30,
    }
    classes = {"ref": "h", "area": "B", "seen": "C", "q1": "text"}
    found = treated(values, classes=classes)
    assert [item.action for item in found.values()] == [
        Action.REMOVE,
        Action.PREFIX,
        Action.YEAR,
        Action.REDACT,
    ]
    assert treated(values, keep=["ref"])["ref"].action is Action.KEEP


def test_whole_numbers_of_a_stated_class_are_not_taken_for_zip_codes_or_ages():
    values = {"district": [1, 50] * 30, "visited": [3, 28] * 30}
    found = treated(values, classes={"district": "B", "visited": "C"})
    assert found["district"].action is Action.REMOVE
    assert found["visited"].action is Action.YEAR  # in which nothing can be read
    found = treated(values, classes={"district": "zip", "visited": "age"})
    assert (found["district"].action, found["visited"].action) == (Action.PREFIX, Action.AGE)


def test_the_policy_has_a_say_but_not_against_the_rule():
    values = {"q1": ["yes", "no"] * 30, "q2": codes("{}%"), "email": codes("p{}@example.org")}
    roles = {
        "q1": ColumnRole.IDENTIFIER,
        "q2": ColumnRole.SENSITIVE,
        "email": ColumnRole.INSENSITIVE,
    }
    policy = model.TablePolicy(
        "t", tuple(model.ColumnPolicy(name, role) for name, role in roles.items())
    )
    found = treated(values, policy=policy)
    assert found["q1"].action is Action.REMOVE
    assert found["q2"].action is Action.REDACT
    assert found["email"].action is Action.REMOVE


def test_an_unknown_class_or_column_is_refused():
    with pytest.raises(WrongUsage, match="A to R"):
        treated({"q": ["a"]}, classes={"q": "S"})
    with pytest.raises(UnknownColumn, match="'x'"):
        treated({"q": ["a"]}, keep=["x"])
    with pytest.raises(ConflictingRoles, match="'q'"):
        treated({"q": ["a"]}, keep=["q"], classes={"q": "A"})
