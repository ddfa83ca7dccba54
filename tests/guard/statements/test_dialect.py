"""What sqlglot does not read and clients send."""

from __future__ import annotations

import pytest
from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.statements.trees import parse_query


def test_arrays_of_numbers_of_things_are_types():
    tree = parse_query("SELECT $1::oid[], 'a'::regclass, ARRAY[1]::regtype[]")
    types = [cast.to.sql(dialect="postgres") for cast in tree.find_all(exp.Cast)]
    assert sorted(types) == ["REGCLASS", "oid[]", "regtype[]"]


def test_select_may_be_the_name_of_a_column():
    tree = parse_query("SELECT a AS select, t.select FROM (SELECT 1 AS a, 2 AS select) AS t")
    assert tree.named_selects == ["select", "select"]


@pytest.mark.parametrize("text", ["SELECT select", "SELECT a AS select 1", "SELECT AS select FROM"])
def test_select_is_no_name_elsewhere(text: str):
    with pytest.raises(StatementFailed):
        parse_query(text)
