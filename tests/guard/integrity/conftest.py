"""The seed's company on every database that writes."""

from __future__ import annotations

import secrets
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.guard.integrity.house import House

from discreet.engines.databases.duckdb import ServedDuckDB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.guard.integrity.house import Guest

PLACES = ("duckdb", pytest.param("postgresql", marks=pytest.mark.postgres))


@pytest.fixture(params=PLACES)
def house(request: pytest.FixtureRequest) -> Iterator[House]:
    schema = f"s{secrets.token_hex(4)}"
    if request.param == "duckdb":
        database: Any = ServedDuckDB(None, patience=60)
    else:
        from discreet.engines.databases.postgres import ServedPostgres

        database = ServedPostgres(request.getfixturevalue("postgres_url"))
    with closing(database):
        database.create_schema(schema)
        yield House(database, schema)


@pytest.fixture
def boss(house: House) -> Iterator[Guest]:
    guest = house.enter()
    yield guest
    guest.connection.close()
