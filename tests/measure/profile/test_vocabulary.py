"""What names of columns say, in seven languages."""

from __future__ import annotations

import pytest

from discreet.measure.profile.concepts import CONCEPTS
from discreet.measure.profile.vocabulary import (
    is_id_name,
    is_key_of,
    is_person_id_name,
    recognize_concept,
    split_words,
)
from discreet.policy.model import ColumnRole


@pytest.mark.parametrize(
    ("name", "concept"),
    [
        ("Name", "person name"),
        ("patientName", "person name"),
        ("Vorname", "person name"),
        ("prénom", "person name"),
        ("email_address", "e-mail address"),
        ("Straße", "street address"),
        ("national_id", "national number"),
        ("Codice Fiscale", "national number"),
        ("MRN", "medical record number"),
        ("credit card number", "account number"),
        ("licensePlate", "vehicle identifier"),
        ("DOB", "birth date"),
        ("dateOfBirth", "birth date"),
        ("fecha_nacimiento", "birth date"),
        ("Geburtsjahr", "birth year"),
        ("patient_age", "age"),
        ("geslacht", "sex"),
        ("zipcode", "postcode"),
        ("PLZ", "postcode"),
        ("città", "place"),
        ("native-country", "country"),
        ("pays", "country"),
        ("nationalité", "nationality"),
        ("Marital Status", "marital status"),
        ("stato civile", "marital status"),
        ("profissão", "occupation"),
        ("admission_date", "date of an event"),
        ("Hauptdiagnose", "health"),
        ("icd10_code", "health"),
        ("hiv", "health"),
        ("salary-class", "income"),
        ("PAY_0", "income"),
        ("Gehalt", "income"),
        ("BILL_AMT1", "debts and payments"),
        ("religion", "religion or belief"),
        ("trade_union", "union membership"),
        ("sexual orientation", "sexual life"),
        ("partner_sex", "sexual life"),
        ("sexe_conjoint", "sexual life"),
        ("Vorstrafe", "crime"),
        ("gpa", "grades and ratings"),
        ("Target", "outcome to predict"),
    ],
)
def test_a_name_is_understood(name: str, concept: str) -> None:
    found = recognize_concept(name)
    assert found is not None
    assert found.name == concept


@pytest.mark.parametrize(
    "name", ["c1", "x", "product_name", "file_name", "fnlwgt", "Q1A", "", "🙂"]
)
def test_a_name_without_meaning_is_not_understood(name: str) -> None:
    assert recognize_concept(name) is None


def test_every_role_has_words() -> None:
    by_survey = {ColumnRole.WEIGHT, ColumnRole.HOUSEHOLD}
    assert {concept.role for concept in CONCEPTS} == set(ColumnRole) - by_survey


def test_words_are_split_at_capitals_signs_and_digits() -> None:
    assert split_words("HTTPServerId_2") == ("http", "server", "id", "2")


@pytest.mark.parametrize("name", ["id", "patient_id", "KundenNr", "id_cliente", "visitId"])
def test_a_key_is_known_by_its_name(name: str) -> None:
    assert is_id_name(name)


@pytest.mark.parametrize("name", ["identity", "paid", "number_of_children", "valid"])
def test_a_word_that_holds_id_is_no_key(name: str) -> None:
    assert not is_id_name(name)


def test_the_key_of_a_person_is_distinguished_from_other_keys() -> None:
    assert is_person_id_name("customer_id")
    assert not is_person_id_name("visit_id")


@pytest.mark.parametrize(
    ("name", "table", "column", "points"),
    [
        ("patient_id", "patients", "id", True),
        ("patient_id", "patients", "patient_id", True),
        ("patient", "patients", "id", False),
        ("id", "patients", "id", False),
        ("patient_id", "hospitals", "id", False),
    ],
)
def test_a_reference_is_named_like_its_target(
    name: str, table: str, column: str, points: bool
) -> None:
    assert is_key_of(name, table=table, column=column) is points
