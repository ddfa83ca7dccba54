"""Anyone who can write a server's folder, but has not its key, can neither change what it believes nor go back."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest

from discreet.cli.command import run_command
from discreet.dp.accounting import price
from discreet.dp.budget import Budget
from discreet.dp.event import Pure
from discreet.dp.ledger import Account
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    InvalidKey,
    JournalBroken,
    LedgerFailed,
    StatementFailed,
    StoreFailed,
)
from discreet.guard.identity.authenticator import ClientInfo
from discreet.guard.vault.wrapping import new_wrapping_key
from discreet.server.settings import read_settings
from discreet.server.startup import open_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from discreet.server.gateway.server import Server

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
PAYER = Account("table", Budget(Fraction(10)))


@dataclass(frozen=True)
class Site:
    """A server's folder, its key elsewhere, and what it was before the last changes."""

    place: Path

    @property
    def data(self) -> Path:
        return self.place / "clinic"

    @property
    def key(self) -> Path:
        return self.place / "master.key"

    @contextmanager
    def opened(self, **flags: Any) -> Iterator[Server]:
        flags = {"port": 0, "key_file": self.key, **flags}
        server = open_server(read_settings(self.data, **flags)).server
        try:
            yield server
        finally:
            server.close()

    def run(self, *statements: str, user: str = "admin", **flags: Any) -> None:
        with self.opened(**flags) as server:
            session = enter(server, user)
            for statement in statements:
                session.run(session.prepare(session.split(statement)[0]))
            session.close()

    def refused(self, **flags: Any) -> DiscreetError:
        with pytest.raises((StoreFailed, LedgerFailed, JournalBroken, InvalidKey)) as caught:
            self.run("SELECT 1", **flags)
        return caught.value

    def tamper(self, store: str, *statements: str) -> None:
        with sqlite3.connect(self.data / f"{store}.sqlite") as raw:
            for statement in statements:
                raw.execute(statement)
        raw.close()

    def put_back(self, store: str) -> None:
        """Replace a store by what it was before."""
        self.lose(store)
        for path in (self.place / "before").glob(f"{store}.sqlite*"):
            shutil.copy2(path, self.data)

    def lose(self, store: str) -> None:
        for path in self.data.glob(f"{store}.sqlite*"):
            path.unlink()

    def discreet(self, *arguments: object) -> int:
        return run_command([str(argument) for argument in arguments])


def enter(server: Server, user: str = "admin"):
    return server.open_session(
        ClientInfo(user, "127.0.0.1", is_local=True, is_encrypted=True), {}, "test"
    )


def spend(server: Server, key: str) -> None:
    reservation = server.ledger.reserve(
        [PAYER], price(Pure(Fraction(1))), key=key, at=NOON, question="q"
    )
    server.ledger.commit(reservation, b"42")


def make_site(place: Path, *, has_key: bool) -> Site:
    site = Site(place)
    flags = {} if has_key else {"key_file": None}
    if has_key:
        new_wrapping_key(site.key)
    site.run(
        "CREATE TABLE t (a integer)",
        "CREATE ROLE clerk LOGIN PASSWORD 'a long password'",
        "CREATE ROLE eve LOGIN PASSWORD 'another password'",
        "GRANT SELECT ON t TO clerk",
        **flags,
    )
    shutil.copytree(site.data, place / "before")
    with site.opened(**flags) as server:
        spend(server, "first")
        session = enter(server)
        for statement in ("REVOKE SELECT ON t FROM clerk", "DROP ROLE eve"):
            session.run(session.prepare(session.split(statement)[0]))
        session.close()
    return site


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[bool, Path]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_ADMIN_PASSWORD", "a long password")
        found = {
            has_key: make_site(tmp_path_factory.mktemp("site"), has_key=has_key).place
            for has_key in (True, False)
        }
        yield found


@pytest.fixture
def site(made: dict[bool, Path], tmp_path: Path) -> Site:
    """A server with a key."""
    shutil.copytree(made[True], tmp_path / "site")
    return Site(tmp_path / "site")


@pytest.fixture
def keyless(made: dict[bool, Path], tmp_path: Path) -> Site:
    """A server without one."""
    shutil.copytree(made[False], tmp_path / "site")
    return Site(tmp_path / "site")


def test_an_unchanged_server_starts(site: Site):
    site.run("SELECT 1")
    site.run("SELECT 1")


def promoted(body: str) -> str:
    authority = json.loads(body)
    text = json.dumps(authority)
    clerk = next(role for role in authority["roles"] if role["name"] == "clerk")
    assert not clerk["superuser"]
    clerk["superuser"] = True
    assert json.dumps(authority) != text
    return json.dumps(authority)


def newest(site: Site) -> tuple[int, str]:
    with sqlite3.connect(site.data / "control.sqlite") as raw:
        found = raw.execute(
            "SELECT version, body FROM discreet_authority ORDER BY version DESC LIMIT 1"
        ).fetchone()
    raw.close()
    return found


def test_a_clerk_who_was_made_superuser_in_the_file_is_noticed(site: Site):
    version, body = newest(site)
    with sqlite3.connect(site.data / "control.sqlite") as raw:
        raw.execute(
            "UPDATE discreet_authority SET body = ? WHERE version = ?", (promoted(body), version)
        )
    raw.close()
    assert "version" in str(site.refused())
    assert "was changed" in str(site.refused())


def test_a_version_that_was_added_in_the_file_is_noticed_at_once(site: Site):
    version, body = newest(site)
    forged = promoted(body).replace(f'"version": {version}', f'"version": {version + 1}')
    with site.opened() as server:
        with sqlite3.connect(site.data / "control.sqlite") as raw:
            raw.execute(
                "INSERT INTO discreet_authority SELECT version + 1, at, changed_by, statement, ?, "
                "'x', mac FROM discreet_authority WHERE version = ?",
                (forged, version),
            )
            raw.execute("UPDATE discreet_control SET version = version + 1")
        raw.close()
        with pytest.raises(StoreFailed, match="was changed"):
            server.control.authority()


@pytest.mark.parametrize(
    "statements",
    [
        # A revoke is undone: the version before it is the newest again.
        (
            "DELETE FROM discreet_authority WHERE version = (SELECT version FROM discreet_control)",
            "UPDATE discreet_control SET version = version - 1",
        ),
        # A dropped user's password is put back, or another user's is taken away.
        ("DELETE FROM discreet_document WHERE kind = 'credential' AND name = 'clerk'",),
        ("UPDATE discreet_document SET name = 'x' WHERE kind = 'credential' AND name = 'clerk'",),
        ("INSERT INTO discreet_document VALUES ('credential', 'eve', '{}', 'x', '')",),
        # The seal is taken off, with or without its key.
        ("UPDATE discreet_control_seal SET mac = ''",),
        ("DELETE FROM discreet_control_seal",),
        (
            "UPDATE discreet_control_seal SET mac = ''",
            "DELETE FROM discreet_document WHERE name = 'discreet/secrets'",
        ),
        ("UPDATE discreet_control_seal SET identity = 'another'",),
    ],
)
def test_a_changed_control_store_is_noticed(site: Site, statements: tuple[str, ...]):
    site.tamper("control", *statements)
    site.refused()


def test_a_document_that_was_put_back_is_noticed(site: Site):
    with sqlite3.connect(site.place / "before" / "control.sqlite") as raw:
        rows = raw.execute("SELECT * FROM discreet_document WHERE name LIKE '%eve%'").fetchall()
    raw.close()
    assert rows
    with sqlite3.connect(site.data / "control.sqlite") as raw:
        raw.executemany("INSERT INTO discreet_document VALUES (?, ?, ?, ?, ?)", rows)
    raw.close()
    assert "put back" in str(site.refused())


STORES = ("control", "ledger", "journal")
SOME_STORES = [(one,) for one in STORES] + list(combinations(STORES, 2))


@pytest.mark.parametrize("stores", SOME_STORES, ids="+".join)
def test_one_or_two_stores_that_were_put_back_are_noticed(site: Site, stores: tuple[str, ...]):
    for store in stores:
        site.put_back(store)
    assert "put back" in str(site.refused())


@pytest.mark.parametrize("stores", SOME_STORES, ids="+".join)
def test_one_or_two_stores_that_were_put_back_after_a_crash_are_noticed(
    site: Site, stores: tuple[str, ...]
):
    """The server had no chance to say last how far its stores are."""
    site.run("SELECT 1")
    shutil.rmtree(site.place / "before")
    shutil.copytree(site.data, site.place / "before")
    with site.opened() as server:
        spend(server, "second")
        session = enter(server)
        session.run(session.prepare(session.split("DROP ROLE clerk")[0]))
        server.pin()  # as a server does every few seconds
        shutil.copytree(site.data, site.place / "crashed")
        session.close()
    shutil.rmtree(site.data)
    (site.place / "crashed").rename(site.data)
    for store in stores:
        site.put_back(store)
    assert "put back" in str(site.refused())


def test_the_ledger_knows_of_changed_rights_with_the_next_statement(site: Site):
    with site.opened() as server:
        session = enter(server)
        for statement in ("DROP ROLE clerk", "SELECT 1"):
            session.run(session.prepare(session.split(statement)[0]))
        assert server.ledger.known_heads()["control"] == server.control.newest_head()
        session.close()


def test_stores_that_were_put_back_all_together_agree_with_each_other(site: Site):
    """Only a witness notices that, as docs/explanation/encryption.md says."""
    for store in STORES:
        site.put_back(store)
    site.run("SELECT 1")


def test_rights_that_were_put_back_with_the_journal_are_accepted_by_a_custodian_only(site: Site):
    site.put_back("control")
    site.put_back("journal")
    message = str(site.refused())
    assert "the control store was replaced or put back: the ledger knows" in message
    assert "the journal was replaced or put back: the ledger knows" in message
    accept = ("key", "accept", site.data, "--key-file", site.key, "--reason", "lost", "--yes")
    assert site.discreet(*accept) == 0
    with site.opened() as server, pytest.raises(StatementFailed):
        enter(server)


@pytest.mark.parametrize("store", ["control", "ledger", "journal"])
def test_a_lost_store_is_not_begun_anew(site: Site, store: str):
    site.lose(store)
    site.refused()


@pytest.mark.parametrize("stores", SOME_STORES, ids="+".join)
@pytest.mark.parametrize("act", ["put_back", "lose"])
def test_without_a_key_stores_know_of_each_other_all_the_same(
    keyless: Site, stores: tuple[str, ...], act: str
):
    for store in stores:
        getattr(keyless, act)(store)
    assert "put back" in str(keyless.refused(key_file=None))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE discreet_spending SET epsilon = 0",
        "UPDATE discreet_account SET epsilon = '1000'",
        "DELETE FROM discreet_reservation",
        "UPDATE discreet_ledger_seal SET mac = ''",
        "UPDATE discreet_ledger SET known_heads = '{}'",
        "INSERT INTO discreet_pin VALUES ('table', 'mine')",
        "INSERT INTO discreet_sighting VALUES ('a place', 'mine')",
        "INSERT INTO discreet_secret VALUES (1, 'mine', NULL)",
    ],
)
def test_an_edited_ledger_is_noticed(site: Site, statement: str):
    site.tamper("ledger", statement)
    assert isinstance(site.refused(), LedgerFailed)


def test_a_ledger_that_was_cut_and_chained_anew_is_noticed(site: Site):
    site.tamper(
        "ledger",
        "DELETE FROM discreet_spending",
        "DELETE FROM discreet_account",
        "DELETE FROM discreet_reservation",
        "DELETE FROM discreet_entry",
        f"UPDATE discreet_ledger SET sequence = 0, hash = '{'0' * 64}'",
    )
    assert "sealed" in str(site.refused())


@pytest.mark.parametrize(
    "statements",
    [
        ("DELETE FROM discreet_event WHERE sequence = (SELECT max(sequence) FROM discreet_event)",),
        ("DELETE FROM discreet_event WHERE sequence = 2",),
        (
            "DELETE FROM discreet_event WHERE sequence > 1",
            (
                "UPDATE discreet_journal SET sequence = 1, hash = (SELECT hash FROM discreet_event), "
                "peaks = substr(peaks, 1, 64)"
            ),
            "DELETE FROM discreet_checkpoint WHERE size > 1",
        ),
    ],
)
def test_a_truncated_journal_is_noticed(site: Site, statements: tuple[str, ...]):
    site.tamper("journal", *statements)
    site.refused()


@pytest.mark.parametrize("has_key", [True, False])
@pytest.mark.parametrize(
    "removed", ["", " WHERE size = (SELECT min(size) FROM discreet_checkpoint)"]
)
def test_a_journal_whose_checkpoints_were_removed_is_refused(
    made: dict[bool, Path], tmp_path: Path, has_key: bool, removed: str
):
    shutil.copytree(made[has_key], tmp_path / "site")
    site, flags = Site(tmp_path / "site"), {} if has_key else {"key_file": None}
    site.tamper("journal", f"DELETE FROM discreet_checkpoint{removed}")
    assert "the control store knows of checkpoints" in str(site.refused(**flags))
    key = ["--key-file", site.key] if has_key else []
    accept = ("key", "accept", site.data, *key, "--reason", "a disk failed", "--yes")
    assert site.discreet(*accept) == 0
    site.run("SELECT 1", **flags)


def test_settings_are_believed_when_the_custodian_accepted_them(site: Site):
    settings = site.data / "server.yaml"
    settings.write_text("ldap: {url: 'ldaps://attacker.example', template: 'uid={user}'}\n")
    settings.chmod(0o600)
    assert "server.yaml" in str(site.refused())
    settings.write_text("quantum: 0\n")
    accept = ("key", "accept", site.data, "--key-file", site.key, "--reason", "mine", "--yes")
    assert site.discreet(*accept) == 0
    site.run("SELECT 1")
    settings.unlink()
    assert "server.yaml" in str(site.refused())


def test_a_sealed_server_does_not_start_without_its_key(site: Site):
    assert isinstance(site.refused(key_file=None), InvalidKey)


def test_stores_that_were_written_without_a_key_are_accepted_first(keyless: Site):
    new_wrapping_key(keyless.key)
    assert "key accept" in str(keyless.refused())
    accept = ("key", "accept", keyless.data, "--key-file", keyless.key, "--yes")
    assert keyless.discreet(*accept, "--reason", "a key from today on") == 0
    # The database itself was made without a key, and stays so.
    keyless.run("SELECT 1")
    keyless.tamper("ledger", "UPDATE discreet_spending SET epsilon = 0")
    keyless.refused()


def test_rights_beside_the_data_that_were_written_by_others_are_not_kept(site: Site):
    with site.opened() as server:
        connection = server.database.connect()
        body = server.context.pending._read(connection)
        assert body is not None
        connection.close()
        old, new = body.authority.version, server.control.authority().version + 1
        server.database._root.execute(
            "UPDATE guarded.public.discreet_pending "
            f"SET body = replace(body, '\"version\": {old}', '\"version\": {new}')"
        )
        with pytest.raises(StoreFailed, match="discreet_pending"):
            server.recover()


def test_a_folder_that_was_put_back_as_a_whole_is_noticed_by_a_witness(site: Site, tmp_path: Path):
    (site.data / "server.yaml").write_text(f"audit: {{witness: [{tmp_path / 'witness.txt'}]}}\n")
    (site.data / "server.yaml").chmod(0o600)
    accept = ("key", "accept", site.data, "--key-file", site.key, "--reason", "mine", "--yes")
    assert site.discreet(*accept) == 0
    site.run("SELECT 1")
    shutil.rmtree(site.place / "before")
    shutil.copytree(site.data, site.place / "before")
    with site.opened() as server:
        spend(server, "second")
    shutil.rmtree(site.data)
    (site.place / "before").rename(site.data)
    result = str(site.refused())
    assert "the ledger was replaced or put back: the witness" in result
    assert site.discreet(*accept) == 0
    with site.opened() as server, pytest.raises(BudgetExceeded, match="counts as spent"):
        spend(server, "second")


def test_accepted_stores_that_are_behind_spend_nothing_and_let_no_user_in(site: Site):
    site.put_back("control")
    site.put_back("ledger")
    site.refused()
    accept = ("key", "accept", site.data, "--key-file", site.key, "--reason", "lost", "--yes")
    assert site.discreet(*accept) == 0
    with site.opened() as server:
        with pytest.raises(BudgetExceeded, match="counts as spent"):
            spend(server, "second")
        with pytest.raises(StatementFailed) as caught:
            enter(server)
        assert caught.value.sqlstate == "57P03"
    own = ("--key-file", site.key)
    assert site.discreet("user", "confirm", site.data, "--reason", "checked", *own) == 0
    assert (
        site.discreet("budget", "--ledger", site.data / "ledger.sqlite", "--reopen", "x", *own) == 0
    )
    with site.opened() as server:
        enter(server).close()
        spend(server, "second")


def test_commands_without_the_key_change_nothing(site: Site):
    assert site.discreet("user", "lock", site.data, "clerk") != 0
    assert site.discreet("key", "create", site.data, "a.b") != 0
    assert site.discreet("backup", site.data, "-o", site.place / "b") != 0
    assert site.discreet("key", "list", site.data) == 0
    site.run("SELECT 1")


def test_a_restored_server_answers_nothing_that_it_may_have_answered_since(site: Site):
    own = ("--key-file", site.key)
    backup = site.place / "monday.backup"
    assert site.discreet("backup", site.data, "-o", backup, *own) == 0
    with site.opened() as server:
        spend(server, "second")
    assert site.discreet("restore", backup, site.place / "other") != 0  # without the key
    assert site.discreet("restore", backup, site.place / "other", *own) == 3
    shutil.rmtree(site.data)
    (site.place / "other").rename(site.data)
    with site.opened() as server:
        with pytest.raises(BudgetExceeded, match="counts as spent"):
            spend(server, "second")
        with pytest.raises(StatementFailed, match="restored from a backup"):
            enter(server)


def test_a_restore_does_not_revive_a_dropped_user(site: Site):
    own = ("--key-file", site.key)
    backup = site.place / "monday.backup"
    site.run("CREATE ROLE zoe LOGIN")
    assert site.discreet("backup", site.data, "-o", backup, *own) == 0
    site.run("DROP ROLE zoe")
    restore = ("restore", backup, site.data, "--replace", *own)
    assert site.discreet(*restore) == 2
    assert site.discreet(*restore, "--keep-rights") == 0
    with site.opened() as server:
        assert "zoe" not in server.control.authority().roles
        enter(server).close()


def test_the_journal_proves_that_nothing_was_spent_since(site: Site):
    own = ("--key-file", site.key)
    backup = site.place / "monday.backup"
    assert site.discreet("backup", site.data, "-o", backup, *own) == 0
    site.lose("ledger")
    assert site.discreet("restore", backup, site.data, "--replace", *own) == 0
    with site.opened() as server:
        spend(server, "second")


def test_a_changed_backup_is_not_restored(site: Site):
    own = ("--key-file", site.key)
    site.tamper("ledger", "UPDATE discreet_ledger_seal SET mac = 'x'")
    backup = site.place / "monday.backup"
    assert site.discreet("backup", site.data, "-o", backup, *own) == 0
    assert site.discreet("restore", backup, site.place / "other", *own) == 1
    assert not (site.place / "other").exists()


def test_a_sealed_journal_is_pruned_with_the_key_only(site: Site):
    (site.place / "archive").mkdir()
    archive = ("journal", "archive", site.data, site.place / "archive", "--prune")
    assert site.discreet(*archive) == 1
    assert site.discreet(*archive, "--key-file", site.key) == 0
    with sqlite3.connect(site.data / "journal.sqlite") as raw:
        assert raw.execute("SELECT first_sequence FROM discreet_journal").fetchone()[0] > 1
    raw.close()
    site.run("SELECT 1")
