"""Releases that follow one another in the published examples: B7."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from discreet.attacks.releases.republication import find_republication
from discreet.engines.connect import open_table

TABLE = Path(__file__).parent / "tables" / "b2_two_anonymous.csv"
ON = {"Age": "Age", "Sex": "Sex", "Zipcode": "Zipcode"}


def known(age: int, zipcode: int) -> pd.DataFrame:
    truth = {"Name": ["Joe"], "Disease": ["pneumonia"]}
    return pd.DataFrame({**truth, "Age": [age], "Sex": ["M"], "Zipcode": [zipcode]})


@pytest.mark.parametrize(
    ("zipcode", "result", "left"),
    [
        # The slide's own ZIP fits no class of those over ten, which is [20001, 25000].
        (17000, 0, 2.0),
        (22000, 1, 1.0),
    ],
)
def test_b7_who_waits_for_joes_birthday_knows_his_disease(zipcode, result, left):
    first = open_table(TABLE)
    tables = [TABLE, known(10, 17000), known(11, zipcode)]
    second, before, after = [open_table(table, engine=first.engine) for table in tables]
    (found,) = find_republication(
        [before, after], [first, second], on=ON, sensitive=["Disease"], name="Name"
    )
    assert (found.targets, found.claimed, found.correct, found.baseline) == (1, result, result, 0.0)
    assert found.details["candidates_after_each"] == [2.0, left]


def test_b7_the_example_goes_from_two_diseases_to_one():
    first = open_table(TABLE)
    tables = [TABLE, known(10, 17000), known(11, 22000)]
    second, before, after = [open_table(table, engine=first.engine) for table in tables]
    (found,) = find_republication(
        [before, after], [first, second], on=ON, sensitive=["Disease"], name="Name"
    )
    assert "bronchitis and pneumonia" in found.example[1]
    assert found.example[2].endswith("together with what was left before, pneumonia.")
