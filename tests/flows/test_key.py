"""Keys of a server by the command line: made, listed, rotated, wrapped anew, destroyed."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from discreet.guard.control import Control
from discreet.guard.journal import Journal
from discreet.guard.vault.keys import open_key
from discreet.guard.vault.wrapping import read_wrapping_key

if TYPE_CHECKING:
    from pathlib import Path

    from tests.flows.conftest import Discreet


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
    said = [
        discreet("key", "create", "clinic", "a.b"),
        discreet("key", "list", "clinic"),
        discreet("key", "list", "clinic", "--json"),
        discreet("key", "rotate", "clinic", "a.b"),
        discreet("key", "create", "clinic"),
    ]
    assert not any(secret in ran.out + ran.err for ran in said)
    assert not any('wrapped"' in ran.out for ran in said)


def test_a_key_is_rotated_and_its_old_versions_destroyed(clinic: Path, discreet: Discreet):
    discreet("key", "create", "clinic", "a.b")
    assert "1 retired, 2 active" in discreet("key", "rotate", "clinic", "a.b").out
    assert "1 destroyed, 2 active" in discreet("key", "rotate", "clinic", "a.b", "--finish").out


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
    control = Control(clinic / "control.sqlite")
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


def test_what_is_no_server_is_said(folder: Path, discreet: Discreet):
    assert discreet("key", "list", "nowhere").error == "no-such-source"
    assert not (folder / "nowhere").exists()


def test_what_is_done_to_keys_is_in_the_journal(clinic: Path, discreet: Discreet):
    discreet("key", "create", "clinic", "a.b")
    discreet("key", "destroy", "clinic", "a.b", "--yes")
    journal = Journal(clinic / "journal.sqlite")
    told = [str(entry) for entry in journal.entries()]
    journal.close()
    assert len(told) == 3
    assert "create the server's key" in told[0]
    assert "destroy key a.b" in told[2]
