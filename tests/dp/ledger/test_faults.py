"""What cannot be a ledger is refused, and what cannot be written is not answered."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.dp.accounting import price
from discreet.dp.budget import Budget
from discreet.dp.event import Pure
from discreet.dp.ledger import Account, Ledger
from discreet.errors import LedgerFailed

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
PAYER = Account("table", Budget(Fraction(100)))
COST = price(Pure(Fraction(1, 10)))
NOBODY = 65534


def spend(ledger: Ledger, key: str) -> None:
    reservation = ledger.reserve([PAYER], COST, key=key, at=NOON, question="q")
    ledger.commit(reservation, b"42" * 500)


def test_a_new_file_is_for_its_owner_only(tmp_path: Path):
    before = os.umask(0)
    try:
        spend(Ledger(tmp_path / "ledger.db"), "a")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes["ledger.db"] == 0o600
    assert set(modes.values()) == {0o600}


def test_commits_wait_for_the_disk(tmp_path: Path):
    ledger = Ledger(tmp_path / "ledger.db")
    with ledger._store.writing() as connection:
        found = {
            pragma: connection.exec_driver_sql(f"PRAGMA {pragma}").scalar()
            for pragma in ("journal_mode", "synchronous", "busy_timeout")
        }
    assert found == {"journal_mode": "wal", "synchronous": 2, "busy_timeout": 30_000}


def test_an_empty_file_becomes_a_ledger(tmp_path: Path):
    (tmp_path / "ledger.db").touch()
    spend(Ledger(tmp_path / "ledger.db"), "a")


def test_a_ledger_is_there_again_when_opened_again(tmp_path: Path):
    ledger = Ledger(str(tmp_path / "ledger.db"))
    spend(ledger, "a")
    ledger.close()
    again = Ledger(tmp_path / "ledger.db")
    assert again.find("a") == b"42" * 500
    assert again.remaining([PAYER])[0].epsilon.spent == Fraction(1, 10)


def make_text(path: Path) -> None:
    path.write_text("epsilon: 1\n" * 1000)


def make_foreign(path: Path) -> None:
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE photos (name TEXT)")


def make_newer(path: Path) -> None:
    Ledger(path).close()
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA user_version = 99")


def make_damaged(path: Path) -> None:
    ledger = Ledger(path)
    for key in range(20):
        spend(ledger, f"{key}")
    ledger.close()
    content = bytearray(path.read_bytes())
    content[4096:-4096] = os.urandom(len(content) - 8192)
    path.write_bytes(content)


def make_short(path: Path) -> None:
    ledger = Ledger(path)
    for key in range(20):
        spend(ledger, f"{key}")
    ledger.close()
    path.write_bytes(path.read_bytes()[:10_000])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (make_text, "is not a ledger, or is damaged"),
        (make_foreign, "another program's database"),
        (make_newer, "Update discreet"),
        (make_damaged, "damaged"),
        (make_short, "damaged"),
        (Path.mkdir, "cannot be opened"),
    ],
)
def test_what_is_no_ledger_is_refused_and_left_alone(tmp_path: Path, make, words: str):
    path = tmp_path / "ledger.db"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(LedgerFailed, match=words):
        Ledger(path)
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(LedgerFailed, match="Check folder and permissions"):
        Ledger(tmp_path / "nowhere" / "ledger.db")


def test_a_file_that_another_user_holds_is_waited_for_and_then_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from discreet.stores import sqlite

    monkeypatch.setattr(sqlite, "_WAIT_SECONDS", 0.1)
    ledger = Ledger(tmp_path / "ledger.db")
    holder = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerFailed, match="others held it for too long"):
        spend(ledger, "a")
    holder.execute("ROLLBACK")
    spend(ledger, "a")


FULL_DISK = """
import json, resource, sys
from datetime import UTC, datetime
from fractions import Fraction
from discreet.dp.accounting import price
from discreet.dp.budget import Budget
from discreet.dp.event import Pure
from discreet.dp.ledger import Account, Ledger
from discreet.errors import LedgerFailed

ledger, told = Ledger(sys.argv[1]), []
payer = Account("table", Budget(Fraction(100)))
# No file may grow beyond this: to SQLite it is a disk that is full.
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    for number in range(1000):
        at = datetime(2026, 5, 4, tzinfo=UTC)
        reservation = ledger.reserve([payer], price(Pure(Fraction(1, 10))), key=str(number), at=at, question="q")
        ledger.commit(reservation, bytes(2000))
        told.append(str(number))
except LedgerFailed as failed:
    print(json.dumps([str(failed), told]))
"""


def test_a_full_disk_fails_closed_and_loses_no_answer(tmp_path: Path):
    path = tmp_path / "ledger.db"
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, path], capture_output=True, encoding="utf-8", check=True
    )
    message, answered = json.loads(done.stdout)
    assert "Check its space" in message or "the disk is full" in message
    assert "No question is answered without it" in message
    ledger = Ledger(path)
    assert answered
    assert all(ledger.find(key) == bytes(2000) for key in answered)
    assert ledger.remaining([PAYER])[0].epsilon.spent >= Fraction(len(answered), 10)
    ledger.verify()


def as_unprivileged(work) -> str:
    """Run `work` in a process that has no special rights, and return what it says."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            if os.geteuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            os.write(writing, work().encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        return pipe.read()


def test_a_file_that_may_only_be_read_fails_closed():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        ledger = Ledger(path)
        spend(ledger, "a")
        ledger.close()
        path.chmod(0o400)
        Path(folder).chmod(0o555)

        def work() -> str:
            try:
                spend(Ledger(path), "b")
            except LedgerFailed as failed:
                return str(failed)
            return "answered"

        text = as_unprivileged(work)
        Path(folder).chmod(0o755)
    assert "read-only" in text or "permissions" in text
    assert "No question is answered without it" in text


def test_a_ledger_that_lost_a_table_meanwhile_gives_no_answer(tmp_path: Path):
    ledger = Ledger(tmp_path / "ledger.db")
    reservation = ledger.reserve([PAYER], COST, key="a", at=NOON, question="q")
    with sqlite3.connect(tmp_path / "ledger.db") as raw:
        raw.execute("ALTER TABLE discreet_entry RENAME TO elsewhere")
    with pytest.raises(LedgerFailed, match="not as discreet wrote it"):
        ledger.commit(reservation, b"42")
    assert ledger.find("a") is None


@pytest.mark.postgres
def test_a_server_that_cannot_be_used_is_reported_without_secrets(postgres_url: str):
    with pytest.raises(LedgerFailed, match="cannot be reached") as unreachable:
        Ledger("postgresql://alice:geheim@127.0.0.1:1/books")
    assert "geheim" not in str(unreachable.value)
    assert unreachable.value.__cause__ is None


@pytest.mark.postgres
def test_a_newer_ledger_on_a_server_is_refused(postgres_url: str):
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS newer CASCADE")
        connection.execute("CREATE SCHEMA newer")
        joint = "&" if "?" in postgres_url else "?"
        place = f"{postgres_url}{joint}options=-csearch_path%3Dnewer"
        Ledger(place).close()
        connection.execute("UPDATE newer.discreet_ledger SET format = 99")
    with pytest.raises(LedgerFailed, match="Update discreet"):
        Ledger(place)


def test_a_ledger_starts_without_heavy_libraries():
    code = (
        "import sys, discreet.dp.ledger, discreet.dp.accounting\n"
        "print(sorted({'sqlalchemy', 'dp_accounting', 'scipy', 'opendp'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == "[]"
