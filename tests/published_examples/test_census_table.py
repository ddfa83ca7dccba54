"""Section A of the published examples: the book's census table with names, birth dates and ZIP codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

import discreet

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def path(shared_data: Path) -> Path:
    return shared_data / "adult_with_pii" / "adult_with_pii.csv"


@pytest.fixture(scope="module")
def adult(path: Path) -> pd.DataFrame:
    return pd.read_csv(path)


def assess(source, *quasi: str, **options) -> discreet.Assessment:
    return discreet.assess(source, quasi=list(quasi), depth=0, **options)


def generalized(frame: pd.DataFrame, depth: int) -> pd.DataFrame:
    """The book's `generalize`: the last `depth` digits become zeros."""
    return frame // 10**depth * 10**depth


def karrie(adult: pd.DataFrame) -> pd.DataFrame:
    return adult[adult["Name"] == "Karrie Trusslove"]


def test_a1_the_table_has_32563_rows(path):
    assert assess(path, "DOB").rows == 32563


def test_a8_birth_date_and_zip_lead_to_one_row(adult):
    found = assess(karrie(adult), "DOB", "Zip", against=adult)
    assert (found.presence.k_map, found.risk.journalist.worst) == (1, 1.0)


def test_a9_zip_alone_leads_to_one_row(adult):
    assert assess(karrie(adult), "Zip", against=adult).presence.k_map == 1


def test_a10_birth_date_alone_leads_to_three_rows_two_of_which_earn_little(adult):
    assert assess(karrie(adult), "DOB", against=adult).presence.k_map == 3
    same = adult[adult["DOB"] == "9/7/1967"]
    found = assess(same, "DOB", sensitive=["Target"])
    assert (found.k, found.sensitive["Target"].l.distinct) == (3, 2)
    assert found.sensitive["Target"].alpha == pytest.approx(2 / 3, rel=1e-12)


def test_a11_and_a13_how_many_people_share_a_birth_date(path):
    """A13 is "an additional 10,000" in the book: 10,940 people are narrowed to two identities."""
    found = assess(path, "DOB")
    assert found.classes == 17311
    assert found.class_sizes == {
        1: 7847,
        2: 10940,
        3: 7980,
        4: 3920,
        5: 1335,
        6: 414,
        7: 119,
        8: 8,
    }


def test_a12_people_unique_by_birth_date(path):
    """The book says "almost 7,000"; it is 7,847, 24.1 % of the people."""
    found = assess(path, "DOB")
    assert found.unique == 7847
    assert found.verdict.startswith("7,847 of 32,563 people are unique on DOB (24.1 %).")


def test_a14_how_many_people_share_a_zip(path):
    """The book says "nearly all" ZIP codes occur once: 84.6 % of them do, 72.2 % of the people."""
    found = assess(path, "Zip")
    assert (found.classes, found.unique) == (27791, 23512)
    assert found.class_sizes == {1: 23512, 2: 2 * 3835, 3: 3 * 399, 4: 4 * 41, 5: 5 * 4}


def test_a15_birth_date_and_zip_single_out_all_but_two(path):
    found = assess(path, "DOB", "Zip")
    assert (found.unique, found.class_sizes) == (32561, {1: 32561, 2: 2})


SMALL = pd.DataFrame(
    [(42, 4, 25), (52, 24, 94), (36, 31, 57), (24, 2, 62), (73, 3, 70)],
    columns=["age", "preTestScore", "postTestScore"],
)


def test_a18_the_small_frame_is_one_anonymous():
    assert assess(SMALL, *SMALL.columns).k == 1


def test_a19_the_small_frame_without_last_digits_is_still_one_anonymous():
    """The book says it rounds to the nearest 10; its code, as here, truncates (36 becomes 30)."""
    frame = generalized(SMALL, 1)
    assert frame["age"].tolist() == [40, 50, 30, 20, 70]
    assert assess(frame, *SMALL.columns).k == 1


def test_a20_the_small_frame_without_two_digits_is_five_anonymous():
    assert assess(generalized(SMALL, 2), *SMALL.columns).k == 5


PAIR = ["Age", "Education-Num"]


def test_a21_age_and_education_of_a_hundred_people_are_one_anonymous(adult):
    """The book announces ZIP code, age and education; its code uses age and education only."""
    assert assess(adult.head(100), *PAIR).k == 1


def test_a22_generalizing_a_hundred_people_does_not_help(adult):
    found = assess(generalized(adult[PAIR].head(100), 1), *PAIR)
    assert (found.k, found.unique) == (1, 2)
    alone = [view.values for view in found.smallest if view.size == 1]
    assert alone == [{"Age": 0, "Education-Num": 0}, {"Age": 90, "Education-Num": 10}]


def test_a23_generalizing_everybody_does_not_help(adult):
    found = assess(generalized(adult[PAIR], 1), *PAIR)
    assert (found.k, found.classes, found.unique) == (1, 16, 2)


def test_a24_clipping_outliers_makes_five_hundred_people_32_anonymous(adult):
    """The book checks k = 7 only; the largest k is 32."""
    clipped = pd.DataFrame(
        {
            "Age": adult["Age"].clip(lower=10, upper=60),
            "Education-Num": adult["Education-Num"].clip(lower=3),
        }
    )
    found = assess(generalized(clipped.head(500), 1), *PAIR)
    assert (found.k, found.classes, max(found.class_sizes)) == (32, 12, 53)


def test_a26_education_number_3_is_one_education(adult):
    third = adult[adult["Education-Num"] == 3]
    found = assess(third, "Education-Num", sensitive=["Education"])
    assert found.sensitive["Education"].l.distinct == 1
    assert set(third["Education"]) == {"5th-6th"}
