"""Values that differ and mean nearly the same."""

from __future__ import annotations

import datetime as dt

import pytest
from tests.attacks.classes.releases import open_histogram

from discreet.attacks.classes.similarity import Within, find_similarity
from discreet.errors import WrongUsage
from discreet.policy.load import load_policy

GROUPS = ["a", "a", "b", "b"]


def test_numbers_within_a_width_are_alike():
    with open_histogram(GROUPS, [10, 12, 10, 90]) as one:
        (near,) = find_similarity(one, within=Within(width=2))
        (nearer,) = find_similarity(one, within=Within(width=1))
    assert (near.claimed, near.rate) == (2, 0.5)
    assert (nearer.claimed, nearer.example) == (0, ())


def test_one_very_high_value_does_not_make_all_others_alike():
    values = [*range(100), 10**9]
    with open_histogram([i // 2 for i in range(101)], values) as one:
        (found,) = find_similarity(one, within=Within(share=0.25))
        (wide,) = find_similarity(one, within=Within(share=1.0))
    assert found.details["span"] == 90
    assert wide.details["span"] == 90


def test_dates_within_days_are_alike():
    days = [dt.date(2026, 1, d) for d in (1, 8, 1, 31)]
    with open_histogram(GROUPS, days) as one:
        (found,) = find_similarity(one, within=Within(width=7))
    assert (found.claimed, "7 days" in found.verdict) == (2, True)


def test_moments_lie_on_a_line_of_days():
    moments = [dt.datetime(2026, 1, 1, h, tzinfo=dt.UTC) for h in (0, 6, 0, 23)]
    with open_histogram(GROUPS, moments) as one:
        (found,) = find_similarity(one, within=Within(width=0.25))
    assert found.claimed == 2


def test_a_missing_value_is_near_to_none():
    with open_histogram(GROUPS, [10, None, 10, 11]) as one:
        (found,) = find_similarity(one, within=Within(width=5))
    assert found.claimed == 2


def test_words_without_an_order_are_not_compared():
    with open_histogram(GROUPS, ["x", "y", "x", "y"]) as one:
        assert find_similarity(one) == ()


@pytest.fixture
def policy(tmp_path):
    (tmp_path / "kinds.csv").write_text(
        "cold;nose;head;*\nflu;nose;head;*\nache;ear;head;*\ngout;foot;leg;*\n", encoding="utf-8"
    )
    (tmp_path / "policy.yaml").write_text(
        "tables:\n  t:\n    columns:\n      group: quasi-identifier\n"
        "      value: {role: sensitive, hierarchy: {file: kinds.csv}, values: [cold, flu, ache, gout]}\n",
        encoding="utf-8",
    )
    return load_policy(tmp_path / "policy.yaml")


def test_the_hierarchy_says_what_is_alike_level_by_level(policy):
    values = ["cold", "flu", "cold", "ache", "flu", "gout"]
    with open_histogram(["a", "a", "b", "b", "c", "c"], values, policy=policy) as one:
        rule = policy.tables["t"]
        nose, _ = find_similarity(one, policy=rule)
        head, _ = find_similarity(one, policy=rule, level=2)
        with pytest.raises(WrongUsage, match="1 to 2"):
            find_similarity(one, policy=rule, level=3)
    assert (nose.claimed, head.claimed) == (2, 4)
    assert nose.details["exposed_by_level"] == [2, 4]


def test_listed_values_have_an_order(policy):
    values = ["cold", "flu", "flu", "gout", "ache"]
    with open_histogram(["a", "a", "b", "b", "b"], values, policy=policy) as one:
        _, near = find_similarity(one, policy=policy.tables["t"], within=Within(width=1))
    assert (near.claimed, near.details["by"]) == (2, "distance")


def test_a_release_that_is_all_alike_teaches_nothing():
    with open_histogram(GROUPS, [10, 11, 10, 11]) as one:
        (found,) = find_similarity(one, within=Within(width=5))
    assert (found.rate, found.baseline, found.advantage) == (1.0, 1.0, 0.0)
