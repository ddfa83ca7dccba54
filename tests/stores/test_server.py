"""Stores on a server: commits without a response, and a primary that fails."""

from __future__ import annotations

import tempfile
import threading
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from discreet.dp.accounting import price
from discreet.dp.budget import Budget
from discreet.dp.event import Pure
from discreet.dp.ledger import Account, Ledger
from discreet.errors import BudgetExceeded, LedgerFailed
from discreet.stores.postgres import PostgresBackend

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.postgres

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
PAYER = Account("table", Budget(Fraction(100)))
TENTH = price(Pure(Fraction(1, 10)))


@pytest.fixture
def place(postgres_url: str, request: pytest.FixtureRequest) -> str:
    """A schema of the test's own."""
    import psycopg

    name = request.node.name[:50].rstrip("_")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE')
        connection.execute(f'CREATE SCHEMA "{name}"')
    return f"{postgres_url}{'&' if '?' in postgres_url else '?'}options=-csearch_path%3D{name}"


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose name is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="w-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_commit_without_a_response_is_charged_once(place: str, short_folder: Path):
    from tests.stores.lossy import LossyWire

    wire = LossyWire(place, short_folder)
    ledger = Ledger(wire.url)
    wire.cuts = 1
    reservation = ledger.reserve([PAYER], TENTH, key="a", at=NOON, question="q")
    wire.cuts = 1
    assert ledger.commit(reservation, b"42") == b"42"
    assert wire.cuts == 0
    assert ledger.remaining([PAYER])[0].epsilon.spent == Fraction(1, 10)
    assert Ledger(place).find("a") == b"42"
    wire.close()


def test_who_gives_up_after_an_unheard_commit_says_that_it_may_be_written(
    place: str, short_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    from tests.stores.lossy import LossyWire

    monkeypatch.setattr(PostgresBackend, "patience", 0.3)
    wire = LossyWire(place, short_folder)
    ledger = Ledger(wire.url)
    wire.cuts = 1000
    with pytest.raises(LedgerFailed, match="Treat it as written"):
        ledger.reserve([PAYER], TENTH, key="a", at=NOON, question="q")
    assert Ledger(place).remaining([PAYER])[0].epsilon.spent == Fraction(1, 10)
    wire.close()


def test_connections_that_were_ended_are_made_again(place: str):
    import psycopg

    ledger = Ledger(place)
    ledger.reserve([PAYER], TENTH, key="a", at=NOON, question="q")
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'discreet'"
        )
    ledger.reserve([PAYER], TENTH, key="b", at=NOON, question="q")
    assert ledger.find("a") is None
    assert ledger.verify() == 3


@pytest.mark.parametrize(
    ("written", "kept"),
    [("off", "on"), ("local", "on"), ("on", "on"), ("remote_apply", "remote_apply")],
)
def test_commits_are_at_least_on_the_disk(place: str, written: str, kept: str):
    ledger = Ledger(f"{place}%20-csynchronous_commit%3D{written}")
    with ledger._store.writing() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == kept


def test_the_host_that_writes_is_found_behind_one_that_does_not(place: str, short_folder: Path):
    host = place.partition("host=")[2].partition("&")[0]
    ledger = Ledger(place.replace(host, f"{short_folder},{host}"))
    ledger.reserve([PAYER], TENTH, key="a", at=NOON, question="q")
    assert ledger.verify() == 2


class Asker(threading.Thread):
    """Asks until its budget is gone, and remembers what was acknowledged."""

    def __init__(self, url: str, name: str, payer: Account) -> None:
        super().__init__()
        self._ledger, self._name, self._payer = Ledger(url), name, payer
        self.acknowledged: list[str] = []
        self.failures: list[str] = []

    def run(self) -> None:
        for number in range(10_000):
            key = f"{self._name}-{number}"
            try:
                reservation = self._ledger.reserve(
                    [self._payer], TENTH, key=key, at=NOON, question="q"
                )
                self._ledger.commit(reservation, key.encode())
            except BudgetExceeded:
                return
            except LedgerFailed as failed:
                self.failures.append(str(failed))
            else:
                self.acknowledged.append(key)


def test_a_primary_that_dies_under_load_loses_no_acknowledged_answer_and_overspends_nothing(
    monkeypatch: pytest.MonkeyPatch,
):
    from tests.stores.cluster import running

    monkeypatch.setattr(
        PostgresBackend, "patience", 300.0
    )  # however long a busy machine takes to promote
    with tempfile.TemporaryDirectory(prefix="discreet-cluster-") as folder:
        Path(folder).chmod(0o755)
        with running(Path(folder)) as cluster:
            payer = Account("table", Budget(Fraction(40)))
            askers = [Asker(cluster.url, f"{number}", payer) for number in range(3)]
            for asker in askers:
                asker.start()
            while sum(len(asker.acknowledged) for asker in askers) < 60:
                pass
            before = sum(len(asker.acknowledged) for asker in askers)
            cluster.kill_primary()
            for asker in askers:
                asker.join()
            ledger = Ledger(cluster.standby)
            acknowledged = [key for asker in askers for key in asker.acknowledged]
            assert before < len(acknowledged) <= 400
            assert [asker.failures for asker in askers] == [[], [], []]
            assert [key for key in acknowledged if ledger.find(key) != key.encode()] == []
            assert ledger.remaining([payer])[0].epsilon.spent == 40
            ledger.verify()
