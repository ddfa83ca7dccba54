"""Fuzzy linkage: typos and missing values are forgiven, strangers are not linked."""

from __future__ import annotations

import datetime as dt
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks.linkage.fuzzy import assign_links, link_fuzzily
from discreet.attacks.linkage.spec import make_linkage_spec
from discreet.engines.connect import open_table
from discreet.errors import EmptySource, MissingExtra, WrongUsage

pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), unique=True, max_size=20)


@given(pairs, st.data())
def test_no_one_gets_two_rows_and_no_row_two_people(found, data):
    weights = data.draw(st.lists(st.integers(0, 4), min_size=len(found), max_size=len(found)))
    people, rows = (np.array([pair[side] for pair in found], np.int64) for side in (0, 1))
    chosen = assign_links(people, rows, np.array(weights, np.float64))
    assert len(set(people[chosen])) == len(chosen) == len(set(rows[chosen]))


def test_two_equally_good_rows_are_no_link():
    people, rows = np.array([0, 0, 1]), np.array([5, 6, 7])
    assert assign_links(people, rows, np.array([3.0, 3.0, 1.0])).tolist() == [2]


def test_a_person_who_loses_a_row_to_a_better_link_gets_the_next():
    people, rows = np.array([0, 1, 1]), np.array([5, 5, 6])
    assert assign_links(people, rows, np.array([9.0, 8.0, 7.0])).tolist() == [0, 2]


SYLLABLES = np.array(["ka", "ro", "mi", "ta", "le", "sun", "der", "wick", "ham", "ton", "ber"])


def made_up(rng: np.random.Generator, count: int, *, start: int) -> dict[str, list]:
    parts = SYLLABLES[rng.integers(0, len(SYLLABLES), (count, 4))]
    days = dt.date(1950, 1, 1).toordinal() + rng.integers(0, 20000, count)
    return {
        "who": [f"p{start + i}" for i in range(count)],
        "name": ["".join(row) for row in parts.tolist()],
        "dob": [dt.date.fromordinal(int(day)).isoformat() for day in days],
        "zip": [str(code) for code in rng.integers(10000, 13000, count)],
    }


def spoil(people: dict[str, list]) -> dict[str, list]:
    """Misspell a third of the names, change a digit of a third of the ZIPs, lose some dates."""
    spoiled = {name: list(values) for name, values in people.items()}
    for i in range(len(people["who"])):
        if i % 3 == 0:
            spoiled["name"][i] = people["name"][i][:2] + "x" + people["name"][i][3:]
        elif i % 3 == 1:
            spoiled["zip"][i] = people["zip"][i][:4] + str((int(people["zip"][i][4]) + 1) % 10)
        if i % 10 == 0:
            spoiled["dob"][i] = None
    return spoiled


def fuzzily(release, people, on, **options):
    released = open_table(pa.table(release))
    known = open_table(pa.table(people), engine=released.engine)
    joined = make_linkage_spec(
        released, known, on=on, truth="who" if "who" in release else None, sensitive=["zip"]
    )
    return link_fuzzily(released, known, joined=joined, rng=np.random.default_rng(1), **options)


@pytest.mark.statistics
def test_typos_and_missing_values_protect_no_one_and_strangers_stay_strangers():
    # n = 300 in the release and 300 who are not, every one of them spoiled; seeded.
    rng = np.random.default_rng(20)
    release = made_up(rng, 600, start=0)
    inside = {name: values[:300] for name, values in release.items()}
    outside = made_up(rng, 300, start=10_000)
    people = spoil({name: inside[name] + outside[name] for name in release})
    found = fuzzily(release, people, ["name", "dob", "zip"])
    assert found.targets == 600
    assert found.details["recall"] > 0.95
    assert found.details["precision"] > 0.98
    assert (found.details["absent"], found.correct) == (300, round(found.details["recall"] * 300))
    assert found.example


def test_without_splink_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "splink", None)
    with pytest.raises(MissingExtra, match="attack"):
        fuzzily({"zip": ["1"]}, {"zip": ["1"]}, ["zip"])


def test_labels_are_refused_because_fuzzy_linkage_compares_plain_values():
    with pytest.raises(WrongUsage, match="leave --fuzzy out"):
        fuzzily({"zip": ["476**"]}, {"zip": ["47677"]}, ["zip"])


def test_columns_of_few_values_are_refused():
    many = {"sex": ["F", "M"] * 200, "zip": ["1"] * 400}
    with pytest.raises(WrongUsage, match="too few values"):
        fuzzily(many, many, ["sex"])


def test_an_empty_list_is_refused():
    with pytest.raises(EmptySource, match="has no rows"):
        fuzzily({"zip": ["1"]}, {"zip": pa.array([], pa.string())}, ["zip"])
