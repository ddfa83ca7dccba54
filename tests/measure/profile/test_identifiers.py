"""Identifiers by content: patterns say yes and no, check digits are judged against chance."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.measure.profile.identifiers import (
    NUMBERS,
    PATTERN,
    PATTERNS,
    SAFE_HARBOR,
    IdentifierPattern,
    chance_of,
    recognize_number,
)
from discreet.measure.text import checksums

YES = {
    "e-mail address": ["anna@example.org", "write to a.b+c@mail.example.co.uk please"],
    "US social security number": ["123-45-6789", "SSN 123-45-6789."],
    "phone number": [
        "+44 20 7946 0018",
        "+4915112345678",
        "(212) 555-0123",
        "030/1234567",
        "0049 30 123",
        "0171 1234567",
        "01 23 45 67 89",
        "0123456789",
        "612 345 678",
        "91 234 56 78",
        "601-234-567",
        "333 1234567",
        "06-12345678",
        "07700 900123",
    ],
    "URL": ["https://example.org/x?y=1", "www.example.org"],
    "IP address": ["192.168.0.1", "255.255.255.255", "10.0.0.0/8"],
    "IPv6 address": ["2001:db8::1", "::1", "fe80:0:0:0:0:0:0:1", "2001:db8:1::"],
    "MAC address": ["00:1A:2b:3C:4D:5E", "00-1A-2B-3C-4D-5E"],
    "UUID": ["123e4567-e89b-12d3-a456-426614174000"],
    "hash or token": ["d41d8cd98f00b204e9800998ecf8427e"],
    "UK national insurance number": ["AB123456C", "AB 12 34 56 C"],
    "Danish CPR number": ["070761-4285"],
    "vehicle identification number": ["1M8GDM9AXKP042788", "WVWZZZ1JZ3W386752"],
    "license plate": [
        "B-MW 1234",
        "M AB 12E",
        "AB-123-CD",
        "AB 123 CD",
        "1234 BCD",
        "AB12 CDE",
        "12-AB-34",
        "AB-12-34",
        "G-123-BB",
    ],
    "number and word": ["12 Main Street", "Hauptstraße 5a", "Calle Mayor 3"],
    "free text": ["The patient was seen by her doctor"],
    "day": ["2024-12-31", "2024/1/2", "2024-12-31T10:00:00"],
    "day in local order": ["31.12.2024", "9/7/1967", "1-2-99"],
    "UK postcode": ["SW1A 1AA", "M1 1AE"],
    "Canadian postcode": ["K1A 0B1"],
    "Dutch postcode": ["1012 AB"],
    "Polish postcode": ["00-950"],
    "five digits": ["01234", "01234-5678", "D-10115"],
    "German municipality key": ["05315000", "16077001"],
    "NUTS code": ["DE212", "FR10", "PL9"],
    "ATC code": ["C09AA05", "N02BE"],
    "OPS code": ["5-470.11", "8-980"],
    "ICD-10 code": ["J45.9", "E11", "J189", "J18.9G", "I10.-"],
}
NO = {
    "e-mail address": ["anna at example", "@anna", "a@b"],
    "US social security number": ["123-456-789", "923-45-6789", "9123-45-67890"],
    "phone number": ["2024-12-31", "12345", "3.14", "31.12.2024", "01234", "123 456"],
    "URL": ["example", "http:/x"],
    "IP address": ["256.1.1.1", "1.2.3", "1.2.3.4.5"],
    "IPv6 address": ["12:30", "10:15:30", "abcd"],
    "MAC address": ["00:1A:2B:3C:4D", "00:1G:2B:3C:4D:5E"],
    "UUID": ["123e4567-e89b-12d3-a456-42661417400"],
    "hash or token": ["d41d8cd98f00b204e9800998ecf8427"],
    "UK national insurance number": ["DB123456C", "AB123456E"],
    "Danish CPR number": ["0707614285", "490761-4285"],
    "vehicle identification number": ["1M8GDM9AXKP04278", "IM8GDM9AXKP042788"],
    "license plate": ["ABCD-12", "12345", "AB-CD", "1234 AEI"],
    "number and word": ["Main Street", "12", "A12"],
    "free text": ["one two three four five"],
    "day": ["20241231", "12-31"],
    "day in local order": ["31.12", "2024-12-31"],
    "UK postcode": ["SW1A", "1012 AB"],
    "Canadian postcode": ["K1A 0BB"],
    "Dutch postcode": ["0012 AB"],
    "Polish postcode": ["00950", "000-50"],
    "five digits": ["1234", "123456"],
    "German municipality key": ["17077001", "0531500"],
    "NUTS code": ["DE", "XX12", "DE2123"],
    "ATC code": ["E09AA05", "C9AA05"],
    "OPS code": ["5-47", "2-470"],
    "ICD-10 code": ["U45", "ABC", "J4"],
}


def test_every_pattern_has_examples_and_counterexamples() -> None:
    assert set(YES) == set(NO) == set(PATTERN)


@pytest.mark.parametrize(
    ("name", "text"), [(n, text) for n, texts in YES.items() for text in texts]
)
def test_a_pattern_finds_its_kind(name: str, text: str) -> None:
    assert re.search(PATTERN[name].regex, text)


@pytest.mark.parametrize(("name", "text"), [(n, text) for n, texts in NO.items() for text in texts])
def test_a_pattern_leaves_a_near_miss_alone(name: str, text: str) -> None:
    assert not re.search(PATTERN[name].regex, text)


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_a_pattern_has_no_backslash_and_no_special_group(pattern: IdentifierPattern) -> None:
    assert "\\" not in pattern.regex
    assert "(?" not in pattern.regex


def test_safe_harbor_has_its_18_kinds() -> None:
    assert "".join(SAFE_HARBOR) == "ABCDEFGHIJKLMNOPQR"


def test_formatted_nhs_numbers_are_recognized() -> None:
    rng = random.Random(1)
    bodies = (f"{rng.randrange(10**9):09}" for _ in range(50))
    full = [b + str(d) for b in bodies for d in range(10) if checksums.passes_nhs(b + str(d))]
    verdict = recognize_number([f"{n[:3]} {n[3:6]} {n[6:]}" for n in full])
    assert verdict is not None
    assert verdict.number.name == "UK NHS number"
    assert verdict.passed == verdict.fits == len(full)


@pytest.mark.parametrize("name", ["IBAN", "Spanish DNI or NIE", "Swiss AHV number", "French NIR"])
def test_numbers_found_by_trying_are_recognized(name: str) -> None:
    rng = random.Random(2)
    number = next(item for item in NUMBERS if item.name == name)
    make = {
        "IBAN": lambda: f"DE{rng.randrange(100):02}{rng.randrange(10**18):018}",
        "Spanish DNI or NIE": lambda: f"{rng.randrange(10**8):08}{rng.choice('TRWAGMYFPDXB')}",
        "Swiss AHV number": lambda: f"756{rng.randrange(10**10):010}",
        "French NIR": lambda: f"{rng.choice('12')}{rng.randrange(10**14):014}",
    }[name]
    valid = list({text for _ in range(6000) if number.passes(text := make())})
    assert len(valid) >= 20
    verdict = recognize_number(valid)
    assert verdict is not None
    assert verdict.number.name == name


@pytest.mark.parametrize("length", [9, 10, 11, 12, 13, 15, 16])
def test_random_digits_are_no_identifier(length: int) -> None:
    rng = random.Random(length)
    assert recognize_number([f"{rng.randrange(10**length):0{length}}" for _ in range(2000)]) is None


def test_running_numbers_are_no_identifier() -> None:
    assert recognize_number([str(100_000_000 + number) for number in range(2000)]) is None


def test_a_handful_of_lucky_numbers_is_no_identifier() -> None:
    assert recognize_number(["4111111111111111", "5555555555554444", "4012888888881881"]) is None


def test_typing_errors_do_not_hide_card_numbers() -> None:
    rng = random.Random(3)
    bodies = [f"4{rng.randrange(10**14):014}" for _ in range(200)]
    full = [b + str(d) for b in bodies for d in range(10) if checksums.passes_luhn(b + str(d))]
    verdict = recognize_number([*full, *(f"4{rng.randrange(10**15):015}" for _ in range(60))])
    assert verdict is not None
    assert verdict.number.name == "payment card number"


@given(st.integers(1, 400), st.floats(0.01, 0.5), st.data())
def test_the_bound_on_chance_is_above_the_binomial_tail(
    count: int, chance: float, data: st.DataObject
) -> None:
    from scipy.stats import binom

    passed = data.draw(st.integers(0, count))
    exact = binom.sf(passed - 1, count, chance)
    assert chance_of(passed, out_of=count, chance=chance) >= exact * (1 - 1e-9)
