"""Taxi medallions and licenses from the published examples: how many there are, and all of them undone."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa

from discreet.attacks.hashes.candidates import from_pattern
from discreet.attacks.hashes.dictionary import attack_column
from discreet.attacks.hashes.patterns import read_guess_pattern
from discreet.engines.connect import open_table

FORMS = ("[0-9][A-Z][0-9]{2}", "[A-Z]{2}[0-9]{3}", "[A-Z]{3}[0-9]{3}")
LETTERS = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))


def medallions(count: int) -> list[str]:
    chance = np.random.default_rng(21)
    letters = LETTERS[chance.integers(0, 26, (count, 3))]
    numbers = chance.integers(0, 1000, count)
    made = [
        (f"{n % 10}{a}{n // 10:02d}", f"{a}{b}{n:03d}", f"{a}{b}{c}{n:03d}")[place % 3]
        for place, ((a, b, c), n) in enumerate(zip(letters, numbers, strict=True))
    ]
    return sorted(set(made))


def test_c21_medallions_have_18278000_forms_and_the_third_alone_17_million():
    assert [read_guess_pattern(form).size for form in FORMS] == [26_000, 676_000, 17_576_000]
    assert sum(read_guess_pattern(form).size for form in FORMS) == 18_278_000


def test_c22_licenses_are_eleven_million_texts():
    assert read_guess_pattern("[0-9]{6,7}").size == 11_000_000
    assert read_guess_pattern("[1-9][0-9]{5,6}").size == 9_900_000


def test_all_hashed_medallions_are_undone():
    made = medallions(3_000)
    released = [hashlib.md5(text.encode()).hexdigest().upper() for text in made]
    rides = open_table(pa.table({"medallion": released * 4}))
    guesses = [from_pattern(read_guess_pattern(form)) for form in FORMS]
    found = attack_column(rides, "medallion", guesses)
    assert found.rate == 1.0
    assert found.details["rows_inverted"] == 4 * len(made)
    assert found.details["guesses"] == 18_278_000
    assert found.details["key_space_bits"] == 24.1
