"""Whatever a user does to a journal is found, as far as it can be; where it cannot, that is reported."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.errors import JournalBroken
from discreet.guard.journal import Event, Journal
from discreet.guard.journal.verifying import JournalVerification, verify_journal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EDIT = "UPDATE discreet_event SET body = replace(body, '\"ada\"', '\"eve\"') WHERE sequence = 7"
TAMPERINGS = {
    "an edit": (EDIT, "entry 7 was changed"),
    "an edit of a hash": (
        "UPDATE discreet_event SET hash = replace(hash, '0', '1') WHERE sequence = 7",
        "entry 7 was changed",
    ),
    "a deletion": ("DELETE FROM discreet_event WHERE sequence = 7", "entry 7 is missing"),
    "a deletion with new numbers": (
        (
            "DELETE FROM discreet_event WHERE sequence = 7;"
            "UPDATE discreet_event SET sequence = sequence - 1 WHERE sequence > 7"
        ),
        "entry 7 was changed",
    ),
    "the first entries gone": (
        "DELETE FROM discreet_event WHERE sequence < 3",
        "entry 1 is missing",
    ),
    "a cut": ("DELETE FROM discreet_event WHERE sequence > 20", "last entries are missing"),
    "an insertion": (
        "INSERT INTO discreet_event SELECT 26, body, hash FROM discreet_event WHERE sequence = 3",
        "entry 26 was changed, or was put in",
    ),
    "an insertion in between": (
        (
            "UPDATE discreet_event SET sequence = -sequence - 1 WHERE sequence > 5;"
            "UPDATE discreet_event SET sequence = -sequence WHERE sequence < 0;"
            "INSERT INTO discreet_event SELECT 6, body, hash FROM discreet_event WHERE sequence = 3"
        ),
        "entry 6 was changed, or was put in",
    ),
    "two entries exchanged": (
        (
            "UPDATE discreet_event SET sequence = -6 WHERE sequence = 6;"
            "UPDATE discreet_event SET sequence = 6 WHERE sequence = 7;"
            "UPDATE discreet_event SET sequence = 7 WHERE sequence = -6"
        ),
        "entry 6 was changed",
    ),
    "another head": ("UPDATE discreet_journal SET sequence = 31, peaks = ''", "lost its head"),
    "no head": ("DELETE FROM discreet_journal", "lost its head"),
    "a forged checkpoint": (
        "UPDATE discreet_checkpoint SET note = replace(note, '— test ', '— test A') WHERE size = 11",
        "of 11 entries is not signed by this key",
    ),
    "a checkpoint that is none": (
        "UPDATE discreet_checkpoint SET note = 'hello' WHERE size = 11",
        "does not hold checkpoints",
    ),
    "no checkpoints": ("DELETE FROM discreet_checkpoint", "none of its entries is signed"),
    "no tables": ("DROP TABLE discreet_event", "not as discreet wrote it"),
}


def run(place: Path, script: str) -> None:
    with closing(sqlite3.connect(place, isolation_level=None)) as raw:
        raw.executescript(script)


def rewrite(place: Path, *, size: int, key: Ed25519PrivateKey | None) -> None:
    """Write the journal anew with other words, as the owner of the machine can."""
    entries = list(Journal(place).entries())[:size]
    shutil.copy(place, place.with_suffix(".before"))
    for path in place.parent.glob(f"{place.name}*"):
        path.unlink()
    journal = Journal(place, signing_key=key, origin="test", every=10)
    for entry in entries:
        words = json.loads(entry.body) | {"user": "eve"}
        journal._writer.append(json.dumps(words, sort_keys=True, separators=(",", ":")))
    journal.close()


@pytest.fixture
def outside(filled: Path):
    """Checkpoints that were kept elsewhere."""
    return Journal(filled).checkpoints()


def checked(place: Path, key: Ed25519PrivateKey | None, outside=()) -> JournalVerification:
    public = None if key is None else key.public_key()
    return verify_journal(Journal(place), checkpoints=outside, public_key=public)


def test_an_unchanged_journal_is_whole(filled: Path, key: Ed25519PrivateKey, outside):
    verdict = checked(filled, key, outside)
    assert verdict == JournalVerification(
        is_whole=True,
        entries=25,
        first=1,
        root=outside[-1].root.hex(),
        signed=25,
        checkpoints=4,
        outside=4,
        faults=(),
        cautions=(),
    )


def test_an_empty_journal_is_whole(place: Path, key: Ed25519PrivateKey):
    assert checked(place, key).is_whole


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_found(filled: Path, key: Ed25519PrivateKey, name: str):
    script, words = TAMPERINGS[name]
    run(filled, script)
    verdict = checked(filled, key)
    assert not verdict.is_whole
    assert words in "; ".join(verdict.faults)


@pytest.mark.parametrize("name", [name for name in TAMPERINGS if "checkpoint" not in name])
def test_tampering_with_entries_is_found_without_a_key(filled: Path, name: str):
    run(filled, TAMPERINGS[name][0])
    assert not checked(filled, None).is_whole


def test_a_cut_with_its_head_is_found_by_the_journals_own_checkpoints(
    filled: Path, key: Ed25519PrivateKey
):
    notes = [checkpoint.note for checkpoint in Journal(filled).checkpoints()]
    rewritten = filled.with_name("cut.sqlite")
    journal = Journal(rewritten)
    for entry in list(Journal(filled).entries())[:20]:
        journal._writer.append(entry.body)
    journal.close()
    with closing(sqlite3.connect(rewritten, isolation_level=None)) as raw:
        rows = list(zip((1, 11, 21, 25), notes, strict=True))
        raw.executemany("INSERT INTO discreet_checkpoint VALUES (?, ?)", rows)
    verdict = checked(rewritten, key)
    assert "it had 21 entries" in verdict.faults[0]
    assert "its end was cut off" in verdict.faults[0]


def test_a_rewriting_without_the_key_leaves_no_valid_signature(filled: Path, key):
    rewrite(filled, size=25, key=None)
    assert checked(filled, key).faults == ("none of its entries is signed",)
    rewrite(filled, size=25, key=Ed25519PrivateKey.generate())
    assert "not signed by this key" in checked(filled, key).faults[0]


def test_a_rewriting_with_the_key_is_found_by_a_checkpoint_kept_elsewhere(
    filled: Path, key: Ed25519PrivateKey, outside
):
    rewrite(filled, size=25, key=key)
    verdict = checked(filled, key, outside)
    assert not verdict.is_whole
    assert "it was rewritten" in verdict.faults[0]


def test_a_rewriting_with_the_key_is_not_found_without_one_and_that_is_reported(
    filled: Path, key: Ed25519PrivateKey
):
    rewrite(filled, size=25, key=key)
    verdict = checked(filled, key)
    assert verdict.is_whole
    assert "could have been rewritten unnoticed" in verdict.cautions[0]


def test_a_cut_with_the_key_is_found_by_a_checkpoint_kept_elsewhere(
    filled: Path, key: Ed25519PrivateKey, outside
):
    rewrite(filled, size=20, key=key)
    faults = "; ".join(checked(filled, key, outside[-1:]).faults)
    assert "it had 25 entries" in faults
    assert "now has 20" in faults


def test_checkpoints_of_another_journal_do_not_pass(
    filled: Path, key: Ed25519PrivateKey, event: Callable[..., Event]
):
    other = Journal(filled.with_name("other.sqlite"), signing_key=key, origin="other")
    other.record(event(1, user="bob"))
    verdict = checked(filled, key, other.checkpoints())
    assert "several journals" in "; ".join(verdict.faults)
    assert "rewritten" in "; ".join(verdict.faults)


def test_what_is_not_signed_yet_is_reported(place: Path, key, event: Callable[..., Event]):
    journal = Journal(place, signing_key=key)
    for number in range(5):
        journal.record(event(number))
    verdict = verify_journal(journal, public_key=key.public_key())
    assert (verdict.is_whole, verdict.signed) == (True, 1)
    assert "The last 4 entries are not signed yet." in verdict.cautions
    journal.close()


def test_a_damaged_file_is_not_whole(filled: Path, key: Ed25519PrivateKey):
    journal = Journal(filled)
    content = bytearray(filled.read_bytes())
    content[8192:12288] = bytes(4096)
    filled.write_bytes(content)
    assert not verify_journal(journal, public_key=key.public_key()).is_whole


@pytest.mark.parametrize("is_forged", [True, False], ids=["forged", "removed"])
def test_checkpoints_that_were_forged_or_removed_hide_no_change_at_the_end(
    filled: Path, key: Ed25519PrivateKey, is_forged: bool
):
    run(filled, "DELETE FROM discreet_checkpoint WHERE size > 11")
    if is_forged:
        journal = Journal(filled, signing_key=Ed25519PrivateKey.generate(), origin="test")
        assert journal.checkpoint() is not None
        journal.close()
    Journal(filled).require_end(key=key.public_key())
    run(filled, "UPDATE discreet_event SET body = replace(body, '{', '{ ') WHERE sequence = 23")
    with pytest.raises(JournalBroken, match="entry 23 is missing or was changed"):
        Journal(filled).require_end(key=key.public_key())
