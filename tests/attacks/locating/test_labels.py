"""Published labels read as what they may stand for, in the notations of ours and of others."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.attacks.locating.dates import read_days, read_period
from discreet.attacks.locating.label_matches import match_labels
from discreet.attacks.locating.labels import (
    Anything,
    ComparisonKind,
    LabelMask,
    LabelMembers,
    LabelRange,
    read_label,
)
from discreet.policy.hierarchies.calendar import Calendar
from discreet.policy.hierarchies.intervals import Cuts, Extremes, Intervals
from discreet.policy.hierarchies.prefix import Prefix
from discreet.policy.hierarchies.tree import build_taxonomy


def held(values, labels, **options) -> dict[str | None, list]:
    """What each label holds, by the values themselves."""
    known = pa.array(values)
    found = match_labels(known, pa.array(labels, pa.string()), **options)
    order = np.argsort(found.places)
    values_by_label = {label: [] for label in labels}
    for owner, start, stop in zip(found.owners, found.starts, found.stops, strict=True):
        values_by_label[labels[owner]] += [values[place] for place in order[start:stop]]
    return {label: sorted(inside) for label, inside in values_by_label.items()}


AGES = [3, 17, 18, 29, 30, 31, 35, 39, 40, 90, 101]


@pytest.mark.parametrize(
    ("label", "low", "high"),
    [
        ("[30, 35)", 30, 34),
        ("[30, 40]", 30, 40),
        ("[30,40[", 30, 39),
        ("]30,40]", 31, 40),
        ("(30, 40)", 31, 39),
        ("[30-39]", 30, 39),
        ("30-39", 30, 39),
        ("30–39", 30, 39),
        ("30 to 39", 30, 39),
        ("30..39", 30, 39),
        ("3*", 30, 39),
        ("<40", 0, 39),
        ("< 18", 0, 17),
        ("<= 40", 0, 40),
        ("≤18", 0, 18),
        ("under 18", 0, 17),
        (">= 90", 90, 200),
        ("> 90", 91, 200),
        ("90+", 90, 200),
        ("90 and over", 90, 200),
        ("[90, inf)", 90, 200),
        ("35", 35, 35),
        (" 35.0 ", 35, 35),
        ("*", 0, 200),
    ],
)
def test_a_label_of_numbers_holds_the_numbers_it_says(label, low, high):
    assert held(AGES, [label])[label] == [age for age in AGES if low <= age <= high]


@pytest.mark.parametrize(
    ("label", "first", "last"),
    [
        ("1967-09-21", "1967-09-21", "1967-09-21"),
        ("9/21/1967", "1967-09-21", "1967-09-21"),
        ("1967-09", "1967-09-01", "1967-09-30"),
        ("09/1967", "1967-09-01", "1967-09-30"),
        ("Sep 1967", "1967-09-01", "1967-09-30"),
        ("1967-Q3", "1967-07-01", "1967-09-30"),
        ("1967", "1967-01-01", "1967-12-31"),
        ("1960s", "1960-01-01", "1969-12-31"),
        ("196*", "1960-01-01", "1969-12-31"),
        ("1967-**-**", "1967-01-01", "1967-12-31"),
        ("196*_**_**", "1960-01-01", "1969-12-31"),
        ("[1967-09-21, 1970-01-02]", "1967-09-21", "1970-01-02"),
        ("[1967, 1970)", "1967-01-01", "1969-12-31"),
        ("1967-1970", "1967-01-01", "1970-12-31"),
        ("1967-01-01 to 1968-01-01", "1967-01-01", "1968-01-01"),
        ("< 1970", "1000-01-01", "1969-12-31"),
        (">= 1970", "1970-01-01", "2100-01-01"),
        ("1970 and later", "1970-01-01", "2100-01-01"),
    ],
)
def test_a_label_of_dates_holds_the_days_it_says(label, first, last):
    days = [
        dt.date.fromisoformat(text)
        for text in ("1959-12-31", "1960-01-01", "1967-06-30", "1967-07-01", "1967-09-21")
    ]
    days += [dt.date(1967, 9, 30), dt.date(1969, 12, 31), dt.date(1970, 1, 2)]
    low, high = dt.date.fromisoformat(first), dt.date.fromisoformat(last)
    assert held(days, [label])[label] == [day for day in days if low <= day <= high]


def test_masks_hold_what_begins_alike_and_numbers_get_their_zeros_back():
    assert held(["47677", "47602", "48000", "4767"], ["476**"])["476**"] == [
        "47602",
        "4767",
        "47677",
    ]
    assert held([1001, 1008, 12407], ["0100*"])["0100*"] == [1001, 1008]
    assert held(["78712", "78000"], ["787XX", "78XXX"]) == {
        "787XX": ["78712"],
        "78XXX": ["78000", "78712"],
    }
    assert held(["4a6b7", "4a6b8"], ["4*6*7"])["4*6*7"] == ["4a6b7"]


def test_three_digits_of_longer_codes_are_their_beginning_and_000_is_anywhere():
    values_by_label = held(["03601", "12407", "12411"], ["124", "000"])
    assert values_by_label == {"124": ["12407", "12411"], "000": ["03601", "12407", "12411"]}


def test_sets_and_slashes_hold_their_members():
    values_by_label = held(
        ["Asian", "AfrAm", "Caucas"], ["Asian/AfrAm", "{Caucas, Asian}", "Caucas"]
    )
    assert values_by_label == {
        "Asian/AfrAm": ["AfrAm", "Asian"],
        "{Caucas, Asian}": ["Asian", "Caucas"],
        "Caucas": ["Caucas"],
    }


def test_words_are_compared_without_case_and_blanks_and_a_known_word_is_itself():
    assert held(["F", "m", "unknown"], ["f", " M", "unknown", "n/a"]) == {
        "f": ["F"],
        " M": ["m"],
        "unknown": ["unknown"],
        "n/a": ["F", "m", "unknown"],
    }


def test_a_word_that_no_one_has_holds_no_one_but_in_numbers_it_could_be_anyone():
    assert held(["F", "M"], ["X"])["X"] == []
    found = match_labels(pa.array([1, 2]), pa.array(["many"]))
    assert (found.unread, found.starts.tolist(), found.stops.tolist()) == (1, [0], [2])


def test_group_names_hold_the_leaves_of_their_tree():
    tree = build_taxonomy(
        {"Europe": {"Iberia": ["Spain", "Portugal"], "West": ["France"]}, "Asia": ["Japan"]}
    )
    values_by_label = held(
        ["France", "Japan", "Spain"], ["Europe", "Iberia", "Asia", "France"], hierarchy=tree
    )
    assert values_by_label == {
        "Europe": ["France", "Spain"],
        "Iberia": ["Spain"],
        "Asia": ["Japan"],
        "France": ["France"],
    }


def test_a_tolerance_widens_values_and_ranges():
    assert held([30, 34, 36, 40], ["[33, 35]", "38"], within=2) == {
        "[33, 35]": [34, 36],
        "38": [36, 40],
    }


def test_missing_is_a_suppressed_value_or_nothing():
    values = pa.array([1, 2])
    labels = pa.array([None, "1"], pa.string())
    assert match_labels(values, labels).suppressed == 1
    assert 0 not in match_labels(values, labels, missing_is_anything=False).owners


def test_what_only_means_itself_is_no_meaning():
    assert read_label("Never-married", ComparisonKind.TEXT) is None
    assert read_label("12.5", ComparisonKind.NUMBER) is None
    assert isinstance(read_label("**", ComparisonKind.TEXT), Anything)
    assert isinstance(read_label("[20K, 40K]", ComparisonKind.NUMBER), LabelRange)
    assert isinstance(read_label("N1C***", ComparisonKind.TEXT), LabelMask)
    assert read_label("a or b", ComparisonKind.TEXT) == LabelMembers(("a", "b"))


def test_days_come_first_where_a_month_would_be_13_and_centuries_from_what_is_beside():
    day = dt.date(1967, 9, 7).toordinal() - dt.date(1970, 1, 1).toordinal()
    assert read_days(pa.array(["7/9/1967", "21/9/1967"])).tolist()[0] == day
    assert read_days(pa.array(["9/7/67"]), beside=pa.array(["9/7/1967", "1/1/2009"])).tolist() == [
        day
    ]
    assert read_days(pa.array(["7.9.1967"])).tolist() == [day]
    assert read_days(pa.array(["unknown"])) is None
    assert read_period("13/2020") is None


numbers = st.lists(st.integers(-50, 150), min_size=1, max_size=30, unique=True)
days = st.lists(
    st.dates(dt.date(1900, 1, 1), dt.date(2029, 12, 31)),
    min_size=1,
    max_size=30,
    unique=True,
)
codes = st.lists(st.from_regex(r"[0-9]{5}", fullmatch=True), min_size=1, max_size=30, unique=True)
HIERARCHIES = [
    (
        numbers,
        Intervals((Decimal(5), Decimal(10), Decimal(20)), bottom=Decimal(0), top=Decimal(90)),
    ),
    (numbers, Cuts(((Decimal(-50), Decimal(0), Decimal(18), Decimal("64.5"), Decimal(151)),))),
    (numbers, Extremes(bottom=Decimal(18), top=Decimal(65))),
    (days, Calendar(("month", "quarter", "year", "decade"))),
    (codes, Prefix((4, 2, 1), length=5)),
]


@pytest.mark.parametrize(("values", "hierarchy"), HIERARCHIES, ids=lambda item: type(item).__name__)
@given(data=st.data())
@settings(max_examples=25)
def test_every_label_that_we_write_holds_exactly_its_own_values(values, hierarchy, data):
    known = pa.array(data.draw(values))
    for level in range(hierarchy.height + 1):
        labels = hierarchy.generalize(known, level)
        distinct = labels.unique()
        found = match_labels(known, distinct)
        inside = {
            (int(o), int(p))
            for o, a, b in zip(found.owners, found.starts, found.stops, strict=True)
            for p in range(a, b)
        }
        owners = {text: index for index, text in enumerate(distinct.to_pylist())}
        expected = {
            (owners[text], int(place))
            for text, place in zip(labels.to_pylist(), found.places, strict=True)
        }
        assert inside == expected
