"""A world for each engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.guard.levels.world import World

from discreet.engines.connect import open_database
from discreet.engines.duckdb.served import ResourceLimits, ServedDuckDB
from discreet.guard.levels.lattice import LabelLattice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet.engines.databases.database import Database


@pytest.fixture(scope="session")
def memory() -> Iterator[Database]:
    """A DuckDB that all tests share."""
    database = ServedDuckDB(None, limits=ResourceLimits(threads=1))
    yield database
    database.close()


@pytest.fixture(scope="session")
def server(postgres_url: str) -> Iterator[Database]:
    """A PostgreSQL that all tests share."""
    database = open_database(postgres_url)
    yield database
    database.close()


@pytest.fixture(params=["memory", pytest.param("server", marks=pytest.mark.postgres)])
def found(request: pytest.FixtureRequest) -> Iterator[Callable[..., World]]:
    """Makes an empty world with a lattice, on each engine in turn."""
    made: list[World] = []

    def make(lattice: str = "U < C < S < TS") -> World:
        made.append(World(request.getfixturevalue(request.param), LabelLattice.parse(lattice)))
        return made[-1]

    yield make
    for world in made:
        world.close()
