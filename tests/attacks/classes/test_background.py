"""Values the adversary can rule out, conditions and columns it knows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.attacks.classes.releases import open_histogram

from discreet.attacks.classes.background import find_all, find_background, read_knowledge, rule_out
from discreet.attacks.classes.histograms import opened_release
from discreet.engines.connect import open_table
from discreet.errors import UnknownColumn, WrongUsage
from discreet.measure.classes import ClassHistograms


def one_class(counts: list[int]) -> ClassHistograms:
    size = np.array([sum(counts)])
    ends = np.array([0, len(counts)])
    return ClassHistograms(np.zeros((1, 1)), ends, np.arange(len(counts)), np.array(counts), size)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=8), st.integers(0, 9))
def test_ruling_out_more_never_makes_the_adversary_less_sure(counts, m):
    groups = one_class(counts)
    less, more = rule_out(groups, m), rule_out(groups, m + 1)
    assert more.of_class[0] >= less.of_class[0]
    assert (more.of_entry >= less.of_entry).all()
    assert rule_out(groups, len(counts)).of_class[0] == 1.0


@given(st.lists(st.integers(1, 30), min_size=1, max_size=8), st.integers(0, 9))
def test_certainty_is_the_count_over_what_the_largest_others_leave(counts, m):
    found = rule_out(one_class(counts), m).of_entry
    for place, count in enumerate(counts):
        others = sorted(counts[:place] + counts[place + 1 :], reverse=True)
        assert found[place] == pytest.approx(count / (sum(counts) - sum(others[:m])))


def test_values_that_diversity_keeps_apart_withstand_one_that_is_ruled_out():
    with open_histogram(["a"] * 8 + ["b"] * 8, list("wwxxyyzz" * 2)) as one:
        found = find_background(one, rules_out=1)
    assert (found.claimed, found.details["worst"]) == (0, pytest.approx(1 / 3))


PEOPLE = pa.table(
    {
        "sex": ["M", "M", "F", "F"],
        "zip": ["1*", "1*", "1*", "1*"],
        "ill": ["flu", "cyst", "cyst", "flu"],
        "paid": [1, 2, 3, 3],
    }
)


def attacked(*knows: str, quasi=("zip",), **options):
    with opened_release(PEOPLE, quasi=list(quasi), sensitive=["ill"]) as bound:
        return find_all(bound, knows=knows, rules_out=0, **options)[0]


def test_an_implication_rules_out_values_for_some():
    found = attacked("sex = 'M' implies ill <> 'cyst'", quasi=("zip", "sex"))
    # The man who is left has the flu; the women may have either.
    assert (found.targets, found.claimed) == (3, 1)


def test_conditions_add_up():
    assert attacked("ill <> 'cyst'", "paid > 1").targets == 1


def test_what_the_condition_reveals_alone_is_no_breach():
    found = attacked("ill <> 'cyst'")
    assert (found.rate, found.baseline, found.advantage) == (1.0, 1.0, 0.0)


def test_a_missing_value_contradicts_nothing():
    table = pa.table({"zip": ["1*"] * 3, "ill": ["flu", None, "gout"]})
    with opened_release(table, quasi=["zip"], sensitive=["ill"]) as bound:
        found = find_all(bound, knows=["ill <> 'gout'"], rules_out=0)[0]
    assert (found.targets, found.claimed) == (2, 0)


def test_a_known_column_is_no_longer_to_be_learned():
    with opened_release(PEOPLE, quasi=["zip"], sensitive=["ill", "paid"]) as bound:
        (found,) = find_all(bound, knows=["paid"], rules_out=0)
        assert found.details["columns"] == ("ill",)
        assert (found.claimed, found.baseline) == (2, 0.5)
        with pytest.raises(WrongUsage, match="nothing is left"):
            find_all(bound, knows=["paid", "ill"])


@pytest.mark.parametrize(
    "text",
    [
        "ill <>",
        "length(ill) = 3",
        "ill IN (SELECT ill FROM people)",
        "EXISTS (SELECT 1)",
        "(SELECT 1) = 1",
        "ill = 'flu' implies paid = 1 implies paid = 2",
        "",
    ],
)
def test_what_is_no_plain_condition_is_refused(text):
    with pytest.raises(WrongUsage):
        read_knowledge([text], open_table(PEOPLE))


def test_a_condition_on_an_unknown_column_names_it():
    with pytest.raises(UnknownColumn, match="'il'"):
        read_knowledge(["il = 'flu'"], open_table(PEOPLE))


def test_knowledge_in_words_names_no_value():
    known = read_knowledge(["paid", "ill <> 'cyst'"], open_table(PEOPLE))
    assert known.words == "the person's paid and what is said of ill"
