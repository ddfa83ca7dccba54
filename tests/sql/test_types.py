"""The one table of PostgreSQL's types agrees with pg_type, Arrow, DuckDB and sqlglot."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from sqlglot import exp

from discreet.sql import types

LISTED = {name: each for name, each in types.TYPES.items() if each.elsewhere.arrow is not None}
WITH_TREES = sorted(name for name, each in types.TYPES.items() if each.elsewhere.trees)


def test_every_type_sent_to_clients_is_found_by_its_oid():
    assert {types.client_type_name(each.oid) for each in types.CLIENT_TYPES.values()} == set(
        types.CLIENT_TYPES
    )


@pytest.mark.parametrize("name", sorted(LISTED))
def test_the_arrow_type_has_the_name_that_the_table_gives_it(name: str):
    assert str(types.arrow_type(name)) == LISTED[name].elsewhere.arrow


@pytest.mark.parametrize("name", sorted(LISTED))
def test_duckdb_calls_its_types_as_the_table_does(name: str):
    for held in LISTED[name].elsewhere.duckdb:
        described = duckdb.sql(f"SELECT NULL::{held} AS x").types
        assert [str(each) for each in described] == [held]


@pytest.mark.parametrize("name", WITH_TREES)
def test_every_name_of_a_type_is_read_as_its_tree(name: str):
    found = types.TYPES[name]
    for written in (name, found.long_name, *found.elsewhere.aliases):
        assert exp.DataType.build(written, dialect="postgres").this in found.elsewhere.trees


@pytest.mark.parametrize("name", sorted(types.ALIASES))
def test_an_alias_means_the_same_type_as_its_name(name: str):
    assert types.parse_modified_type(name).oid == types.TYPES[types.ALIASES[name]].oid


def test_a_numeric_of_more_than_38_digits_has_256_bits():
    assert types.decimal_type(38, 2) == pa.decimal128(38, 2)
    assert types.decimal_type(39, 2) == pa.decimal256(39, 2)


def test_a_modifier_below_the_header_declares_no_size():
    assert types.format_type(types.TYPES["numeric"].oid, 3) == "numeric"
