"""Releases joined by all columns they share leave each person among the rows that an adversary would."""

from __future__ import annotations

from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.attacks.releases import composition, joint
from discreet.attacks.releases.composition import Thresholds, find_composition
from discreet.attacks.releases.joint import find_remaining
from discreet.engines.connect import open_table
from discreet.engines.duckdb import DuckDB
from discreet.errors import WrongUsage

PEOPLE = [(age, job, ill) for age in range(4) for job, ill in (("a", "flu"), ("b", "gout"))]
Row = tuple[str, str, str]


def label(age: int, low: int, high: int) -> str:
    return f"{age}" if low == high else f"[{low}, {high}]"


def table(rows: list[Row], names: tuple[str, ...] = ("age", "job", "ill")) -> pa.Table:
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})


def attacked(
    people: pa.Table, *releases: pa.Table, k: int = 2, sensitive: tuple[str, ...] = ("ill",)
):
    engine = DuckDB()
    try:
        opened = [open_table(one, engine=engine) for one in releases]
        return find_composition(
            open_table(people, engine=engine),
            opened,
            on={"age": "age"},
            sensitive=sensitive,
            thresholds=Thresholds(k=k),
        )
    finally:
        engine.close()


def test_two_releases_that_each_hide_everybody_single_everybody_out_by_a_kept_column():
    known = table([(0, "a", "flu"), (1, "b", "flu"), (2, "c", "flu"), (3, "d", "flu")])
    first = table([(f"[{n // 2 * 2}, {n // 2 * 2 + 1}]", "abcd"[n], "flu") for n in range(4)])
    second = table([("[1, 2]" if n in (1, 2) else "{0, 3}", "abcd"[n], "flu") for n in range(4)])
    found = attacked(known, first, second)
    assert found[0].details["one_candidate"] == 1.0
    assert found[0].details["joined_by"] == ["ill", "job"]
    assert (found[0].correct, found[0].baseline, found[0].advantage) == (4, 0.0, 1.0)


def test_a_third_release_leaves_fewer():
    ages = list(range(8))
    known = table([(n, "abcdefgh"[n], "flu") for n in ages])
    releases = []
    for bit in range(3):
        parts = [[m for m in ages if m >> bit & 1 == n >> bit & 1] for n in ages]
        labels = [f"{{{', '.join(map(str, part))}}}" for part in parts]
        releases.append(table([(labels[n], "abcdefgh"[n], "flu") for n in ages]))
    two, three = (attacked(known, *releases[:n], k=4)[0] for n in (2, 3))
    assert (two.details["one_candidate"], two.details["fewest"]) == (0.0, 2)
    assert (three.details["one_candidate"], three.details["fewest"]) == (1.0, 1)


def test_releases_that_share_nothing_but_labels_are_intersected_by_numbers_only():
    known = table([(n, "a", "flu") for n in range(4)])
    first = pa.table({"age": ["[0, 3]"] * 4})
    second = pa.table({"age": ["[0, 1]", "[0, 1]", "[2, 3]", "[2, 3]"]})
    found = attacked(known, first, second, k=3, sensitive=())
    assert len(found) == 1
    assert found[0].details["fewest"] == 2


def test_a_column_that_is_generalized_in_one_release_joins_nothing_and_is_named():
    known = table([(n, f"{10 + n}", "flu") for n in range(4)])
    first = table([("[0, 3]", f"{10 + n}", "flu") for n in range(4)])
    second = table([("[0, 3]", "[10, 13]", "flu")] * 4)
    found = attacked(known, first, second)
    assert found[0].details["not_joined_by"] == ["'job' of Table"]
    assert found[0].details["fewest"] == 4


def test_values_that_were_changed_do_not_hide_what_is_claimed():
    """Noise in a kept column: no person's own value is there, and rows are joined all the same."""
    known = table([(n, "none", "flu") for n in range(4)])
    first = table([(f"[{n // 2 * 2}, {n // 2 * 2 + 1}]", "abcd"[n], "flu") for n in range(4)])
    second = table([("[1, 2]" if n in (1, 2) else "{0, 3}", "abcd"[n], "flu") for n in range(4)])
    found = attacked(known, first, second)
    assert (found[0].correct, found[0].claimed, found[0].rate) == (None, 4, 1.0)


def test_one_release_is_refused():
    with pytest.raises(WrongUsage, match="two releases"):
        attacked(table([(1, "a", "flu")]), table([("1", "a", "flu")]))


def least(person: int, releases: list[list[tuple[int, int, str]]]) -> int:
    """By hand: rows of each release that fit, without those that have no partner in another."""
    left = [[job for low, high, job in rows if low <= person <= high] for rows in releases]
    for _ in left:
        left = [[job for job in own if all(job in other for other in left)] for own in left]
    pairs = [
        sum(min(a.count(job), b.count(job)) for job in set(a)) for a, b in combinations(left, 2)
    ]
    return min(*pairs, *map(len, left))


RANGES = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda ends: (min(ends), max(ends)))
RELEASE = st.lists(
    st.tuples(RANGES, st.sampled_from("abc")).map(lambda row: (*row[0], row[1])),
    min_size=2,
    max_size=8,
)


@given(st.lists(RELEASE, min_size=2, max_size=4), st.sampled_from([3, 8_000_000]))
@settings(max_examples=15)
def test_candidates_are_those_of_a_count_by_hand(releases, most):
    known = table([(n, "a", "flu") for n in range(4)])
    tables = [
        table([(f"[{low}, {high}]", job, "flu") for low, high, job in rows]) for rows in releases
    ]
    seen = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(joint, "MOST_PAIRS", most)
        patched.setattr("discreet.attacks.releases.rows.LEAST_COMMON", 0.0)
        patched.setattr(
            composition,
            "find_remaining",
            lambda *a, **b: seen.append(find_remaining(*a, **b)) or seen[0],
        )
        attacked(known, *tables)
    expected = [least(person, releases) for person in range(4)]
    assert seen[0].candidates.tolist() == expected
