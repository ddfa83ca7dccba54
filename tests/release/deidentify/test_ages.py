"""No one over 89 can be distinguished from another, by age or by any date."""

from __future__ import annotations

import datetime as dt
import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.release.deidentify.ages import cap_ages, earliest_year, keep_years


def years(*values: object, as_of: int = 2026) -> list[str | None]:
    return keep_years(pa.array(values), as_of=as_of).to_pylist()


def ages(*values: object) -> list[str | None]:
    return cap_ages(pa.array(values)).to_pylist()


def test_ages_up_to_89_stay_and_others_are_one_category():
    assert ages(0, 89, 90, 117) == ["0", "89", "90+", "90+"]


def test_ages_finer_than_years_lose_their_fraction():
    assert ages(34.9, 89.9, 90.0) == ["34", "89", "90+"]
    assert ages("34.5", "89 years", "95 y") == ["34", "89", "90+"]


def test_ranges_reveal_nothing_above_89():
    assert ages("80-89", "85-94", "90-94", "95 to 99") == ["80-89", "85+", "90+", "90+"]
    assert ages("[20, 30)", ">=80", "85+", "over 95") == ["[20, 30)", ">=80", "85+", "90+"]
    assert ages("<90", "<95", "under 5") == ["<90", None, "under 5"]


def test_what_is_no_age_goes():
    assert ages("unknown", "-1", "1936-01-01", "", "34") == [None, None, None, None, "34"]


@given(st.lists(st.integers(0, 130), min_size=1))
def test_no_age_over_89_is_left(found: list[int]):
    left = ages(*found)
    assert all(item == "90+" or (item is not None and int(item) <= 89) for item in left)


def test_dates_keep_their_year():
    assert years(dt.date(2020, 5, 17), dt.date(1990, 1, 1)) == ["2020", "1990"]
    assert years(dt.datetime(2020, 5, 17, 3, 4, tzinfo=dt.UTC)) == ["2020"]


@pytest.mark.parametrize(
    "text",
    [
        *("2020-05-17", "2020/5/17", "20200517", "2020-05-17T10:00:00Z", "2020-05-17 10:00"),
        *("17.05.2020", "5/17/2020", "17-May-2020", "May 17, 2020", "17 May 2020", "2020-05"),
        *("2020", "05/2020", "May 2020", "5/17/2020 10:00 PM"),
    ],
)
def test_dates_in_many_forms_keep_their_year(text: str):
    assert years(text) == ["2020"]


def test_a_date_without_its_century_goes():
    assert years("17.05.20", "5/17/36", "2020") == [None, None, "2020"]


def test_a_year_that_reveals_an_age_over_89_is_90_plus():
    assert earliest_year(2026) == 1937
    assert years("1937-01-01", "1936-12-31", "1880-01-01") == ["1937", "90+", "90+"]
    assert years(1937, 1936) == ["1937", "90+"]
    assert years("1936-12-31", as_of=2025) == ["1936"]


@given(st.lists(st.dates(dt.date(1880, 1, 1), dt.date(2026, 12, 31)), min_size=1))
def test_nothing_but_the_year_is_left_of_a_date(days: list[dt.date]):
    for day, left in zip(days, years(*days), strict=True):
        assert left is not None
        assert re.fullmatch(r"[0-9]{4}|90\+", left)
        assert left == ("90+" if 2026 - day.year >= 90 else str(day.year))
