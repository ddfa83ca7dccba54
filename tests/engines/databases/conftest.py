"""One suite for every served database that writes."""

from __future__ import annotations

import secrets
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.engines.databases.place import Place

from discreet.engines.duckdb.served import ServedDuckDB

if TYPE_CHECKING:
    from collections.abc import Iterator

PLACES = ("duckdb", pytest.param("postgresql", marks=pytest.mark.postgres))


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """Each kind of database in turn, with a schema of its own."""
    schema = f"s{secrets.token_hex(4)}"
    if request.param == "duckdb":
        database: Any = ServedDuckDB(None, patience=60)
    else:
        from discreet.engines.postgres.served import ServedPostgres

        database = ServedPostgres(request.getfixturevalue("postgres_url"))
    with closing(database):
        database.create_schema(schema)
        yield Place(database, schema)
