"""Names fold, are found and are given as in PostgreSQL."""

from __future__ import annotations

import pytest
from sqlglot import exp, parse_one

from discreet.sql.names import ResultNames, common_table, find_in_scopes, from_items

NAMES = ResultNames(
    type_name=lambda to: to.sql(dialect="postgres").lower(),
    call_name=lambda node: node.sql_name().lower() if isinstance(node, exp.Func) else None,
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("A", "a"),
        ('"A"', "A"),
        ("1 AS B", "b"),
        ("t.a::text", "a"),
        ("1::text", "text"),
        ("true", "bool"),
        ("interval '1 day'", "interval"),
        ("CASE WHEN a THEN 1 END", "case"),
        ("CASE WHEN a THEN 1 ELSE b END", "b"),
        ("CASE WHEN a THEN 1 ELSE 2 END", "case"),
        ("(SELECT 1 AS x)", "x"),
        ("(SELECT 1 AS x)::text", "x"),
        ("(SELECT a UNION SELECT b)", "a"),
        ("trim(leading from a)", "ltrim"),
        ("own(1)", "own"),
        ("sum(a) OVER (ORDER BY b)", "sum"),
        ("a + 1", "?column?"),
    ],
)
def test_a_column_has_the_name_that_postgresql_gives_it(text: str, name: str):
    (column,) = parse_one(f"SELECT {text}", dialect="postgres").expressions

    assert NAMES.name(column) == name


@pytest.mark.parametrize(
    ("text", "is_common"),
    [
        ("WITH a AS (SELECT 1) SELECT * FROM A", True),
        ('WITH a AS (SELECT 1) SELECT * FROM "A"', False),
        ("WITH a AS (SELECT 1) SELECT * FROM public.a", False),
        ("WITH a AS (SELECT * FROM a) SELECT 1", False),
        ("WITH RECURSIVE a AS (SELECT * FROM a) SELECT 1", True),
        ("WITH a AS (SELECT 1) SELECT (SELECT 1 FROM a)", True),
        ("SELECT * FROM (WITH a AS (SELECT 1) SELECT 1) AS b, a", False),
    ],
)
def test_a_name_means_a_common_table_where_it_is_visible(text: str, is_common: bool):
    (table,) = parse_one(text, dialect="postgres").find_all(exp.Table)

    assert (common_table(table) is not None) is is_common


def test_two_of_one_name_on_the_nearest_level_are_ambiguous():
    with pytest.raises(KeyError):
        find_in_scopes([["b"], ["a", "a"], ["a"]], "a".__eq__, KeyError)


def test_a_farther_level_is_not_searched_once_a_name_is_found():
    assert find_in_scopes([["a"], ["a", "a"]], "a".__eq__, KeyError) == "a"


def test_from_has_all_tables_of_a_join():
    tree = parse_one("SELECT 1 FROM a, b JOIN c ON true", dialect="postgres")

    assert isinstance(tree, exp.Select)
    assert [item.name for item in from_items(tree)] == ["a", "b", "c"]
