"""Which host is believed when an old primary returns."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.stores.cluster import running

from discreet.dp.accounting import price
from discreet.dp.budget import Budget
from discreet.dp.event import Pure
from discreet.dp.ledger import Account, Ledger
from discreet.engines.postgres import PostgreSQL
from discreet.engines.postgres.served import ServedPostgres
from discreet.errors import LedgerFailed, SourceNotFound, StatementFailed
from discreet.sql import build
from discreet.stores.hosts import parameters_of
from discreet.stores.postgres import PostgresBackend
from discreet.stores.primary import connect_primary
from discreet.stores.timelines import Timelines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.stores.cluster import Cluster

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
PAYER = Account("table", Budget(Fraction(100)))
TENTH = price(Pure(Fraction(1, 10)))

ASK = """
import sys
from discreet.engines.postgres import PostgreSQL
from discreet.dp.ledger import Ledger
from discreet.errors import DiscreetError
from discreet.stores.postgres import PostgresBackend
PostgresBackend.patience = 0.1
for opens in (Ledger, PostgreSQL):
    try:
        opens(sys.argv[1])
        print("opened")
    except DiscreetError as error:
        print(error.code)
"""


@pytest.fixture(scope="module")
def returned() -> Iterator[tuple[Cluster, Ledger, ServedPostgres]]:
    """A promoted standby and its old primary, both writable; what was open before stays open."""
    state = os.environ.get("XDG_STATE_HOME")
    with tempfile.TemporaryDirectory(prefix="p-") as folder:
        Path(folder).chmod(0o755)
        os.environ["XDG_STATE_HOME"] = str(Path(folder) / "state")
        with running(Path(folder)) as cluster:
            ledger = Ledger(cluster.url)
            served = ServedPostgres(cluster.url)
            ledger.reserve([PAYER], TENTH, key="before", at=NOON, question="q")
            cluster.kill_primary()
            ledger.reserve([PAYER], TENTH, key="after", at=NOON, question="q")
            cluster.return_primary()
            yield cluster, ledger, served
            ledger.close()
            served.close()
    if state is None:
        del os.environ["XDG_STATE_HOME"]
    else:
        os.environ["XDG_STATE_HOME"] = state


pytestmark = pytest.mark.postgres


def test_a_returning_old_primary_takes_no_running_ledger_down(returned):
    cluster, ledger, served = returned
    end_connections(cluster)
    ledger.reserve([PAYER], TENTH, key="again", at=NOON, question="q")
    assert ledger.remaining([PAYER])[0].epsilon.spent == Fraction(3, 10)
    assert served.tables()
    assert query(served) == query(ServedPostgres(cluster.standby))


def test_a_fresh_process_answers_from_the_newest_timeline_though_the_old_primary_comes_first(
    returned, tmp_path: Path
):
    cluster, *_ = returned
    parameters = parameters_of(cluster.url)
    # As a new process knows it: nothing was seen, and no host was the primary before.
    fresh = {**parameters, "application_name": "fresh", "host": parameters["host"] + ",/nowhere"}
    with connect_primary(fresh, timelines=Timelines(tmp_path / "none")) as connection:
        assert connection.info.host == str(cluster.standby).rpartition("=")[2]


def test_the_newest_timeline_is_remembered_where_a_restart_finds_it(returned):
    cluster, *_ = returned
    for place in (cluster.standby, cluster.url):
        assert asked_anew(place) == ["opened", "opened"]
    assert asked_anew(cluster.primary) == ["ledger-failed", "no-such-source"]


def test_only_an_earlier_primary_left_is_refused_by_everything_that_reads_or_writes(
    returned, monkeypatch: pytest.MonkeyPatch
):
    cluster, *_ = returned
    monkeypatch.setattr(PostgresBackend, "patience", 0.1)
    with pytest.raises(LedgerFailed, match="another server was promoted"):
        Ledger(cluster.primary).accounts()
    with pytest.raises(SourceNotFound, match="another server was promoted"):
        PostgreSQL(cluster.primary)
    with pytest.raises(StatementFailed):
        ServedPostgres(cluster.primary)


def test_timelines_of_many_threads_are_merged_into_one_file(tmp_path: Path):
    file = tmp_path / "state" / "timelines.json"
    threads = [
        threading.Thread(target=lambda n=n: Timelines(file).see(f"c{n % 4}", n + 2))
        for n in range(24)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [Timelines(file).newest(f"c{n}") for n in range(5)] == [22, 23, 24, 25, 1]
    assert file.stat().st_mode & 0o077 == 0


def end_connections(cluster: Cluster) -> None:
    for url in (cluster.primary, cluster.standby):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'discreet'"
            )


def query(served: ServedPostgres) -> list[dict[str, object]]:
    tree = build.select(build.column("key"), source=build.table("public", "discreet_reservation"))
    return sorted(served.connect().query(tree).to_pylist(), key=str)


def asked_anew(place: str) -> list[str]:
    """What a new process says that knows only what was remembered."""
    done = subprocess.run(
        [sys.executable, "-c", ASK, place], capture_output=True, text=True, check=True
    )
    return done.stdout.split()
