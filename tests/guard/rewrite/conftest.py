"""The world, once per run in each place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.guard.rewrite.world import OnDuckDB, OnPostgres, fill_postgres

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def on_duckdb() -> OnDuckDB:
    """The world, guarded, on DuckDB."""
    return OnDuckDB()


@pytest.fixture(scope="session")
def oracle(postgres_16_url: str) -> Iterator[Any]:
    """The world as PostgreSQL 16 itself guards it, in a database of its own."""
    import psycopg

    with psycopg.connect(postgres_16_url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS rewriting")
        connection.execute("CREATE DATABASE rewriting")
    with psycopg.connect(postgres_16_url, dbname="rewriting") as connection:
        fill_postgres(connection)
        yield connection


@pytest.fixture(scope="session")
def on_postgres(oracle: Any) -> OnPostgres:
    """The world, guarded, on PostgreSQL."""
    return OnPostgres(oracle)
