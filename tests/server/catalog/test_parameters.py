"""Parameters have the types that their places need, and values that reach the query as literals."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.catalog.example import client, parsed, queries

from discreet.errors import StatementFailed


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("SELECT relname FROM pg_class WHERE oid = $1", ("oid",)),
        ("SELECT relname FROM pg_class c WHERE $1 = c.relkind", ("char",)),
        ("SELECT relname FROM pg_class WHERE oid = $1::regclass", ("text",)),
        ("SELECT typname FROM pg_type WHERE oid = ANY($1::oid[])", ("oid[]",)),
        ("SELECT typname FROM pg_type WHERE typname = ANY($1)", ("name[]",)),
        ("SELECT 1 FROM pg_class WHERE relname IN ($1, $2)", ("name", "name")),
        ("SELECT 1 FROM pg_class WHERE relnatts > $2 LIMIT $1", ("int8", "int2")),
        ("SELECT current_setting($1)", ("text",)),
        ("SELECT 1 FROM information_schema.columns WHERE ordinal_position = $1", ("int4",)),
        ("SELECT 1 FROM pg_class WHERE relname LIKE $2", ("text", "text")),
        ("SELECT version()", ()),
    ],
)
def test_a_parameter_has_the_type_of_its_place(text: str, types: tuple[str, ...]):
    assert client("alice").catalog.parameters(parsed(text)) == types


def test_what_a_client_declared_is_taken():
    tree = parsed("SELECT 1 FROM pg_class WHERE oid = $1 AND relname = $2")
    assert client("alice").catalog.parameters(tree, [None, "varchar"]) == ("oid", "varchar")


@pytest.mark.parametrize(
    ("text", "values", "rows"),
    [
        ("SELECT relname FROM pg_class WHERE oid = $1::regclass", ["patients"], [("patients",)]),
        (
            "SELECT typname FROM pg_type WHERE oid = ANY($1::oid[]) ORDER BY 1",
            [[25, 23]],
            [("int4",), ("text",)],
        ),
        (
            "SELECT relname FROM pg_class WHERE relname = $1 AND relkind = $2",
            ["patients", "r"],
            [("patients",)],
        ),
        ("SELECT relname FROM pg_class WHERE relname = $1", ["x' OR '1' = '1"], []),
        (
            "SELECT relname FROM pg_class WHERE relname = ANY($1)",
            [["a", None, "visits"]],
            [("visits",)],
        ),
        (
            "SELECT relhasindex FROM pg_class WHERE relname = 'patients' AND relhasindex = $1",
            [True],
            [(True,)],
        ),
        ("SELECT current_setting($1)", ["server_version"], [("16.4",)]),
        ("SELECT has_table_privilege($1, $2)", ["patients", "SELECT"], [(True,)]),
        ("SELECT 1 FROM pg_class WHERE oid = $1", [None], []),
    ],
)
def test_values_reach_the_query(text: str, values: list[Any], rows: list[tuple[Any, ...]]):
    catalog = client("alice").catalog
    tree = parsed(text)
    types = catalog.parameters(tree)
    catalog.describe(catalog.bind(tree, types))
    table = catalog.run(catalog.bind(tree, types, values))
    assert list(zip(*(column.to_pylist() for column in table.columns), strict=True)) == rows


def test_asyncpg_learns_of_types_by_their_numbers():
    text = next(text for text in queries("asyncpg") if "'{16438,16439}'" in text)
    tree = parsed(text.replace("'{16438,16439}'", "$1"))
    catalog = client("alice").catalog
    assert catalog.parameters(tree) == ("oid[]",)
    table = catalog.run(catalog.bind(tree, ("oid[]",), [[1005]]))
    assert [(row["name"], row["kind"], row["elemtype"]) for row in table.to_pylist()] == [
        ("int2", "b", 0),
        ("_int2", "b", 21),
    ]
    kinds = {field.name: field.type for field in catalog.describe(catalog.bind(tree, ("oid[]",)))}
    assert (kinds["kind"], kinds["attrtypoids"], kinds["attrnames"]) == ("char", "oid[]", "text[]")


def test_a_value_too_few_is_refused():
    catalog = client("alice").catalog
    with pytest.raises(StatementFailed) as failure:
        catalog.bind(parsed("SELECT relname FROM pg_class WHERE oid = $2"), ("oid", "oid"), [1])
    assert failure.value.sqlstate == "08P01"
