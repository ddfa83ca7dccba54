"""The textbook's company on every database that writes."""

from __future__ import annotations

import secrets
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.guard.integrity.database import ProtectedDatabase

from discreet.engines.duckdb.served import ServedDuckDB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.guard.integrity.database import RoleSession

PLACES = ("duckdb", pytest.param("postgresql", marks=pytest.mark.postgres))


@pytest.fixture(params=PLACES)
def database(request: pytest.FixtureRequest) -> Iterator[ProtectedDatabase]:
    schema = f"s{secrets.token_hex(4)}"
    if request.param == "duckdb":
        served: Any = ServedDuckDB(None, patience=60)
    else:
        from discreet.engines.postgres.served import ServedPostgres

        served = ServedPostgres(request.getfixturevalue("postgres_url"))
    with closing(served):
        served.create_schema(schema)
        yield ProtectedDatabase(served, schema)


@pytest.fixture
def boss(database: ProtectedDatabase) -> Iterator[RoleSession]:
    session = database.connect()
    yield session
    session.connection.close()
