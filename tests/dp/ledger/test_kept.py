"""Drafts, sightings, the key of samples and other stores' heads are under the ledger's chain and seal."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.dp.accounting import price
from discreet.dp.budget import Budget
from discreet.dp.event import Pure
from discreet.dp.ledger import Account, Ledger, LedgerSource
from discreet.errors import LedgerFailed
from discreet.stores import StoreHead
from discreet.stores.seal import Seal

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
SEAL = Seal(bytes(range(32)))
SOURCE = LedgerSource("s1", ("table:people",), "people.csv", False, b"sketch")
FORMER = Path(__file__).parents[2] / "fixtures" / "ledger"


def write_everything(ledger: Ledger) -> None:
    ledger.secret()
    ledger.pin("table:people", "the first draft")
    ledger.add_source(SOURCE, place="a place", seen=None, at=NOON)
    ledger.remember_heads({"journal": StoreHead("j", 5, "abc"), "control": StoreHead("c", 3)})


def charge(ledger: Ledger, key: str) -> None:
    account = Account("table:people", Budget(Fraction(10)))
    cost = price(Pure(Fraction(1)))
    ledger.commit(ledger.reserve([account], cost, key=key, at=NOON, question="q"), b"1")


def tamper(place: Path, statement: str) -> None:
    with closing(sqlite3.connect(place)) as raw, raw:
        raw.execute(statement)


def open_former(place: Path, name: str) -> Path:
    """Write a ledger that the code of format 3 made, and its key, and return where it is."""
    with closing(sqlite3.connect(place)) as raw:
        raw.executescript((FORMER / f"format-3-{name}.sql").read_text("utf-8"))
    place.chmod(0o600)
    beside = place.with_name(f"{place.name}.key")
    beside.write_bytes(bytes(range(32)))
    beside.chmod(0o600)
    return place


CHANGES = {
    "discreet_pin": (
        "UPDATE discreet_pin SET content = 'another draft'",
        "DELETE FROM discreet_pin",
        "INSERT INTO discreet_pin VALUES ('table:others', 'mine')",
    ),
    "discreet_sighting": (
        "UPDATE discreet_sighting SET source = 'another'",
        "DELETE FROM discreet_sighting",
        "INSERT INTO discreet_sighting VALUES ('another place', 's1')",
    ),
    "discreet_secret": (
        "UPDATE discreet_secret SET hash = 'another'",
        "UPDATE discreet_secret SET key = '00'",
        "UPDATE discreet_secret SET key = 'no digits'",
        "DELETE FROM discreet_secret",
    ),
}


@pytest.mark.parametrize(
    ("table", "statement"),
    [(table, statement) for table, statements in CHANGES.items() for statement in statements],
)
@pytest.mark.parametrize("has_key", [True, False])
def test_a_change_of_what_is_kept_beside_the_charges_is_refused(
    tmp_path: Path, table: str, statement: str, *, has_key: bool
):
    place = tmp_path / "ledger.sqlite"
    with closing(Ledger(place)) as ledger:
        if has_key:
            ledger.authenticate(SEAL)
        write_everything(ledger)
        ledger.verify()
    tamper(place, statement)
    with closing(Ledger(place)) as ledger:
        if has_key:
            ledger.authenticate(SEAL)
        with pytest.raises(LedgerFailed, match=table):
            ledger.verify()


@pytest.mark.parametrize("table", sorted(CHANGES))
def test_a_change_with_an_entry_of_its_own_does_not_fit_the_seal(tmp_path: Path, table: str):
    """Who has no key can chain entries, but cannot seal the new end."""
    place, forged = tmp_path / "ledger.sqlite", tmp_path / "forged.sqlite"
    with closing(Ledger(place)) as ledger:
        ledger.authenticate(SEAL)
        charge(ledger, "first")
    shutil.copy(place, forged)
    tamper(forged, "UPDATE discreet_ledger_seal SET state = '', mac = ''")
    with closing(Ledger(forged)) as ledger:
        write_everything(ledger)
        ledger.verify()
    with closing(sqlite3.connect(place)) as raw, raw:
        state, mac = raw.execute("SELECT state, mac FROM discreet_ledger_seal").fetchone()
    with closing(sqlite3.connect(forged)) as raw, raw:
        raw.execute("UPDATE discreet_ledger_seal SET state = ?, mac = ?", (state, mac))
        assert raw.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 1
    with closing(Ledger(forged)) as ledger, pytest.raises(LedgerFailed, match="sealed"):
        ledger.authenticate(SEAL)


def test_a_place_that_is_found_again_makes_no_entry(tmp_path: Path):
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        write_everything(ledger)
        before = ledger.verify()
        ledger.add_source(SOURCE, place="a place", seen=None, at=NOON)
        assert ledger.verify() == before
        ledger.add_source(SOURCE, place="another place", seen=None, at=NOON)
        assert ledger.verify() == before + 1


def test_the_newest_heads_of_other_stores_are_kept(tmp_path: Path):
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        ledger.authenticate(SEAL)
        write_everything(ledger)
        ledger.remember_heads({"journal": StoreHead("j", 4, "def")})
        charge(ledger, "first")
        assert ledger.known_heads() == {
            "journal": StoreHead("j", 5, "abc"),
            "control": StoreHead("c", 3),
        }
        ledger.remember_heads({"journal": StoreHead("j", 6, "def")})
        ledger.forget_heads(["control"])
        assert ledger.known_heads() == {"journal": StoreHead("j", 6, "def")}
        ledger.verify()


@pytest.mark.parametrize("written", ["{}", "", '{"control": "c 1"}'])
def test_changed_heads_of_other_stores_are_refused(tmp_path: Path, written: str):
    place = tmp_path / "ledger.sqlite"
    with closing(Ledger(place)) as ledger:
        ledger.authenticate(SEAL)
        write_everything(ledger)
    tamper(place, f"UPDATE discreet_ledger SET known_heads = '{written}'")
    with closing(Ledger(place)) as ledger, pytest.raises(LedgerFailed, match="sealed"):
        ledger.authenticate(SEAL)


@pytest.mark.parametrize("name", ["open", "sealed"])
def test_a_ledger_of_the_former_format_is_migrated(tmp_path: Path, name: str):
    place = open_former(tmp_path / "ledger.sqlite", name)
    for _ in range(2):
        with closing(Ledger(place)) as ledger:
            if name == "sealed":
                ledger.authenticate(SEAL)
            assert (
                ledger.verify() == 4 + 4
            )  # the format, a draft, a sighting and the key are entered
            assert ledger.find_pin("table:people") == "the first draft"
            assert ledger.find_source("a place") == SOURCE
            assert ledger.secret() == bytes(range(32))
            assert ledger.find("first") == b"42"
    with closing(Ledger(place)) as ledger:
        if name == "sealed":
            ledger.authenticate(SEAL)
        charge(ledger, "second")
        ledger.remember_heads({"journal": StoreHead("j", 5, "abc")})
        ledger.verify()


@pytest.mark.parametrize("table", sorted(CHANGES))
def test_a_migrated_ledger_is_authenticated(tmp_path: Path, table: str):
    place = open_former(tmp_path / "ledger.sqlite", "sealed")
    with closing(Ledger(place)) as ledger:
        ledger.authenticate(SEAL)
    tamper(place, CHANGES[table][0])
    with closing(Ledger(place)) as ledger:
        ledger.authenticate(SEAL)
        with pytest.raises(LedgerFailed, match=table):
            ledger.verify()


def test_a_migrated_ledger_cannot_be_made_a_former_one_again(tmp_path: Path):
    place = open_former(tmp_path / "ledger.sqlite", "sealed")
    with closing(Ledger(place)) as ledger:
        ledger.authenticate(SEAL)
    tamper(place, "UPDATE discreet_pin SET content = 'another draft'")
    tamper(place, "UPDATE discreet_ledger SET known_heads = '', format = 3")
    tamper(place, "PRAGMA user_version=3")
    with closing(Ledger(place)) as ledger, pytest.raises(LedgerFailed, match="sealed"):
        ledger.authenticate(SEAL)


def test_a_former_ledger_that_is_sealed_is_read_without_its_key_and_not_written(tmp_path: Path):
    with closing(Ledger(open_former(tmp_path / "ledger.sqlite", "sealed"))) as ledger:
        assert ledger.verify() == 4
        assert ledger.known_heads() == {}
        with pytest.raises(LedgerFailed, match="--key-file"):
            ledger.pin("table:others", "mine")


def test_a_former_ledger_that_was_changed_is_not_migrated(tmp_path: Path):
    place = open_former(tmp_path / "ledger.sqlite", "sealed")
    tamper(place, "UPDATE discreet_ledger SET closed = 'never'")
    with closing(Ledger(place)) as ledger, pytest.raises(LedgerFailed, match="sealed"):
        ledger.authenticate(SEAL)
