"""Roles are guessed from content and names, and doubt falls on the safe side."""

from __future__ import annotations

import datetime as dt
import random
import uuid
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from discreet.engines.connect import open_table
from discreet.measure.profile import RoleGuess, guess_roles
from discreet.measure.profile.guess import guess_column
from discreet.measure.profile.statistics import describe_columns
from discreet.measure.text.checksums import passes_bsn, passes_luhn
from discreet.policy.model import ColumnRole

RANDOM = random.Random(7)
ROWS = 400


def guess(name: str, values: list[Any]) -> RoleGuess:
    return guess_roles(open_table(pa.table({name: values})))[name]


def digits(length: int) -> str:
    return f"{RANDOM.randrange(10**length):0{length}}"


CARDS = [
    body + str(check)
    for body in (f"4{digits(14)}" for _ in range(ROWS))
    for check in range(10)
    if passes_luhn(body + str(check))
]
BSNS = [int(text) for text in (digits(9) for _ in range(9000)) if passes_bsn(text)]
GIVEN = ["Anna", "Peter", "Maria", "John", "Lucia", "Hans", "Zed", "Abby"]
FAMILY = ["Meier", "Stone", "Garcia", "Rossi", "Low", "Foe", "Petit"]

WITHOUT_A_NAME = {
    "e-mail address": [f"user{n}@example.org" for n in range(ROWS)],
    "phone number": [f"+44 20 7946 {n:04}" for n in range(ROWS)],
    "US social security number": [f"123-45-{n:04}" for n in range(1, ROWS)],
    "URL": [f"https://example.org/{n}" for n in range(ROWS)],
    "IP address": [f"10.0.{n // 250}.{n % 250}" for n in range(ROWS)],
    "IPv6 address": [f"2001:db8::{n:x}" for n in range(1, ROWS)],
    "MAC address": [f"00:1A:2B:3C:{n // 256:02X}:{n % 256:02X}" for n in range(ROWS)],
    "UUID": [str(uuid.UUID(int=RANDOM.getrandbits(128))) for _ in range(ROWS)],
    "payment card number": [" ".join(card[i : i + 4] for i in (0, 4, 8, 12)) for card in CARDS],
    "Dutch BSN": BSNS,
    "person name": [f"{GIVEN[n % 8]} {FAMILY[n % 7]}" for n in range(ROWS)],
    "free text": [f"Seen on ward {n} by a nurse, then sent home" for n in range(ROWS)],
    "unique code": [f"K-{n:05}-x{n * 7 % 11}" for n in range(ROWS)],
}


@pytest.mark.parametrize(("meaning", "values"), WITHOUT_A_NAME.items(), ids=list(WITHOUT_A_NAME))
def test_an_identifier_is_found_under_a_name_without_meaning(
    meaning: str, values: list[Any]
) -> None:
    found = guess("c1", values)
    assert (found.role, found.meaning) == (ColumnRole.IDENTIFIER, meaning)


def test_e_mails_behind_thousands_of_innocent_rows_are_found() -> None:
    found = guess("remark", ["ok", "late", "paid"] * 1000 + ["anna@example.org"])
    assert (found.role, found.meaning) == (ColumnRole.IDENTIFIER, "e-mail address")
    assert "1 of 3,001" in found.reason


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("name", ColumnRole.IDENTIFIER),
        ("street", ColumnRole.IDENTIFIER),
        ("passport_number", ColumnRole.IDENTIFIER),
        ("age", ColumnRole.QUASI_IDENTIFIER),
        ("nationality", ColumnRole.QUASI_IDENTIFIER),
        ("diagnosis", ColumnRole.SENSITIVE),
        ("religion", ColumnRole.SENSITIVE),
        ("income", ColumnRole.SENSITIVE),
    ],
)
def test_a_name_decides_where_content_says_nothing(name: str, role: ColumnRole) -> None:
    values = [f"v{number}" for number in range(30)] * 20
    assert guess(name, values).role is role


def test_the_title_of_a_column_decides_where_its_name_says_nothing() -> None:
    table = open_table(pa.table({"v101": [1, 2, 3] * 50, "v102": [1, 2] * 75}))
    counts = describe_columns(table)
    titles = ("What is your religion?", "Gender (1 = male, 2 = female)")
    found = [
        guess_column(replace(item, title=title)) for item, title in zip(counts, titles, strict=True)
    ]
    assert [one.meaning for one in found] == ["religion or belief", "sex"]
    assert all(one.is_code for one in found)


def test_an_empty_column_keeps_the_role_of_its_name() -> None:
    nothing: list[Any] = pa.array([None, None], pa.string()).to_pylist()
    table = open_table(
        pa.table({"email": pa.array(nothing, pa.string()), "c1": pa.array(nothing, pa.string())})
    )
    roles = {name: found.role for name, found in guess_roles(table).items()}
    assert roles == {"email": ColumnRole.IDENTIFIER, "c1": ColumnRole.INSENSITIVE}


def test_whether_a_person_has_a_phone_names_no_one() -> None:
    assert guess("phone", [True, False] * 200).role is not ColumnRole.IDENTIFIER


@pytest.mark.parametrize(
    ("values", "meaning"),
    [
        (["Male", "Female"] * 200, "sex"),
        ([n % 90 for n in range(ROWS)], "age"),
        ([f"{n % 150:05}" for n in range(ROWS)], "postcode"),
        (["SW1A 1AA", "M1 1AE"] * 100, "postcode"),
        ([1930 + n % 80 for n in range(ROWS)], "year"),
        ([dt.date(1930, 1, 1) + dt.timedelta(days=n) for n in range(ROWS)], "date of an event"),
        ([f"{n % 28 + 1}.{n % 12 + 1}.19{n % 90 + 10}" for n in range(ROWS)], "date of an event"),
    ],
)
def test_what_outsiders_know_is_found_by_content(values: list[Any], meaning: str) -> None:
    found = guess("c1", values)
    assert (found.role, found.meaning) == (ColumnRole.QUASI_IDENTIFIER, meaning)


def test_diagnoses_are_found_by_content() -> None:
    codes = [f"{letter}{number}.{number % 9}" for letter in "EIJ" for number in range(10, 40)]
    assert guess("c1", codes * 5).role is ColumnRole.SENSITIVE


def test_a_date_beats_a_sensitive_word() -> None:
    values = [dt.date(2020, 1, 1) + dt.timedelta(days=n % 50) for n in range(ROWS)]
    assert guess("diagnosis_date", values).role is ColumnRole.QUASI_IDENTIFIER


def test_an_unknown_column_that_sets_people_apart_is_a_quasi_identifier() -> None:
    found = guess("zork", [1.5] * 300 + [2.25])
    assert (found.role, found.confidence) == (ColumnRole.QUASI_IDENTIFIER, "low")
    assert "1 of 301 people is unique on it" in found.reason


def test_an_unknown_column_on_which_no_one_stands_out_is_insensitive() -> None:
    found = guess("zork", ["red", "green"] * 100)
    assert (found.role, found.confidence) == (ColumnRole.INSENSITIVE, "low")


def test_random_numbers_are_not_taken_for_national_numbers() -> None:
    found = guess("c1", [RANDOM.uniform(0, 1e10) for _ in range(ROWS)])
    assert found.role is ColumnRole.QUASI_IDENTIFIER


def test_the_key_of_a_person_that_repeats_is_an_identifier() -> None:
    found = guess("patient_id", [f"P{n % 90}" for n in range(ROWS)])
    assert (found.role, found.meaning) == (ColumnRole.IDENTIFIER, "person key")


def test_a_reason_quotes_no_cell() -> None:
    secret = "Zebedee Quark"
    values = [secret, *(f"{given} {family}" for given in GIVEN for family in FAMILY)]
    assert secret not in str(guess("c1", values).to_dict())


def test_a_guess_does_not_depend_on_the_order_of_rows() -> None:
    values = [*WITHOUT_A_NAME["person name"], *WITHOUT_A_NAME["e-mail address"]]
    shuffled = RANDOM.sample(values, len(values))
    assert guess("c1", values) == guess("c1", shuffled)
