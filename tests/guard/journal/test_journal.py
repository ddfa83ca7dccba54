"""Recording: durable when it returns, in one chain, whichever process writes or is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from discreet.errors import StoreFailed, WrongUsage
from discreet.guard.journal import EntryFilter, Event, Journal
from discreet.guard.journal.checkpoints import is_signed, read_checkpoints
from discreet.guard.journal.merkle import is_consistent, is_included, leaf_hash
from discreet.guard.journal.verifying import verify_journal

if TYPE_CHECKING:
    from collections.abc import Callable

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

NOON = datetime.fromisoformat("2026-05-04T12:00:00+00:00")


def test_an_event_is_there_when_record_returns(place: Path, event: Callable[..., Event]):
    assert Journal(place).record(event(1, user="bob", reads={"public.t": ("a",)})) == 1
    (entry,) = Journal(place).entries()
    assert (entry.sequence, entry.event.user, entry.event.reads) == (1, "bob", {"public.t": ("a",)})


def test_entries_are_found_by_time_user_kind_and_decision(place: Path, event: Callable[..., Event]):
    journal = Journal(place)
    journal.record(event(0))
    journal.record(event(1, user="bob"))
    journal.record(event(2, kind="login"))
    journal.record(event(3, decision="denied"))
    found = [
        [entry.sequence for entry in journal.entries(wanted)]
        for wanted in (
            EntryFilter(since=NOON + timedelta(seconds=2)),
            EntryFilter(until=NOON + timedelta(seconds=2)),
            EntryFilter(user="bob"),
            EntryFilter(kind="login"),
            EntryFilter(decision="denied"),
            EntryFilter(),
        )
    ]
    assert found == [[3, 4], [1, 2], [2], [3], [4], [1, 2, 3, 4]]


def test_threads_share_a_commit_and_get_numbers_of_their_own(
    place: Path, event: Callable[..., Event], key: Ed25519PrivateKey
):
    journal = Journal(place, signing_key=key, every=100)
    numbers: list[int] = []

    def work() -> None:
        numbers.extend([journal.record(event(number)) for number in range(20)])

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal.close()
    assert sorted(numbers) == list(range(1, 321))
    verdict = verify_journal(journal, public_key=key.public_key())
    assert (verdict.is_whole, verdict.entries, verdict.signed) == (True, 320, 320)


def test_processes_append_to_one_chain(place: Path, event: Callable[..., Event]):
    journal = Journal(place)
    journal.record(event())
    children = []
    for number in range(4):
        child = os.fork()
        if not child:
            code = 1
            try:
                for _ in range(15):
                    journal.record(event(number))
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    journal.record(event())
    assert journal.size() == 62
    assert verify_journal(journal).is_whole


KILLED = """
import os, sys, threading
from pathlib import Path
from datetime import UTC, datetime
from discreet.guard.journal import Event, Journal
from discreet.guard.journal.keys import load_signing_key
journal = Journal(sys.argv[1], signing_key=load_signing_key(Path(sys.argv[2])), every=7)
def work(name):
    for number in range(100000):
        told = journal.record(Event(datetime.now(UTC), "statement", user=name, rows=number))
        os.write(1, b"%d\\n" % told)  # at once: two threads that print mix their lines
for name in "abcd":
    threading.Thread(target=work, args=[name]).start()
"""


def test_a_killed_process_loses_no_acknowledged_entry(tmp_path: Path, place: Path):
    from discreet.guard.journal.keys import make_signing_key

    key = make_signing_key(tmp_path / "key.pem", tmp_path / "key.pub")
    result: set[int] = set()
    for pause in (0.05, 0.1):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, place, tmp_path / "key.pem"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        result.add(int(process.stdout.readline()))
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        result |= {int(line) for line in process.stdout if line.endswith("\n")}
        process.wait()
    journal = Journal(place, signing_key=key)
    assert result <= {entry.sequence for entry in journal.entries()}
    assert verify_journal(journal, public_key=key.public_key()).is_whole


def test_a_failure_is_reported_to_every_waiting_caller(place: Path, event: Callable[..., Event]):
    import sqlite3

    journal = Journal(place)
    journal.record(event())
    with sqlite3.connect(place) as raw:
        raw.execute("DROP TABLE discreet_event")
    with pytest.raises(StoreFailed, match="Nothing is answered that is not written down"):
        journal.record(event())


def test_a_closed_journal_records_nothing(place: Path, event: Callable[..., Event]):
    journal = Journal(place)
    journal.record(event())
    journal.close()
    with pytest.raises(StoreFailed, match="closed"):
        journal.record(event())


def test_checkpoints_are_signed_first_then_by_number_and_at_the_end(
    filled: Path, key: Ed25519PrivateKey
):
    made = Journal(filled).checkpoints()
    assert [checkpoint.size for checkpoint in made] == [1, 11, 21, 25]
    assert all(is_signed(checkpoint, key.public_key()) for checkpoint in made)
    assert {checkpoint.origin for checkpoint in made} == {"test"}


def test_checkpoints_are_signed_after_a_while_even_if_nothing_happens(
    place: Path, event: Callable[..., Event], key: Ed25519PrivateKey
):
    journal = Journal(place, signing_key=key, seconds=0.05)
    for number in range(3):
        journal.record(event(number))
    deadline = time.monotonic() + 60
    while journal.checkpoints()[-1].size < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert journal.checkpoints()[-1].size == 3


def test_witnesses_get_every_checkpoint_and_a_lost_one_is_counted(
    place: Path, event: Callable[..., Event], key: Ed25519PrivateKey, tmp_path: Path
):
    witness = (tmp_path / "elsewhere", tmp_path / "nowhere" / "lost")
    journal = Journal(place, signing_key=key, every=2, witness=witness)
    for number in range(5):
        journal.record(event(number))
    journal.close()
    copies = read_checkpoints(witness[0].read_text("utf-8"), place="elsewhere")
    assert copies == journal.checkpoints()
    assert journal.unwitnessed == len(copies) == 3


def test_a_checkpoint_is_a_signed_note_that_any_change_spoils(filled: Path, key: Ed25519PrivateKey):
    (checkpoint, *_) = Journal(filled).checkpoints()
    lines = checkpoint.note.split("\n")
    assert lines[:2] == ["test", "1"]
    assert lines[5] == ""
    assert lines[6].startswith("— test ")
    changed = read_checkpoints(checkpoint.note.replace("test\n1\n", "test\n2\n"), place="x")
    assert not is_signed(changed[0], key.public_key())


@pytest.mark.parametrize("text", ["", "hello", "a\nb\n\n— a b\n", "test\n1\nAA==\n\n— test x\n"])
def test_what_is_no_checkpoint_is_refused(text: str):
    with pytest.raises(WrongUsage, match="does not hold checkpoints"):
        read_checkpoints(text, place="file")


def test_an_origin_must_fit_into_a_note(place: Path):
    with pytest.raises(WrongUsage, match="origin"):
        Journal(place, origin="two words")


def test_an_entry_is_proven_under_a_checkpoint(filled: Path):
    journal = Journal(filled)
    tree = journal.tree()
    *_, earlier, later = journal.checkpoints()
    entry = next(entry for entry in journal.entries() if entry.sequence == 7)
    proof = tree.inclusion(6, later.size)
    assert is_included(leaf_hash(entry.body.encode()), 6, later.size, proof, later.root)
    steps = tree.consistency(earlier.size, later.size)
    assert is_consistent(earlier.size, later.size, steps, earlier.root, later.root)


def test_fingerprints_are_the_same_for_the_same_value_and_key(
    tmp_path: Path, key: Ed25519PrivateKey
):
    one = Journal(tmp_path / "a.sqlite", signing_key=key)
    two = Journal(tmp_path / "b.sqlite", signing_key=key)
    other = Journal(tmp_path / "c.sqlite")
    assert one.fingerprint("x") == two.fingerprint("x") != other.fingerprint("x")
    assert one.fingerprint(1) != one.fingerprint("1")


@pytest.mark.postgres
def test_two_gateways_append_to_one_chain_on_a_server(
    postgres_url: str, event: Callable[..., Event], key: Ed25519PrivateKey
):
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS journaled CASCADE")
        connection.execute("CREATE SCHEMA journaled")
    url = f"{postgres_url}{'&' if '?' in postgres_url else '?'}options=-csearch_path%3Djournaled"
    gateways = [Journal(url, signing_key=key, every=10) for _ in range(2)]

    def work(journal: Journal) -> None:
        for number in range(25):
            journal.record(event(number))

    threads = [threading.Thread(target=work, args=[journal]) for journal in gateways * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for journal in gateways:
        journal.close()
    verdict = verify_journal(gateways[0], public_key=key.public_key())
    assert (verdict.is_whole, verdict.entries, verdict.signed) == (True, 150, 150)


@pytest.mark.postgres
def test_an_append_without_a_response_is_written_once(
    postgres_url: str, event: Callable[..., Event]
):
    import tempfile

    from tests.stores.lossy import LossyWire

    with tempfile.TemporaryDirectory(prefix="w-") as folder:
        Path(folder).chmod(0o755)
        wire = LossyWire(postgres_url, Path(folder))
        journal = Journal(wire.url)
        before = journal.record(event(1))
        wire.cuts = 1
        assert journal.record(event(2)) == before + 1
        assert journal.record(event(3)) == before + 2
        assert wire.cuts == 0
        assert verify_journal(journal).is_whole
        wire.close()
