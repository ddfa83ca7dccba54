"""Grouping sets are counted as they expand."""

from __future__ import annotations

import pytest
from sqlglot import exp, parse_one

from discreet.sql.positions import count_expressions, count_sets, expand_sets, named_positions


def term_of(text: str) -> exp.Expr:
    (term,) = (
        parse_one(f"SELECT 1 FROM t GROUP BY {text}", dialect="postgres").args["group"].expressions
    )
    return term


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        ("a", ["a"]),
        ("ROLLUP (a, b)", ["a b", "a", ""]),
        ("CUBE (a, b)", ["a b", "a", "b", ""]),
        ("ROLLUP ((a, b), c)", ["a b c", "a b", ""]),
        ("GROUPING SETS ((a, b), a, ())", ["a b", "a", ""]),
        ("GROUPING SETS (ROLLUP (a), CUBE (b))", ["a", "", "b", ""]),
    ],
)
def test_as_many_sets_are_counted_as_there_are(text: str, sets: list[str]):
    found = expand_sets(term_of(text))

    assert [" ".join(item.name for item in each) for each in found] == sets
    assert count_sets(term_of(text)) == len(sets)


def test_expressions_in_brackets_are_counted_one_by_one():
    assert count_expressions(term_of("ROLLUP ((a, b), c)")) == 3


def test_a_name_of_two_columns_has_two_positions():
    assert named_positions(["a", "b", "a"], "a") == [1, 3]
