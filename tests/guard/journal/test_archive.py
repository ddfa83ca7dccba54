"""Archives are verified by their files alone, and the journal goes on where they end."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from discreet.errors import JournalBroken, OutputRefused
from discreet.guard.journal import Event, Journal
from discreet.guard.journal.archive import archive_journal, is_archive, segments, verify_archive
from discreet.guard.journal.merkle import is_included, leaf_hash
from discreet.guard.journal.verifying import verify_journal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "archive"
    made.mkdir()
    return made


@pytest.fixture
def archived(filled: Path, folder: Path, key: Ed25519PrivateKey, event: Callable[..., Event]):
    """A journal whose first 25 entries are in `folder` only, with 12 more after them."""
    journal = Journal(filled, signing_key=key, origin="test", every=5)
    segment = archive_journal(journal, folder)
    assert segment is not None
    journal.prune(segment.end)
    for number in range(12):
        journal.record(event(100 + number))
    journal.checkpoint()
    return journal


def test_a_segment_holds_read_only_entries_checkpoint_and_manifest(archived, folder):
    names = sorted(path.name for path in folder.iterdir())
    base = "journal-000000000001-000000000025"
    assert names == [f"{base}.checkpoint", f"{base}.jsonl", f"{base}.manifest.json"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o400}
    lines = (folder / f"{base}.jsonl").read_text("ascii").splitlines()
    assert len(lines) == 25
    assert json.loads(lines[3])["rows"] == 3
    assert is_archive(folder)


def test_an_archive_is_verified_without_the_journal(archived, folder: Path, key):
    verdict = verify_archive(folder, public_key=key.public_key())
    assert (verdict.is_whole, verdict.entries, verdict.signed) == (True, 25, 25)


def test_a_journal_still_verifies_after_its_beginning_was_archived(archived, key):
    outside = archived.checkpoints()
    verdict = verify_journal(archived, checkpoints=outside[-1:], public_key=key.public_key())
    assert verdict.is_whole
    assert (verdict.first, verdict.entries, verdict.signed) == (26, 37, 37)
    assert [entry.sequence for entry in archived.entries()] == list(range(26, 38))


def test_later_entries_are_proven_although_the_first_are_gone(archived):
    last = archived.checkpoints()[-1]
    entry = list(archived.entries())[4]
    index = entry.sequence - 1
    proof = archived.tree().inclusion(index, last.size)
    assert is_included(leaf_hash(entry.body.encode()), index, last.size, proof, last.root)


def test_the_next_segment_follows_the_last(archived, folder: Path, key):
    segment = archive_journal(archived, folder)
    assert segment is not None
    assert (segment.start.size, segment.end.size) == (25, 37)
    assert archive_journal(archived, folder) is None
    verdict = verify_archive(folder, public_key=key.public_key())
    assert (verdict.is_whole, verdict.entries) == (True, 37)
    assert len(segments(folder)) == 2


def test_entries_up_to_a_time_are_archived(filled: Path, folder: Path):
    early = datetime(2020, 1, 1, tzinfo=UTC)
    assert archive_journal(Journal(filled), folder, until=early) is None


def test_a_beginning_that_no_checkpoint_vouches_for_is_found(archived, key):
    from sqlalchemy import delete, update

    from discreet.guard.journal.schema import checkpoint, entry, head

    with archived._store.writing() as connection:
        connection.execute(delete(checkpoint).where(checkpoint.c.size == 25))
    assert "no checkpoint proves" in verify_journal(archived, public_key=key.public_key()).faults[0]
    with archived._store.writing() as connection:
        connection.execute(update(head).values(first_sequence=32, first_peaks="0" * 64))
        connection.execute(delete(entry).where(entry.c.sequence <= 32))
    assert not verify_journal(archived, public_key=key.public_key()).is_whole


def change(path: Path, old: bytes, new: bytes) -> None:
    path.chmod(0o644)
    path.write_bytes(path.read_bytes().replace(old, new, 1))


def test_a_changed_line_is_found(archived, folder: Path, key):
    (entries,) = folder.glob("*.jsonl")
    change(entries, b'"ada"', b'"eve"')
    verdict = verify_archive(folder, public_key=key.public_key())
    assert "is not the file that was archived" in verdict.faults[0]
    assert "rewritten" in verdict.faults[1]


def test_a_missing_segment_is_found(archived, folder: Path, key):
    archive_journal(archived, folder)
    for path in folder.glob("journal-000000000001-*"):
        path.unlink()
    verdict = verify_archive(folder, public_key=key.public_key())
    assert "no checkpoint proves that they existed" in verdict.faults[0]


def test_a_missing_file_is_found(archived, folder: Path):
    (entries,) = folder.glob("*.jsonl")
    entries.unlink()
    with pytest.raises(JournalBroken, match="missing"):
        verify_archive(folder)


def test_a_manifest_that_was_changed_is_found(archived, folder: Path, key):
    (manifest,) = folder.glob("*.manifest.json")
    change(manifest, b'"size": 25', b'"size": 24')
    with pytest.raises(JournalBroken, match="cannot be read"):
        verify_archive(folder, public_key=key.public_key())


def test_an_archive_that_does_not_reach_the_journal_is_refused(archived, tmp_path: Path):
    other = tmp_path / "other"
    other.mkdir()
    segment = archive_journal(archived, other)
    assert segment is not None
    assert segment.start.size == 25
    with pytest.raises(OutputRefused, match="no folder"):
        archive_journal(archived, tmp_path / "nowhere")


def test_what_was_changed_in_the_journal_is_not_archived(filled: Path, folder: Path):
    import sqlite3

    with sqlite3.connect(filled) as raw:
        raw.execute("UPDATE discreet_event SET body = '{}' WHERE sequence = 9")
    with pytest.raises(JournalBroken, match="entry 9"):
        archive_journal(Journal(filled), folder)
    assert not is_archive(folder)
