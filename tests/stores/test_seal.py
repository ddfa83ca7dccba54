"""Ledger, control store and journal under a key: a change by anybody else is noticed, on every kind of place."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from discreet.dp.accounting import price
from discreet.dp.budget import Budget
from discreet.dp.event import Pure
from discreet.dp.ledger import Account, Ledger
from discreet.errors import DiscreetError
from discreet.guard.access.initial import initial_authority
from discreet.guard.control import ControlStore
from discreet.guard.journal import Event, Journal
from discreet.stores.seal import Seal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
SEAL = Seal(bytes(range(32)))
PAYER = Account("table", Budget(Fraction(10)))


@pytest.fixture(params=["file", pytest.param("server", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Each kind of place in turn, empty."""
    if request.param == "file":
        return str(tmp_path / "store.sqlite")
    import psycopg

    url = request.getfixturevalue("postgres_url")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS sealed CASCADE")
        connection.execute("CREATE SCHEMA sealed")
    return f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3Dsealed"


def tamper(place: str, statement: str) -> None:
    if "://" not in place:
        with closing(sqlite3.connect(place)) as raw, raw:
            raw.execute(statement)
        return
    import psycopg

    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute(statement.encode())


def write_control(control: ControlStore, name: str) -> None:
    control.put("credential", name, {"secret": name})
    control.put("credential", "all", {"last": name})
    version = control.authority().version
    control.change(version, initial_authority("admin"), by="a", statement=name, at=NOON)


def write_ledger(ledger: Ledger, name: str) -> None:
    cost = price(Pure(Fraction(1)))
    ledger.commit(ledger.reserve([PAYER], cost, key=name, at=NOON, question="q"), b"1")


def write_journal(journal: Journal, name: str) -> None:
    journal.record(Event(NOON, "login", user=name))


KINDS: dict[str, tuple[type[Any], Callable[[Any, str], None], tuple[str, ...]]] = {
    "control": (
        ControlStore,
        write_control,
        (
            "UPDATE discreet_authority SET body = replace(body, 'admin', 'clerk')",
            "UPDATE discreet_authority SET changed_by = 'b' WHERE version = 2",
            "UPDATE discreet_document SET body = '{}' WHERE name = 'all'",
            "UPDATE discreet_control_seal SET state = '9 2 0'",
        ),
    ),
    "ledger": (
        Ledger,
        write_ledger,
        (
            "UPDATE discreet_ledger SET sequence = 0",
            "UPDATE discreet_ledger SET closed = 'never'",
            "UPDATE discreet_ledger_seal SET state = ''",
        ),
    ),
    "journal": (
        Journal,
        write_journal,
        (
            "UPDATE discreet_journal SET hash = first_hash",
            "UPDATE discreet_journal_seal SET mac = ''",
        ),
    ),
}


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> Any:
    """Each kind of store in turn."""
    return KINDS[request.param]


def test_a_sealed_store_is_read_and_written_by_who_has_the_key(place: str, kind: Any):
    make, write, _ = kind
    for name in ("ann", "bob"):
        with closing(make(place)) as store:
            store.authenticate(SEAL)
            write(store, name)
    with closing(make(place)) as store:
        store.authenticate(SEAL)


def test_a_change_by_anyone_else_is_noticed(place: str, kind: Any):
    make, write, changes = kind
    with closing(make(place)) as store:
        store.authenticate(SEAL)
        write(store, "ann")
        write(store, "bob")
    for statement in changes:
        with closing(make(place)) as store:
            store.authenticate(SEAL, accept=True)
        tamper(place, statement)
        with closing(make(place)) as store, pytest.raises(DiscreetError):
            store.authenticate(SEAL)


def test_nothing_is_written_without_the_key_or_with_another_one(place: str, kind: Any):
    make, write, _ = kind
    with closing(make(place)) as store:
        store.authenticate(SEAL)
        write(store, "ann")
    with closing(make(place)) as store, pytest.raises(DiscreetError, match="--key-file"):
        write(store, "bob")
    with closing(make(place)) as store, pytest.raises(DiscreetError, match="as it was written"):
        store.authenticate(Seal(bytes(32)))


def test_a_store_that_holds_something_is_sealed_only_when_it_is_accepted(place: str, kind: Any):
    make, write, _ = kind
    with closing(make(place)) as store:
        write(store, "ann")
        with pytest.raises(DiscreetError, match="key accept"):
            store.authenticate(SEAL)
    with closing(make(place)) as store:
        store.authenticate(SEAL, accept=True)
        write(store, "bob")


def test_what_one_store_sealed_is_worth_nothing_in_another(tmp_path: Path):
    for name in ("one", "other"):
        with closing(ControlStore(tmp_path / name)) as control:
            control.authenticate(SEAL)
            write_control(control, name)
    with (
        closing(sqlite3.connect(tmp_path / "one")) as one,
        closing(sqlite3.connect(tmp_path / "other")) as other,
        other,
    ):
        row = one.execute("SELECT state, mac FROM discreet_control_seal").fetchone()
        other.execute("UPDATE discreet_control_seal SET state = ?, mac = ?", row)
        rows = one.execute("SELECT * FROM discreet_document").fetchall()
        other.execute("DELETE FROM discreet_document")
        other.executemany("INSERT INTO discreet_document VALUES (?, ?, ?, ?, ?)", rows)
    with closing(ControlStore(tmp_path / "other")) as control, pytest.raises(DiscreetError):
        control.authenticate(SEAL)
