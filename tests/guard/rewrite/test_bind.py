"""Values become literals that engines read as the same value."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any
from uuid import UUID

import duckdb
import pytest
from sqlglot import exp, parse_one

from discreet.engines.databases.database import EngineTraits
from discreet.engines.duckdb.served import ServedDuckDB
from discreet.errors import StatementFailed
from discreet.guard.rewrite import bind_query, infer_parameter_types
from discreet.guard.rewrite.bind import literal

VALUES: list[tuple[str, Any]] = [
    ("int2", -5),
    ("int4", 2**31 - 1),
    ("int8", -(2**63)),
    ("numeric", Decimal("12345678901234567890.123456789")),
    ("numeric", Decimal("-0.5")),
    ("float8", 1e-300),
    ("float8", float("inf")),
    ("bool", False),
    ("text", 'it\'s \\ "fine"\n-- not a comment'),
    ("varchar", ""),
    ("date", dt.date(2024, 2, 29)),
    ("timestamp", dt.datetime.fromisoformat("2024-02-29 23:59:59.999999")),
    ("time", dt.time(1, 2, 3)),
    ("interval", dt.timedelta(days=3, seconds=5)),
    ("uuid", UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
    ("bytea", b"\x00\xff'"),
    ("int4", None),
    ("numeric", None),
]


def written(kind: str, value: object, traits: EngineTraits) -> str:
    tree = exp.select(literal(value, kind, traits=traits))
    return tree.sql(dialect=traits.dialect, identify=True)


@pytest.mark.parametrize(("kind", "value"), VALUES)
def test_duckdb_reads_the_value_back(kind: str, value: object):
    assert duckdb.execute(written(kind, value, ServedDuckDB.traits)).fetchone() == (value,)


@pytest.mark.postgres
def test_postgresql_reads_the_values_back(oracle: Any):
    for kind, value in VALUES:
        assert oracle.execute(written(kind, value, EngineTraits())).fetchone() == (value,)
    oracle.rollback()


def test_what_is_no_value_is_refused():
    for kind, value in (("text", [1]), ("text", "a\0b"), ("bytea", 5), ("point", "1")):
        with pytest.raises(StatementFailed):
            literal(value, kind, traits=EngineTraits())
    with pytest.raises(StatementFailed, match="supplies 0 parameters"):
        bind_query(parse_one("SELECT $1", dialect="postgres"), ["int4"], [], traits=EngineTraits())


def test_the_tree_itself_keeps_its_parameters():
    tree = parse_one("SELECT $1, $2", dialect="postgres")
    assert (
        bind_query(tree, ["int4", "text"], [1, "a"], traits=EngineTraits()).find(exp.Parameter)
        is None
    )
    assert tree.find(exp.Parameter) is not None


def test_types_of_parameters_of_other_queries_are_those_of_casts():
    tree = parse_one("SELECT $1::oid, CAST($2 AS int), $4 FROM x LIMIT $5", dialect="postgres")
    assert infer_parameter_types(tree, ["bigint"]) == ("int8", "int4", "text", "text", "int8")
