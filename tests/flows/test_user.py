"""Users of a server by the command line: added, given passwords and tokens, locked and unlocked."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from discreet.errors import LoginFailed
from discreet.guard.control import ControlStore
from discreet.guard.identity.authenticator import ClientInfo
from discreet.guard.identity.certificates import mapped_names
from discreet.guard.identity.rule_authenticator import RuleAuthenticator
from discreet.guard.journal import Journal
from discreet.guard.vault.authentication import open_control
from discreet.guard.vault.keys import KeyAction
from discreet.guard.vault.wrapping import read_wrapping_key

if TYPE_CHECKING:
    from pathlib import Path

    from tests.flows.conftest import Discreet, Ran


PASSWORD = "correct horse"
CLIENT = {"address": "192.0.2.7", "is_encrypted": True, "protocol": "http"}


@pytest.fixture
def clinic(folder: Path, discreet: Discreet, monkeypatch) -> Path:
    """The folder of a server that has a key and an administrator."""
    monkeypatch.setenv("DISCREET_PASSWORD", PASSWORD)
    assert discreet("key", "create", "clinic").code == 0
    assert discreet("user", "add", "clinic", "admin", "--superuser").code == 0
    return folder / "clinic"


def enter(clinic: Path, user: str, password: str = PASSWORD) -> str:
    control = ControlStore(clinic / "control.sqlite")
    try:
        return _authenticator(control, clinic).check_password(ClientInfo(user, **CLIENT), password)
    finally:
        control.close()


def _authenticator(control: ControlStore, clinic: Path) -> RuleAuthenticator:
    key = clinic / "keys" / "master.key"
    server = read_wrapping_key(key) if key.exists() else None
    documents, _ = open_control(control, server, act=KeyAction("test", datetime.now(UTC)))
    return RuleAuthenticator(documents, control.authority, journal=[].append)


def listed(discreet: Discreet) -> dict[str, dict]:
    result: Ran = discreet("user", "list", "clinic", "--json")
    return {each["name"]: each for each in result.json["users"]}


def test_a_user_who_is_added_can_log_in(clinic: Path, discreet: Discreet, monkeypatch):
    monkeypatch.setenv("DISCREET_PASSWORD", "battery staple")
    assert discreet("user", "add", "clinic", "alice").code == 0
    assert enter(clinic, "admin") == "password"
    assert enter(clinic, "alice", "battery staple") == "password"
    with pytest.raises(LoginFailed):
        enter(clinic, "alice")
    users = listed(discreet)
    assert (users["admin"]["superuser"], users["alice"]["superuser"]) == (True, False)
    assert users["alice"]["ways"] == ["password"]
    assert "alice" in discreet("user", "list", "clinic").out


def test_a_server_without_a_key_has_users_too(folder: Path, discreet: Discreet, monkeypatch):
    monkeypatch.setenv("DISCREET_PASSWORD", PASSWORD)
    assert discreet("user", "add", "clinic", "admin", "--superuser").code == 0
    assert enter(folder / "clinic", "admin") == "password"
    assert discreet("key", "create", "clinic").code == 0
    assert enter(folder / "clinic", "admin") == "password"


def test_the_first_user_must_be_able_to_do_everything(folder: Path, discreet, monkeypatch):
    monkeypatch.setenv("DISCREET_PASSWORD", PASSWORD)
    discreet("key", "create", "clinic")
    refused = discreet("user", "add", "clinic", "alice")
    assert (refused.error, "--superuser" in refused.err) == ("wrong-usage", True)


def test_a_user_is_added_once(clinic: Path, discreet: Discreet):
    refused = discreet("user", "add", "clinic", "admin")
    assert (refused.error, "already exists" in refused.err) == ("wrong-usage", True)
    assert enter(clinic, "admin") == "password"


def test_a_password_comes_from_a_file_or_standard_input(
    clinic: Path, folder: Path, discreet: Discreet, monkeypatch
):
    (folder / "secret").write_text("from a file\n")
    assert discreet("user", "password", "clinic", "admin", "--password-file", "secret").code == 0
    assert enter(clinic, "admin", "from a file") == "password"
    monkeypatch.setattr("sys.stdin", io.StringIO("from standard input\n"))
    assert discreet("user", "password", "clinic", "admin", "--password-file", "-").code == 0
    assert enter(clinic, "admin", "from standard input") == "password"
    (folder / "secret").write_text("two\nlines\n")
    refused = discreet("user", "password", "clinic", "admin", "--password-file", "secret")
    assert refused.error == "wrong-usage"


def test_without_a_password_the_command_does_not_wait_for_one(
    clinic: Path, discreet: Discreet, monkeypatch
):
    monkeypatch.delenv("DISCREET_PASSWORD")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    refused = discreet("user", "add", "clinic", "alice")
    assert (refused.error, "DISCREET_PASSWORD" in refused.err) == ("wrong-usage", True)


@pytest.mark.parametrize("weak", ["short", "administrator"])
def test_a_weak_password_adds_no_user(clinic: Path, discreet: Discreet, monkeypatch, weak: str):
    monkeypatch.setenv("DISCREET_PASSWORD", weak)
    refused = discreet("user", "add", "clinic", "administrator")
    assert refused.error == "wrong-usage"
    assert "administrator" not in listed(discreet)


def test_a_locked_user_is_kept_out_until_unlocked(clinic: Path, discreet: Discreet):
    assert discreet("user", "lock", "clinic", "admin").code == 0
    with pytest.raises(LoginFailed):
        enter(clinic, "admin")
    assert listed(discreet)["admin"]["locked"]
    assert discreet("user", "unlock", "clinic", "admin").code == 0
    assert enter(clinic, "admin") == "password"


def test_unlocking_forgets_failed_logins(clinic: Path, discreet: Discreet):
    for _ in range(3):
        with pytest.raises(LoginFailed):
            enter(clinic, "admin", "wrong")
    with pytest.raises(LoginFailed):
        enter(clinic, "admin")
    discreet("user", "unlock", "clinic", "admin")
    assert enter(clinic, "admin") == "password"


def test_a_password_or_a_user_can_expire(clinic: Path, discreet: Discreet):
    discreet("user", "password", "clinic", "admin", "--expires", "2020-01-01")
    with pytest.raises(LoginFailed):
        enter(clinic, "admin")
    discreet("user", "add", "clinic", "bob", "--valid-until", "2020-01-01")
    with pytest.raises(LoginFailed):
        enter(clinic, "bob")


def test_a_token_is_shown_once_listed_and_revoked(clinic: Path, discreet: Discreet):
    text = discreet("user", "token", "clinic", "admin", "--days", "3", "--label", "bi").out.strip()
    control = ControlStore(clinic / "control.sqlite")
    authenticator = _authenticator(control, clinic)
    assert authenticator.check_token(ClientInfo("", **CLIENT), text).user == "admin"
    (result,) = discreet("user", "token", "clinic", "admin", "--list", "--json").json["tokens"]
    assert text.split("_", 2)[2] not in str(result)
    assert (result["label"], result["scopes"]) == ("bi", ["query"])
    assert "bi" in discreet("user", "token", "clinic", "admin", "--list").out
    wrong = discreet("user", "token", "clinic", "admin", "--revoke", "nothing")
    assert wrong.error == "wrong-usage"
    assert discreet("user", "token", "clinic", "admin", "--revoke", result["id"]).code == 0
    with pytest.raises(LoginFailed):
        authenticator.check_token(ClientInfo("", **CLIENT), text)
    control.close()


def test_what_is_done_to_users_is_in_the_journal_without_secrets(clinic: Path, discreet: Discreet):
    text = discreet("user", "token", "clinic", "admin").out.strip()
    (result,) = discreet("user", "token", "clinic", "admin", "--list", "--json").json["tokens"]
    discreet("user", "token", "clinic", "admin", "--revoke", result["id"])
    discreet("user", "password", "clinic", "admin")
    journal = Journal(clinic / "journal.sqlite")
    found = [entry.event.reason for entry in journal.entries()]
    journal.close()
    assert found[1:] == [
        "add user admin",
        f"make token {result['id']} (query, for good) of admin",
        f"revoke token {result['id']} of admin",
        "set the password of admin",
    ]
    assert text.split("_", 2)[2] not in str(found)


def test_certificates_are_mapped_and_forgotten(clinic: Path, discreet: Discreet):
    name = "email:a@clinic.example"
    assert discreet("user", "certificate", "clinic", "admin").out == "cn:admin\n"
    assert discreet("user", "certificate", "clinic", "admin", "--name", name).out == f"{name}\n"
    assert listed(discreet)["admin"]["ways"] == ["password", "certificate"]
    assert discreet("user", "certificate", "clinic", "admin", "--clear").out == "cn:admin\n"
    control = ControlStore(clinic / "control.sqlite")
    assert mapped_names(control, "admin") is None
    control.close()


def test_users_of_the_directory_and_of_certificates_have_no_password_here(clinic, discreet):
    discreet("user", "add", "clinic", "dora", "--directory")
    discreet("user", "add", "clinic", "carl", "--no-password", "--create-role")
    users = listed(discreet)
    assert (users["dora"]["ways"], users["carl"]["ways"]) == (["directory"], [])
    assert users["carl"]["createrole"]


@pytest.mark.parametrize("act", ["password", "token", "lock", "unlock", "certificate"])
def test_nothing_is_done_for_an_unknown_user(clinic: Path, discreet: Discreet, act: str):
    refused = discreet("user", act, "clinic", "admni")
    assert (refused.error, "Did you mean 'admin'?" in refused.err) == ("wrong-usage", True)


def test_a_sealed_store_is_not_touched_without_its_key(folder: Path, discreet, monkeypatch):
    monkeypatch.setenv("DISCREET_PASSWORD", PASSWORD)
    discreet("key", "create", "clinic", "--key-file", "elsewhere.key")
    assert discreet("user", "add", "clinic", "admin", "--superuser").error == "invalid-key"
    added = discreet("user", "add", "clinic", "admin", "--superuser", "--key-file", "elsewhere.key")
    assert added.code == 0


def test_no_password_is_in_the_files_or_in_what_is_printed(clinic: Path, discreet: Discreet):
    ran = discreet("user", "password", "clinic", "admin")
    assert PASSWORD not in ran.out + ran.err
    found = b"".join(path.read_bytes() for path in clinic.rglob("*") if path.is_file())
    assert PASSWORD.encode() not in found
