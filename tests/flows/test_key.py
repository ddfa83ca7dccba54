"""Keys of a server by the command line: made, listed, rotated, wrapped anew, destroyed."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from discreet.guard.control import ControlStore
from discreet.guard.identity.authenticator import ClientInfo
from discreet.guard.journal import Journal
from discreet.guard.vault.keys import open_key
from discreet.guard.vault.wrapping import read_wrapping_key
from discreet.server.settings import read_settings
from discreet.server.startup import open_server

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.flows.conftest import Discreet

ENCRYPT = "ALTER TABLE t ALTER COLUMN sin SET ENCRYPTED WITH KEY 't.sin'"


@pytest.fixture
def clinic(folder: Path, discreet: Discreet) -> Path:
    """The folder of a server that has a key."""
    assert discreet("key", "create", "clinic").code == 0
    return folder / "clinic"


def listed(discreet: Discreet) -> dict[str, dict]:
    return {each["id"]: each for each in discreet("key", "list", "clinic", "--json").json["keys"]}


def test_the_servers_key_is_made_once_for_its_owner_only(clinic: Path, discreet: Discreet):
    key = clinic / "keys" / "master.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert clinic.stat().st_mode & 0o777 == 0o700
    before = key.read_bytes()
    again = discreet("key", "create", "clinic")
    assert (again.code, again.error) == (2, "output-refused")
    assert key.read_bytes() == before
    assert listed(discreet)["discreet/secrets"]["state"] == "active"


def test_the_servers_key_can_be_kept_elsewhere(folder: Path, discreet: Discreet):
    made = discreet("key", "create", "clinic", "--key-file", "elsewhere.key")
    assert "best, keep it elsewhere" not in made.err
    assert discreet("key", "create", "clinic", "a.b").error == "wrong-usage"
    assert discreet("key", "create", "clinic", "a.b", "--key-file", "elsewhere.key").code == 0
    (folder / "clinic" / "server.yaml").write_text(f"key_file: {folder / 'elsewhere.key'}\n")
    assert discreet("key", "create", "clinic", "a.c").code == 0


def test_no_command_shows_a_key(clinic: Path, discreet: Discreet):
    secret = (clinic / "keys" / "master.key").read_text().strip()
    runs = [
        discreet("key", "create", "clinic", "a.b"),
        discreet("key", "list", "clinic"),
        discreet("key", "list", "clinic", "--json"),
        discreet("key", "rotate", "clinic", "a.b"),
        discreet("key", "create", "clinic"),
    ]
    assert not any(secret in ran.out + ran.err for ran in runs)
    assert not any('wrapped"' in ran.out for ran in runs)


def test_a_key_is_rotated_and_its_old_versions_destroyed(clinic: Path, discreet: Discreet):
    discreet("key", "create", "clinic", "a.b")
    assert "1 retired, 2 active" in discreet("key", "rotate", "clinic", "a.b").out
    finish = ("key", "rotate", "clinic", "a.b", "--finish", "--yes")
    assert "1 destroyed, 2 active" in discreet(*finish).out
    assert "1 destroyed, 2 active" in discreet(*finish).out


@pytest.fixture
def served(clinic: Path, discreet: Discreet, monkeypatch) -> Callable[..., None]:
    """Return how statements are run by the server in the folder, which stops afterwards."""
    monkeypatch.setenv("DISCREET_ADMIN_PASSWORD", "a long password")

    def run(*statements: str) -> None:
        opened = open_server(read_settings(clinic, port=0))
        try:
            client = ClientInfo("admin", "127.0.0.1", is_local=True, is_encrypted=True)
            session = opened.server.open_session(client, {}, "test")
            for statement in statements:
                session.run(session.prepare(session.split(statement)[0]))
            session.close()
        finally:
            opened.server.close()

    discreet("key", "create", "clinic", "t.sin")
    run(
        "CREATE TABLE t (id integer PRIMARY KEY, sin text)",
        ENCRYPT,
        "INSERT INTO t VALUES (1, 'a'), (2, NULL), (3, 'c')",
    )
    discreet("key", "rotate", "clinic", "t.sin")
    return run


def test_a_rotation_is_not_finished_while_a_cell_needs_the_old_version(
    served, clinic: Path, discreet: Discreet
):
    served("INSERT INTO t VALUES (4, 'd')")
    refused = discreet("key", "rotate", "clinic", "t.sin", "--finish", "--yes")
    assert (refused.code, refused.error) == (2, "key-in-use")
    assert "2 cells of public.t.sin need the retired versions" in refused.err
    assert "ALTER TABLE public.t ALTER COLUMN sin SET ENCRYPTED WITH KEY 't.sin'" in refused.err
    assert [each["state"] for each in listed(discreet)["t.sin"]["versions"]] == [
        "retired",
        "active",
    ]
    served(ENCRYPT)
    assert discreet("key", "rotate", "clinic", "t.sin", "--finish", "--yes").code == 0
    served("UPDATE t SET sin = 'z' WHERE sin = 'a'")


def test_a_rotation_is_not_finished_while_a_backup_needs_the_old_version(
    served, clinic: Path, discreet: Discreet
):
    assert discreet("backup", "clinic", "-o", "old.backup").code == 0
    served(ENCRYPT, "SELECT discreet_backup('new.backup')")
    finish = ("key", "rotate", "clinic", "t.sin", "--finish", "--yes")
    refused = discreet(*finish)
    assert refused.error == "key-in-use"
    assert f"1 backups hold cells under the retired versions of 't.sin': {clinic.parent}" in (
        refused.err
    )
    assert discreet(*finish, "--leave-backups").code == 0


def test_a_backup_that_cannot_be_looked_into_counts_as_needing_the_key(
    served, clinic: Path, discreet: Discreet
):
    served(ENCRYPT, "SELECT discreet_backup('new.backup')")
    (clinic / "backups" / "new.backup").write_bytes(b"?")
    finish = ("key", "rotate", "clinic", "t.sin", "--finish", "--yes")
    assert discreet(*finish).error == "key-in-use"
    (clinic / "backups" / "new.backup").unlink()
    assert discreet(*finish).code == 0


def test_a_rotation_is_not_finished_where_cells_cannot_be_counted(
    served, clinic: Path, discreet: Discreet
):
    served(ENCRYPT)
    (clinic / "data.duckdb").rename(clinic.with_name("moved"))
    refused = discreet("key", "rotate", "clinic", "t.sin", "--finish", "--yes")
    assert refused.error == "key-in-use"
    assert "--database URL" in refused.err


def test_finishing_a_rotation_asks(clinic: Path, discreet: Discreet, monkeypatch):
    discreet("key", "create", "clinic", "a.b")
    discreet("key", "rotate", "clinic", "a.b")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert discreet("key", "rotate", "clinic", "a.b", "--finish").code != 0
    assert listed(discreet)["a.b"]["versions"][0]["state"] == "retired"
    assert discreet("key", "rotate", "clinic", "a.b", "--yes").error == "wrong-usage"


def test_the_servers_own_keys_are_neither_made_nor_rotated_by_hand(clinic, discreet: Discreet):
    assert discreet("key", "create", "clinic", "discreet/mine").error == "wrong-usage"
    assert discreet("key", "rotate", "clinic", "discreet/secrets").error == "wrong-usage"


def test_a_clients_key_stays_with_the_client(clinic: Path, folder: Path, discreet: Discreet):
    own = folder / "own.key"
    own.write_text(bytes(range(32)).hex())
    refused = discreet("key", "create", "clinic", "a.b", "--client-key", own)
    assert (refused.error, "chmod 600" in refused.err) == ("invalid-key", True)
    own.chmod(0o600)
    assert discreet("key", "create", "clinic", "a.b", "--client-key", own).code == 0
    assert listed(discreet)["a.b"]["custody"] == "client"
    assert discreet("key", "rotate", "clinic", "a.b").error == "invalid-key"
    assert discreet("key", "rotate", "clinic", "a.b", "--client-key", own).code == 0
    assert bytes(range(32)) not in (clinic / "control.sqlite").read_bytes()


def test_destroying_asks_and_leaves_a_tombstone(clinic: Path, discreet: Discreet, monkeypatch):
    discreet("key", "create", "clinic", "a.b")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert discreet("key", "destroy", "clinic", "a.b").code != 0
    assert listed(discreet)["a.b"]["state"] == "active"
    assert discreet("key", "destroy", "clinic", "a.b", "--yes").code == 0
    (version,) = listed(discreet)["a.b"]["versions"]
    assert version["state"] == "destroyed"
    assert version["ended_by"]
    assert discreet("key", "rotate", "clinic", "a.b").error == "invalid-key"
    assert discreet("key", "destroy", "clinic", "none", "--yes").error == "wrong-usage"


def test_the_servers_key_is_changed_and_everything_still_opens(clinic: Path, discreet: Discreet):
    discreet("key", "create", "clinic", "a.b")
    path = clinic / "keys" / "master.key"
    old = read_wrapping_key(path)
    assert discreet("key", "rewrap", "clinic").code == 0
    new = read_wrapping_key(path)
    assert new != old
    assert not path.with_name("master.key.new").exists()
    assert read_wrapping_key(path.with_name(f"master.key.{old.fingerprint}")) == old
    control = ControlStore(clinic / "control.sqlite")
    open_key(control, "a.b", new).close()
    control.close()
    assert discreet("key", "rewrap", "clinic", "--new-key-file", "third.key").code == 0
    assert discreet("key", "rotate", "clinic", "a.b").error == "invalid-key"
    assert discreet("key", "rotate", "clinic", "a.b", "--key-file", "third.key").code == 0


def test_a_rewrap_that_was_interrupted_is_finished_by_another(clinic: Path, discreet: Discreet):
    discreet("key", "create", "clinic", "a.b")
    path = clinic / "keys" / "master.key"
    discreet("key", "rewrap", "clinic", "--new-key-file", path.with_name("master.key.new"))
    assert discreet("key", "rewrap", "clinic").code == 0
    assert discreet("key", "rotate", "clinic", "a.b").code == 0


def test_what_is_no_server_is_reported(folder: Path, discreet: Discreet):
    assert discreet("key", "list", "nowhere").error == "no-such-source"
    assert not (folder / "nowhere").exists()


def test_what_is_done_to_keys_is_in_the_journal(clinic: Path, discreet: Discreet):
    discreet("key", "create", "clinic", "a.b")
    discreet("key", "destroy", "clinic", "a.b", "--yes")
    journal = Journal(clinic / "journal.sqlite")
    result = [str(entry) for entry in journal.entries()]
    journal.close()
    assert len(result) == 3
    assert "create the server's key" in result[0]
    assert "destroy key a.b" in result[2]
