"""Histograms of a release's classes, and the attacks on them, against a count by hand."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.attacks.classes.releases import open_histogram

from discreet.attacks.classes.background import find_background
from discreet.attacks.classes.histograms import opened_release, read_classes
from discreet.attacks.classes.homogeneity import find_homogeneity
from discreet.attacks.classes.inference import find_inference
from discreet.attacks.classes.skewness import find_skewness
from discreet.errors import EmptySource, UnknownColumn, WrongUsage

rows = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", "z", None])),
    min_size=1,
    max_size=14,
)


@settings(max_examples=12)
@given(rows)
def test_every_attack_counts_people_as_one_would_by_hand(pairs):
    classes = {name: Counter(v for g, v in pairs if g == name) for name, _ in pairs}
    whole = Counter(value for _, value in pairs)
    people = len(pairs)
    with open_histogram(*map(list, zip(*pairs, strict=True))) as one:
        same, guess = find_homogeneity(one), find_inference(one, sure=0.6)
        knows, moved = find_background(one, rules_out=1, sure=0.6), find_skewness(one, shift=0.25)
    # A missing value is unknown: it may be the one that all others have.
    assert same.claimed == sum(sum(c.values()) for c in classes.values() if len({*c} - {None}) == 1)
    sure = [c for c in classes.values() if max(c.values()) / sum(c.values()) >= 0.6 - 1e-9]
    assert guess.claimed == sum(sum(c.values()) for c in sure)
    assert guess.correct == sum(max(c.values()) for c in sure)
    assert knows.claimed == sum(
        count
        for c in classes.values()
        for value, count in c.items()
        if count / (sum(c.values()) - _most_but(c, value)) >= 0.6 - 1e-9
    )
    assert moved.claimed == sum(
        count
        for c in classes.values()
        for value, count in c.items()
        if count / sum(c.values()) - whole[value] / people >= 0.25 - 1e-9
    )


def _most_but(counts: Counter, value) -> int:
    return max((count for other, count in counts.items() if other != value), default=0)


@settings(max_examples=5)
@given(rows)
def test_the_order_of_rows_does_not_matter(pairs):
    with open_histogram(*map(list, zip(*pairs, strict=True))) as one:
        forth = [attack(one).to_dict() for attack in (find_homogeneity, find_skewness)]
    with open_histogram(*map(list, zip(*reversed(pairs), strict=True))) as one:
        back = [attack(one).to_dict() for attack in (find_homogeneity, find_skewness)]
    assert forth == back


def test_columns_are_reported_alone_and_together():
    table = pa.table(
        {"age": ["3*", "3*", "4*", "4*"], "ill": ["flu", "flu", "gout", None], "paid": [1, 2, 3, 3]}
    )
    with opened_release(table, quasi=["age"], sensitive=["ill", "paid"]) as bound:
        ill, paid, both = read_classes(bound).all
        assert [find_homogeneity(one).claimed for one in (ill, paid, both)] == [4, 2, 0]
        assert both.label == "ill and paid"
        assert find_skewness(both).details["t"]["equal"]["worst"] == pytest.approx(0.5)


def test_people_with_several_rows_have_several_values_at_once():
    table = pa.table({"g": ["a"] * 3, "who": [1, 1, 2], "ill": ["x", "y", "x"], "paid": [5, 5, 5]})
    with opened_release(table, quasi=["g"], sensitive=["ill", "paid"], unit="who") as bound:
        ill, _, both = read_classes(bound).all
        # Both have x, and the first has y as well.
        assert (find_homogeneity(ill).claimed, find_homogeneity(both).claimed) == (2, 2)
        assert find_inference(both, sure=0.9).correct == 2


def test_people_with_several_rows_are_counted_once():
    groups, values = ["a", "a", "a", "b", "b"], ["x", "x", "x", "y", "z"]
    with open_histogram(groups, values, unit=["ann", "ann", "bob", "ann", "cy"]) as one:
        same, guess = find_homogeneity(one), find_inference(one, sure=0.9)
    # In class a are Ann and Bob, with x both; Ann is in b as well.
    assert (same.targets, same.claimed, same.details["classes"]) == (3, 2, 2)
    assert (guess.claimed, guess.correct) == (2, 2)


def test_suppressed_rows_are_attacked_as_a_class():
    with open_histogram(["a", "a", "*", "*"], ["x", "x", "y", "y"]) as one:
        found = find_homogeneity(one)
    assert (found.targets, found.claimed, found.rate) == (4, 4, 1.0)


def test_a_release_that_is_suppressed_whole_reveals_nothing():
    with open_histogram(["*", "*"], ["x", "y"]) as one:
        for attack in (find_homogeneity, find_inference, find_background, find_skewness):
            found = attack(one)
            if found.attack != "background":  # who rules out one of two values knows the other
                assert (found.targets, found.claimed, found.rate) == (2, 0, 0.0)
            assert found.advantage == 0


def test_a_release_with_one_value_teaches_nothing():
    with open_histogram(["a", "a", "b"], ["x", "x", "x"]) as one:
        for attack in (find_homogeneity, find_inference, find_background):
            assert (attack(one).rate, attack(one).advantage) == (1.0, 0.0)


def test_the_value_of_a_person_is_in_the_example_only():
    with open_histogram(["secret class"] * 2, ["secret value"] * 2) as one:
        for attack in (find_homogeneity, find_inference, find_background, find_skewness):
            found = attack(one)
            assert "secret" not in str(found.to_dict())
            assert "secret class" in " ".join(found.example)


def test_homogeneity_by_chance_is_distinguished_from_values_that_follow_the_class():
    with open_histogram(["a", "a", "b", "b"], ["x", "x", "y", "y"]) as one:
        found = find_homogeneity(one)
    # Two of two x in one class: 2 / C(4, 2).
    assert found.details["by_chance"] == pytest.approx(1 / 3)


def test_a_release_without_a_sensitive_column_is_refused():
    table = pa.table({"group": ["a"], "value": ["x"]})
    with (
        opened_release(table, quasi=["group"], sensitive=[]) as bound,
        pytest.raises(WrongUsage, match="--sensitive"),
    ):
        read_classes(bound)


def test_an_empty_release_is_refused():
    table = pa.table({"group": pa.array([], pa.string()), "value": pa.array([], pa.string())})
    with (
        opened_release(table, quasi=["group"], sensitive=["value"]) as bound,
        pytest.raises(EmptySource),
    ):
        read_classes(bound)


def test_a_wrong_column_is_named():
    table = pa.table({"group": ["a"], "value": ["x"]})
    with (
        pytest.raises(UnknownColumn, match="'grup'"),
        opened_release(table, quasi=["grup"], sensitive=["value"]),
    ):
        pass
