"""Bugs reproduced in other tools, as tests of ours: ../shared/notes/release.md, section 4."""

from __future__ import annotations

import math

import pandas as pd
import polars as pl
import pytest

import discreet


def assess(frame: object, quasi=("q",), sensitive=("s",)) -> discreet.Assessment:
    return discreet.assess(frame, quasi=list(quasi), sensitive=list(sensitive), depth=0)


PAIRS = pd.DataFrame({"q": ["x", "x", "y", "y"], "s": ["a", "a", "b", "b"]})


def test_a_shuffled_index_changes_nothing():
    found = assess(PAIRS.set_axis([0, 2, 1, 3])).sensitive["s"]
    assert (found.l.distinct, found.t.equal) == (1, 0.5)


def test_a_filtered_frame_is_what_it_shows():
    found = assess(PAIRS[PAIRS["q"] == "y"])
    assert (found.rows, found.k, found.sensitive["s"].values) == (2, 2, 1)


def test_the_index_is_no_column():
    found = discreet.assess(PAIRS.set_index("s"), quasi=["q"])
    assert [column.column for column in found.columns] == ["q"]


def test_a_duplicated_index_changes_nothing():
    assert assess(pd.concat([PAIRS, PAIRS])).k == 4


def test_a_single_quasi_identifier_with_one_missing_value_is_one_anonymous():
    frame = pd.DataFrame({"q": ["x", "x", "x", None], "s": ["a", "b", "c", "d"]})
    assert assess(frame).k == 1


def test_a_category_no_one_has_is_no_class():
    frame = PAIRS.assign(q=pd.Categorical(PAIRS["q"], categories=["never", "y", "x"]))
    found = assess(frame)
    assert (found.k, found.classes) == (2, 2)


def test_a_sensitive_category_no_one_has_is_no_value():
    frame = PAIRS.assign(s=pd.Categorical(PAIRS["s"], categories=["never", "b", "a"]))
    found = assess(frame).sensitive["s"]
    assert (found.values, found.t.equal) == (2, 0.5)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_the_entropy_l_of_equally_frequent_values_is_their_number(count):
    frame = pd.DataFrame({"q": ["x"] * count, "s": [str(n) for n in range(count)]})
    assert assess(frame).sensitive["s"].l.entropy == pytest.approx(count, rel=1e-12)


def test_entropy_l_may_not_be_rounded_down_to_a_whole_number():
    frame = pd.DataFrame({"q": ["x"] * 3, "s": ["a", "a", "b"]})
    expected = math.exp(-(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3)))
    assert assess(frame).sensitive["s"].l.entropy == pytest.approx(expected, rel=1e-12)


def test_a_missing_text_among_sensitive_values_is_counted_and_diversifies_nothing():
    frame = pd.DataFrame({"q": ["x"] * 3, "s": ["a", None, None]})
    found = assess(frame).sensitive["s"]
    assert (found.values, found.missing, found.l.distinct, found.t.equal) == (2, 2, 1, 0.0)


def test_delta_disclosure_is_infinite_where_a_class_lacks_a_value():
    frame = pd.DataFrame({"q": ["x", "x", "y", "y"], "s": ["a", "b", "a", "a"]})
    found = assess(frame).sensitive["s"]
    assert found.delta_disclosure == math.inf
    assert found.to_dict()["delta_disclosure"] == "inf"


def test_numbers_that_are_not_a_number_are_missing_in_pandas_and_a_value_in_polars():
    """pandas writes a missing number NaN; polars tells them apart, and so do we."""
    nan = float("nan")
    assert assess(pd.DataFrame({"q": [1.0, nan, nan], "s": ["a"] * 3})).classes == 2
    assert assess(pl.DataFrame({"q": [1.0, nan, None], "s": ["a"] * 3})).classes == 3


def test_a_numeric_sensitive_column_has_both_distances():
    frame = pd.DataFrame({"q": ["x", "y"], "s": [1, 100]})
    found = assess(frame).sensitive["s"]
    assert (found.t.equal, found.t.ordered, found.t.hierarchical) == (0.5, 0.5, None)
