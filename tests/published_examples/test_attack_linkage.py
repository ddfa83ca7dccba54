"""The linkage attacks of the published examples: the book's data set, and the slides' tables through their labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from discreet.attacks.linkage.link import link_people
from discreet.engines.connect import open_table

if TYPE_CHECKING:
    from discreet.attacks.finding import Finding

TABLES = Path(__file__).parent / "tables"


def link(release, people, on, **options) -> Finding:
    released = open_table(release if isinstance(release, pa.Table) else TABLES / f"{release}.csv")
    known = open_table(people, engine=released.engine)
    return link_people(released, known, on={name: name for name in on}, **options)


@pytest.fixture(scope="module")
def adult(shared_data) -> pa.Table:
    opened = open_table(shared_data / "adult_with_pii" / "adult_with_pii.csv")
    from sqlglot import exp

    return opened.engine.run(exp.select("*").from_(opened.relation))


@pytest.fixture(scope="module")
def karrie(adult) -> pa.Table:
    rows = adult.filter(pc.equal(adult["Name"], "Karrie Trusslove"))
    return rows.select(["Name", "DOB", "Zip"])


def test_a8_karrie_is_one_row_by_birth_date_and_zip_which_reveals_everything(adult, karrie):
    columns = ["Workclass", "Education", "Occupation", "Target", "Age", "Capital Gain"]
    found = link(adult.drop(["Name"]), karrie, ["DOB", "Zip"], sensitive=columns, name="Name")
    assert (found.targets, found.claimed) == (1, 1)
    result = ["State-gov", "Bachelors", "Adm-clerical", "<=50K", "56", "2174"]
    assert [line.split(": ")[1] for line in found.example[2:]] == [
        f"{word} 100 %." for word in result
    ]


def test_a9_karrie_is_one_row_by_zip_alone(adult, karrie):
    assert link(adult, karrie, ["Zip"]).claimed == 1


def test_a10_by_birth_date_alone_three_rows_reveal_the_income_with_two_thirds(adult, karrie):
    found = link(adult, karrie, ["DOB"], sensitive=["Target"], name="Name")
    assert (found.claimed, found.details["candidates"]["3"]) == (0, 1)
    assert found.details["learned"]["Target"]["belief"] == pytest.approx(2 / 3, abs=1e-6)
    assert found.example[-1] == "Target: <=50K 66.7 %, >50K 33.3 %."


def test_a11_to_a13_birth_dates_by_how_many_share_them(adult):
    found = link(adult, adult, ["DOB"], identity=("Name", "Name"))
    people = [0, 7847, 10940, 7980, 3920, 1335, 414, 119, 8]
    assert found.details["candidates"] == {str(size): n for size, n in enumerate(people)}
    # As many as there are dates: one of those who share it is found by guessing.
    assert found.details["expected_prosecutor"] == 17311
    assert (found.claimed, found.correct) == (7847, 7847)


def test_a14_zips_by_how_many_share_them(adult):
    result = link(adult, adult, ["Zip"]).details
    assert result["candidates"] == {"0": 0, "1": 23512, "2": 7670, "3": 1197, "4": 164, "5": 20}
    assert result["expected_prosecutor"] == 27791


def test_a15_by_birth_date_and_zip_all_but_two_are_found(adult):
    found = link(adult, adult, ["DOB", "Zip"], identity=("Name", "Name"))
    assert (found.targets, found.claimed, found.correct) == (32563, 32561, 32561)
    assert found.details["candidates"]["2"] == 2


def test_b1_ten_of_eleven_voters_are_found_and_mike_is_absent():
    found = link(
        "b1_published",
        TABLES / "b1_voters.csv",
        ["Age", "Sex", "Zipcode"],
        sensitive=["Disease"],
        name="Name",
    )
    assert (found.targets, found.claimed) == (11, 10)
    assert found.details["candidates"] == {"0": 1, "1": 10}
    assert found.example[0].startswith("Known: Andy")
    assert found.example[2] == "Disease: gastric ulcer 100 %."


def test_b2_generalized_no_one_is_found_but_joe_and_sam_have_pneumonia():
    found = link(
        "b2_two_anonymous",
        TABLES / "b1_voters.csv",
        ["Age", "Sex", "Zipcode"],
        sensitive=["Disease"],
    )
    assert (found.claimed, found.details["learned"]["Disease"]["certain"]) == (0, 2)


@pytest.mark.parametrize(
    ("table", "person", "sensitive", "rows", "example"),
    [
        ("b5_three_anonymous", {"Zipcode": 47678, "Age": 27}, "Disease", 3, "Heart Disease 100 %."),
        ("b5_three_anonymous", {"Zipcode": 47673, "Age": 36}, "Disease", 3, "Cancer 66.7 %"),
        (
            "b16_four_anonymous",
            {"Zip": 13053, "Age": 31, "Nationality": "American"},
            "Condition",
            4,
            "Cancer 100 %.",
        ),
        (
            "b16_four_anonymous",
            {"Zip": 13068, "Age": 21, "Nationality": "Japanese"},
            "Condition",
            4,
            "Heart Disease 50.0 %, Viral Infection 50.0 %.",
        ),
        (
            "b18_two_diverse",
            {"Age": 23, "Sex": "M", "Zipcode": 11000},
            "Disease",
            4,
            "dyspepsia 50.0 %, pneumonia 50.0 %.",
        ),
        ("c24_party", {"ZIP": "N1C", "DOB": "1967-03-05"}, "Party", 3, "Green Party 100 %."),
        (
            "c24_party",
            {"ZIP": "G0A", "DOB": "1971-03-05"},
            "Party",
            3,
            "Liberal Party 66.7 %, Conservative Party 33.3 %.",
        ),
    ],
    ids=["B5 Bob", "B6 Carl", "B16 Bob", "B16 Umeko", "B18 Bob", "C28 Alice", "C29 Bob"],
)
def test_people_of_the_slides_are_found_in_their_class_through_its_labels(
    table, person, sensitive, rows, example
):
    known = pa.table({name: [value] for name, value in person.items()})
    found = link(table, known, list(person), sensitive=[sensitive])
    assert found.details["candidates"][str(rows)] == 1
    assert found.example[-1].startswith(f"{sensitive}: {example}")
