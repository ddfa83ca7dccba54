"""Many askers, and some of them killed: no limit is exceeded, no answer is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.dp.accounting import price
from discreet.dp.budget import Budget
from discreet.dp.event import Pure
from discreet.dp.ledger import Account, Ledger
from discreet.errors import BudgetExceeded

ROOT = Path(__file__).parents[3]
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
TENTH = price(Pure(Fraction(1, 10)))
MEMORY = Path("/dev/shm")  # what `kill -9` does is the same there, and a disk is slow


def soak(place: str, **options: int) -> dict[str, int]:
    """Run the soak of bench/ledger.py in a process of its own, which forks and kills others."""
    arguments = [item for name, value in options.items() for item in (f"--{name}", str(value))]
    done = subprocess.run(
        [sys.executable, "-m", "bench.ledger", "--place", place, *arguments],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=900,
        check=False,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def assert_nothing_was_lost(totals: dict[str, int], *, kills: int, room: int) -> None:
    assert totals["kills"] >= kills
    assert totals["charged"] >= room
    assert totals["charged"] >= totals["acknowledged"]
    assert totals["overspent"] == 0
    assert totals["room_left"] == 0
    assert totals["missing_answers"] == 0
    assert totals["contradictions"] == 0


def test_two_hundred_kills_lose_no_answer_and_exceed_no_limit():
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        totals = soak(f"{folder}/ledger.db", kills=200, threads=16, processes=4, room=100)
    assert_nothing_was_lost(totals, kills=200, room=100)


@pytest.mark.postgres
def test_kills_lose_no_answer_on_a_server(postgres_url: str):
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS soaked CASCADE")
        connection.execute("CREATE SCHEMA soaked")
    joint = "&" if "?" in postgres_url else "?"
    place = f"{postgres_url}{joint}options=-csearch_path%3Dsoaked"
    totals = soak(place, kills=40, threads=8, processes=4, room=50)
    assert_nothing_was_lost(totals, kills=40, room=50)


def race(ledger: Ledger, *, threads: int) -> list[str]:
    """Let each thread ask for a tenth, twice; return what happened to each."""
    outcomes: list[str] = []
    payer = Account("table", Budget(Fraction(1)))
    start = threading.Barrier(threads)

    def ask(number: int) -> None:
        start.wait()
        for turn in range(2):
            try:
                reservation = ledger.reserve(
                    [payer], TENTH, key=f"{number}-{turn}", at=NOON, question="q"
                )
                ledger.commit(reservation, b"42")
                outcomes.append("answered")
            except BudgetExceeded:
                outcomes.append("refused")

    started = [threading.Thread(target=ask, args=[number]) for number in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    return outcomes


def test_of_many_threads_exactly_as_many_are_answered_as_the_budget_allows(tmp_path: Path):
    ledger = Ledger(tmp_path / "ledger.db")
    outcomes = race(ledger, threads=32)
    assert (outcomes.count("answered"), outcomes.count("refused")) == (10, 54)
    ledger.verify()


def test_an_update_without_its_condition_would_be_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The race above fails for a ledger that looks first and charges later, as others do."""
    from discreet.dp.ledger import spending, units

    real = spending._add

    def without_condition(*where, cost, limits):
        free = units.Units(units.MOST, units.MOST, units.MOST, units.MOST)
        return real(*where, cost=cost, limits=free)

    monkeypatch.setattr(spending, "_add", without_condition)
    outcomes = race(Ledger(tmp_path / "ledger.db"), threads=8)
    assert outcomes.count("answered") > 10


def test_threads_with_one_key_get_one_answer(tmp_path: Path):
    ledger, payer = Ledger(tmp_path / "ledger.db"), Account("table", Budget(Fraction(1)))
    result: set[bytes] = set()

    def ask(number: int) -> None:
        reservation = ledger.reserve([payer], TENTH, key="same", at=NOON, question="q")
        result.add(reservation.answer or ledger.commit(reservation, str(number).encode()))

    started = [threading.Thread(target=ask, args=[number]) for number in range(16)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    assert len(result) == 1
    assert ledger.remaining([payer])[0].epsilon.spent == Fraction(1, 10)


def test_a_forked_process_uses_connections_of_its_own(tmp_path: Path):
    ledger, payer = Ledger(tmp_path / "ledger.db"), Account("table", Budget(Fraction(1)))
    ledger.reserve([payer], TENTH, key="parent", at=NOON, question="q")
    children = []
    for number in range(4):
        child = os.fork()
        if not child:
            code = 1
            try:
                reservation = ledger.reserve([payer], TENTH, key=f"{number}", at=NOON, question="q")
                code = ledger.commit(reservation, b"42") != b"42"
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0, 0]
    ledger.reserve([payer], TENTH, key="parent again", at=NOON, question="q")
    assert ledger.remaining([payer])[0].epsilon.spent == Fraction(6, 10)
    ledger.verify()


def test_several_processes_may_make_the_same_ledger_at_once(tmp_path: Path):
    Ledger(tmp_path / "other.db").close()  # so that no one is late for having to import
    path, start = tmp_path / "ledger.db", tmp_path / "start"
    children = []
    for number in range(6):
        child = os.fork()
        if not child:
            code = 1
            try:
                while not start.exists():
                    pass
                payer = Account("table", Budget(Fraction(1)))
                Ledger(path).reserve([payer], TENTH, key=f"{number}", at=NOON, question="q")
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    start.touch()
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 6
    assert Ledger(path).verify() == 7
