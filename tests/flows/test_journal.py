"""`discreet journal`: what was decided, and whether anybody changed it."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from discreet.guard.journal import Event, Journal
from discreet.guard.journal.keys import make_signing_key

if TYPE_CHECKING:
    from pathlib import Path

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.fixture
def clinic(folder: Path) -> Path:
    """A server's folder with a journal of twelve entries, and a witness elsewhere."""
    data = folder / "clinic"
    (data / "keys").mkdir(parents=True)
    key = make_signing_key(data / "keys" / "journal.key", data / "keys" / "journal.pub")
    journal = Journal(
        data / "journal.sqlite",
        signing_key=key,
        origin="clinic",
        every=5,
        witness=[folder / "witness.txt"],
    )
    for number in range(12):
        user = "ada" if number % 2 else "bob"
        denied = {"decision": "denied", "sqlstate": "42501"} if number == 7 else {}
        statement = f"SELECT {number} FROM t"
        at = NOON + timedelta(hours=number)
        journal.record(Event(at, "statement", user=user, statement=statement, **denied))
    journal.close()
    return data


def tamper(clinic: Path, script: str) -> None:
    with sqlite3.connect(clinic / "journal.sqlite") as raw:
        raw.executescript(script)


def test_an_unchanged_journal_is_whole(discreet, clinic: Path):
    ran = discreet("journal", "verify", "clinic", "--checkpoint", "witness.txt")
    assert ran.code == 0
    assert "The journal is whole: entries 1 to 12." in ran.out
    assert "from elsewhere" in ran.out
    assert "Caution" not in ran.out


def test_an_edit_exits_3_and_is_named(discreet, clinic: Path):
    tamper(
        clinic, "UPDATE discreet_event SET body = replace(body, 'ada', 'eve') WHERE sequence = 4"
    )
    ran = discreet("journal", "verify", "clinic", "--json")
    assert ran.code == 3
    assert ran.json["is_whole"] is False
    assert "entry 4 was changed" in ran.json["faults"][0]
    assert discreet("journal", "verify", clinic / "journal.sqlite").code == 3


def test_without_a_witness_a_caution_says_what_cannot_be_found(discreet, clinic: Path):
    ran = discreet("journal", "verify", "clinic")
    assert "could have been rewritten" in ran.out


def test_the_wrong_public_key_exits_3(discreet, clinic: Path, folder: Path):
    make_signing_key(folder / "other.key", folder / "other.pub")
    assert discreet("journal", "verify", "clinic", "--public-key", "other.pub").code == 3


def test_entries_are_shown_by_user_and_decision(discreet, clinic: Path):
    ran = discreet("journal", "show", "clinic", "--decision", "denied")
    assert "42501" in ran.out
    assert "SELECT ? FROM t" in ran.out
    assert "allowed" not in ran.out
    rows = discreet("journal", "show", "clinic", "--user", "ada", "--last", 2, "--json").json
    assert [entry["sequence"] for entry in rows["entries"]] == [10, 12]


def test_entries_are_exported_by_time(discreet, clinic: Path, folder: Path):
    options = ("--since", "2026-05-04T14:00", "--until", "2026-05-04T16:00+00:00")
    ran = discreet("journal", "export", "clinic", *options, "-o", "out.jsonl")
    assert ran.code == 0
    lines = (folder / "out.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["sequence"] for line in lines] == [3, 4]
    assert discreet("journal", "export", "clinic", *options).out.splitlines() == lines
    again = discreet("journal", "export", "clinic", "-o", "out.jsonl")
    assert again.error == "output-refused"
    assert discreet("journal", "export", "clinic", "-o", "out.jsonl", "--force").code == 0


def test_an_archive_is_verified_alone_and_shown_like_a_journal(
    discreet, clinic: Path, folder: Path
):
    (folder / "old").mkdir()
    assert discreet("journal", "archive", "clinic", "old", "--dry-run").code == 0
    assert list((folder / "old").iterdir()) == []
    ran = discreet("journal", "archive", "clinic", "old", "--prune")
    assert "Entries 1 to 12 are in old/journal-000000000001" in ran.out
    assert "gone from the journal" in ran.out
    public = clinic / "keys" / "journal.pub"
    archived = discreet("journal", "verify", "old", "--public-key", public, "--json")
    assert (archived.code, archived.json["entries"]) == (0, 12)
    assert discreet("journal", "verify", "clinic").code == 0
    assert discreet("journal", "show", "clinic", "--json").json["entries"] == []
    rows = discreet("journal", "show", "old", "--user", "bob", "--json").json["entries"]
    assert len(rows) == 6
    again = discreet("journal", "archive", "clinic", "old", "--prune")
    assert "nothing was archived" in again.out


def test_what_was_archived_before_can_be_removed_later(discreet, clinic: Path, folder: Path):
    (folder / "old").mkdir()
    discreet("journal", "archive", "clinic", "old")
    ran = discreet("journal", "archive", "clinic", "old", "--prune", "--json")
    assert ran.json == {"first": None, "last": None, "file": None, "pruned": True}
    assert discreet("journal", "verify", "clinic", "--json").json["first"] == 13


def test_nothing_is_removed_without_a_key_to_verify_the_archive(
    discreet, clinic: Path, folder: Path
):
    (folder / "old").mkdir()
    ran = discreet("journal", "archive", clinic / "journal.sqlite", "old", "--prune")
    assert (ran.code, ran.error) == (2, "wrong-usage")
    assert discreet("journal", "show", "clinic", "--json").json["entries"]


def test_nothing_is_removed_for_the_archive_of_another_journal(
    discreet, clinic: Path, folder: Path
):
    from discreet.guard.journal.keys import load_signing_key

    (folder / "old").mkdir()
    key = load_signing_key(clinic / "keys" / "journal.key")
    other = Journal(folder / "other.sqlite", signing_key=key, origin="other")
    for _ in range(12):
        other.record(Event(NOON, "login"))
    other.close()
    discreet("journal", "archive", folder / "other.sqlite", "old")
    ran = discreet("journal", "archive", "clinic", "old", "--prune")
    assert (ran.code, ran.error) == (3, "journal-broken")
    assert len(discreet("journal", "show", "clinic", "--json").json["entries"]) == 12


def test_looking_for_a_journal_does_not_make_one(discreet, folder: Path):
    ran = discreet("journal", "verify", "nowhere")
    assert (ran.code, ran.error) == (2, "no-such-source")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [("show", "clinic", "--since", "yesterday"), ("show", "clinic", "--decision", "x")]
)
def test_wrong_words_are_refused(discreet, clinic: Path, arguments: tuple[str, ...]):
    assert discreet("journal", *arguments).error == "wrong-usage"


def test_a_witness_that_holds_something_else_is_refused(discreet, clinic: Path, folder: Path):
    (folder / "note.txt").write_text("hello", "utf-8")
    ran = discreet("journal", "verify", "clinic", "--checkpoint", "note.txt")
    assert ran.error == "wrong-usage"


def test_a_proof_of_one_entry_is_verified_without_the_journal(discreet, clinic: Path, folder: Path):
    assert discreet("journal", "prove", "clinic", "8", "-o", "proof.json").code == 0
    key = (clinic / "keys" / "journal.pub").rename(folder / "journal.pub")
    (clinic / "journal.sqlite").unlink()
    ran = discreet("journal", "verify-proof", "proof.json", "--public-key", key.name)
    assert ran.code == 0
    assert "Entry 8 is in the signed journal" in ran.out
    assert "2026-05-04T19:00" in ran.out
    assert "2026-05-04T18:00" not in (folder / "proof.json").read_text()


@pytest.mark.parametrize(
    ("part", "value"),
    [("entry", 7), ("body", "{}"), ("hashes", []), ("hashes", ["00" * 32] * 4)],
)
def test_a_changed_proof_exits_3(discreet, clinic: Path, folder: Path, part: str, value: object):
    made = json.loads(discreet("journal", "prove", "clinic", "8").out)
    (folder / "proof.json").write_text(json.dumps(made | {part: value}))
    key = "clinic/keys/journal.pub"
    ran = discreet("journal", "verify-proof", "proof.json", "--public-key", key)
    assert ran.code == 3
    assert "This is no proof" in ran.out


def test_a_proof_signed_by_another_key_exits_3(discreet, clinic: Path, folder: Path):
    discreet("journal", "prove", "clinic", "8", "-o", "proof.json")
    make_signing_key(folder / "other.key", folder / "other.pub")
    ran = discreet("journal", "verify-proof", "proof.json", "--public-key", "other.pub")
    assert ran.code == 3


def test_no_proof_is_made_of_what_was_changed_or_is_missing(discreet, clinic: Path):
    assert "no entry 13" in discreet("journal", "prove", "clinic", "13").err
    tamper(
        clinic, "UPDATE discreet_event SET body = replace(body, 'ada', 'eve') WHERE sequence = 4"
    )
    ran = discreet("journal", "prove", "clinic", "4")
    assert ran.code == 3
    assert "journal-broken" in ran.err


@pytest.mark.parametrize("text", ["", "{}", '{"entry": "x"}', "[]"])
def test_a_file_that_holds_no_proof_is_refused(discreet, clinic: Path, folder: Path, text: str):
    (folder / "proof.json").write_text(text)
    key = "clinic/keys/journal.pub"
    ran = discreet("journal", "verify-proof", "proof.json", "--public-key", key)
    assert ran.code == 2
    assert "does not hold a proof" in ran.err
