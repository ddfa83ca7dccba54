"""Money moves whole or not at all, however many move it at once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from tests.engines.databases.place import failing
from tests.guard.integrity.database import relation

from discreet.errors import StatementFailed
from discreet.guard.access.authority import CheckConstraint, Trigger

if TYPE_CHECKING:
    from tests.guard.integrity.database import ProtectedDatabase, RoleSession

CAP = Trigger("cap", "AFTER", ("UPDATE",), "ROW", "NEW.balance > 1000", "Too rich")


@pytest.fixture
def bank(database: ProtectedDatabase, boss: RoleSession) -> RoleSession:
    columns = {"id": "integer", "balance": "integer"}
    checks = (CheckConstraint("balance >= 0"),)
    database.add(relation("account", columns, primary_key=("id",), checks=checks))
    boss.do("INSERT INTO account VALUES (1, 100), (2, 100), (3, 100)")
    database.change("account", triggers=(CAP,))
    return boss


def _transfer(session: RoleSession, source: int, target: int, amount: int) -> None:
    session.connection.begin()
    try:
        for account, change in sorted([(source, -amount), (target, amount)]):
            session.do(f"UPDATE account SET balance = balance + ({change}) WHERE id = {account}")
        session.connection.commit()
    except StatementFailed:
        session.connection.rollback()
        raise


def test_a_transfer_is_kept_whole(bank: RoleSession) -> None:
    _transfer(bank, 1, 2, 30)
    assert bank.rows("SELECT balance FROM account ORDER BY id") == [(70,), (130,), (100,)]


def test_a_transfer_of_too_much_is_undone_whole(bank: RoleSession) -> None:
    with failing("23514"):
        _transfer(bank, 2, 1, 101)
    assert bank.rows("SELECT balance FROM account ORDER BY id") == [(100,), (100,), (100,)]


def test_money_is_conserved_by_many_at_once(database: ProtectedDatabase, bank: RoleSession) -> None:
    broken: list[str] = []

    def work(seed: int) -> None:
        session = database.connect()
        for number in range(6):
            source, target = 1 + (seed + number) % 3, 1 + (seed + 2 * number + 1) % 3
            if source == target:
                continue
            try:
                _transfer(session, source, target, 40)
            except StatementFailed as error:
                if error.sqlstate not in ("40001", "40P01", "23514"):
                    broken.append(error.sqlstate)
        session.connection.close()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not broken
    assert bank.rows("SELECT sum(balance), min(balance) >= 0 FROM account") == [(300, True)]


def test_single_writes_with_triggers_never_conflict(
    database: ProtectedDatabase, bank: RoleSession
) -> None:
    """On DuckDB a write takes its turn before it looks; PostgreSQL may ask for another try."""
    states: list[str] = []

    def work() -> None:
        session = database.connect()
        for _ in range(5):
            try:
                session.do("UPDATE account SET balance = balance + 1 WHERE id = 1")
                states.append("kept")
            except StatementFailed as error:
                states.append(error.sqlstate)
        session.connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert bank.rows("SELECT balance FROM account WHERE id = 1") == [(100 + states.count("kept"),)]
    if database.served.name == "duckdb":
        assert states.count("kept") == 20
