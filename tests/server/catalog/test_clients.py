"""What real clients send to learn of a server is answered, whichever role asks."""

from __future__ import annotations

import re

import pytest
from tests.server.catalog.example import client, parsed, queries

CLIENTS = ("psql", "psql_tab", "sqlalchemy", "pgjdbc", "asyncpg", "psycopg", "tools")


def bound(text: str, numbers: dict[str, int]) -> str:
    """Put the numbers of relations in; what a role may not know of has a number that means nothing."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: str(numbers.get(match[1], 99999)), text)


def numbers_of(role: str) -> dict[str, int]:
    rows = client(role).ask("SELECT relname, oid FROM pg_class WHERE relnamespace = 2200")
    return dict(rows)


FITS = {
    "bool": "bool",
    "int2": "int16",
    "int4": "int32",
    "int8": "int64",
    "oid": "uint32",
    "xid": "uint32",
    "name": "string",
    "char": "string",
    "text": "string",
    "varchar": "string",
    "float4": "float",
    "float8": "double",
    "timestamptz": "timestamp",
    "json": "string",
}


@pytest.mark.parametrize("name", CLIENTS)
def test_every_query_of_a_client_is_answered_with_the_types_that_were_reported(name: str):
    asked, numbers = client("alice"), numbers_of("alice")
    for text in queries(name):
        tree = parsed(bound(text, numbers))
        assert asked.catalog.handles(tree), text
        table = asked.catalog.run(tree)
        fields = asked.catalog.describe(tree)
        assert [field.name for field in fields] == table.column_names, text
        for field, column in zip(fields, table.columns, strict=True):
            expected = "list<" if field.type.endswith("[]") else FITS[field.type]
            assert str(column.type).startswith(expected), (text, field)


@pytest.mark.parametrize("name", CLIENTS)
def test_a_user_with_few_rights_is_answered_as_well(name: str):
    numbers, asked = numbers_of("carol"), client("carol")
    for text in queries(name):
        # She gets the message that there is no relation `patients`.
        if "patients'" not in text:
            asked.catalog.run(parsed(bound(text, numbers)))
