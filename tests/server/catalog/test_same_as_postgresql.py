"""What the catalog tells of a schema is what a real PostgreSQL tells of the same one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from tests.server.catalog.example import SCHEMA, client, queries

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def real(postgres_url: str) -> Iterator[psycopg.Connection]:
    """Return a connection as the owner of the example's schema."""
    with psycopg.connect(postgres_url, autocommit=True) as root:
        root.execute("CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE staff")
        root.execute("GRANT staff TO bob")
        root.execute("CREATE DATABASE catalog_example")
        address = postgres_url.replace("/postgres?", "/catalog_example?")
        with psycopg.connect(address, autocommit=True) as made:
            made.execute(SCHEMA.encode())
        with psycopg.connect(address, autocommit=True) as asked:
            asked.execute("SET SESSION AUTHORIZATION alice")
            yield asked
        root.execute("DROP DATABASE catalog_example WITH (FORCE)")
        root.execute("DROP ROLE alice, bob, staff")


def _plain(cell: Any) -> Any:
    """Return a cell as text, without what differs between any two servers."""
    if isinstance(cell, list):
        return [_plain(each) for each in cell]
    if cell is None or isinstance(cell, bool):
        return cell
    # PostgreSQL 17 has one more privilege, whose letter is m; and the databases have two names.
    return re.sub(r"(=[a-zA-Z]*)m(/)", r"\1\2", str(cell)).replace("catalog_example", "postgres")


@pytest.mark.parametrize("text", queries("same_as_postgresql"))
def test_the_answer_is_postgresqls(text: str, real: psycopg.Connection):
    cursor = real.execute(text.encode())
    expected = [[_plain(cell) for cell in row] for row in cursor]
    alice = client("alice")
    assert [[_plain(cell) for cell in row] for row in alice.ask(text)] == expected
    names = [column.name for column in cursor.description or ()]
    assert [field.name for field in alice.fields(text)] == names


def test_a_client_gets_the_types_that_postgresql_reports(real: psycopg.Connection):
    text = (
        "SELECT oid, relname, relkind, relnatts, reltuples, relchecks, relhasindex, relacl::text[], "
        "reloptions, relname::text, relnatts::int4, oid::int8, count(*) OVER () FROM pg_class"
    )
    cursor = real.execute(text.encode())
    types = real.adapters.types
    result = [types[column.type_code] for column in cursor.description or ()]
    expected = [
        f"{known.name}[]" if known.array_oid == column.type_code else known.name.strip('"')
        for known, column in zip(result, cursor.description or (), strict=True)
    ]
    assert [field.type for field in client("alice").fields(text)] == expected
