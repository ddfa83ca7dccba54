"""The journal: an append-only record that cannot be changed unnoticed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, func, select, update

from discreet.errors import JournalBroken
from discreet.guard.journal import chain
from discreet.guard.journal.audit_policy import AuditPolicy
from discreet.guard.journal.canonical import canonical
from discreet.guard.journal.checkpoints import is_signed
from discreet.guard.journal.merkle import MerkleTree, leaf_hash
from discreet.guard.journal.schema import SCHEMA, entry, head
from discreet.guard.journal.search import read_event
from discreet.guard.journal.signing import Signer, count_checkpoints, stored_checkpoints
from discreet.guard.journal.writer import PendingEntry, Writer
from discreet.stores import AuthenticatedStore, StoreHead

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

    from discreet.guard.journal.checkpoints import Checkpoint
    from discreet.guard.journal.event import Event
    from discreet.guard.journal.search import EntryFilter, JournalEntry, LatestEntries

_COUNT = select(func.count()).select_from(entry)


class Journal(AuthenticatedStore):
    """An append-only record of decisions, in an SQLite file or behind a `postgresql://` URL.

    Guarantee: an event is durable when `record` returns, and its hash covers every entry before it.
    Changes, removals and insertions without the signing key are detected by `verify`; those with the
    key are detected by any checkpoint that was kept elsewhere.

    Args:
        place: Its location; `:memory:` ends with this process.
        signing_key: Signs checkpoints. Without it there are none: for reading, and for tests.
        origin: The journal's name, which is signed, too.
        policy: How much is kept of each statement.
        every: After how many entries a checkpoint is signed.
        seconds: After how many seconds, if there were entries.
        witness: Files that get a copy of each checkpoint; best on a disk of another administrator.
        clock: Returns the time of checkpoints.

    Raises:
        StoreFailed: the store cannot be used; nothing may be answered.
    """

    def __init__(
        self,
        place: str | Path,
        *,
        signing_key: Ed25519PrivateKey | None = None,
        origin: str = "discreet",
        policy: AuditPolicy | None = None,
        every: int = 1000,
        seconds: float = 60.0,
        witness: Sequence[Path] = (),
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        super().__init__(place, SCHEMA)
        self._policy = policy or AuditPolicy()
        self._signer = Signer(
            signing_key, origin=origin, every=every, seconds=seconds, witness=witness, clock=clock
        )
        self._writer = Writer(self._store, self._signer)

    def witness_heads(self, heads: Callable[[], Mapping[str, str]]) -> None:
        """Include the heads of the other stores in checkpoints."""
        self._signer.heads = heads

    @property
    def unwitnessed(self) -> int:
        """How many copies of checkpoints could not be written, for health checks."""
        return self._signer.unwitnessed

    def newest_head(self) -> StoreHead:
        """Return the journal's identity with its size and the hash of its last entry."""
        last = self._store.read(chain.ends).last
        return StoreHead(self.identity, last.size, last.hash)

    def includes(self, head: StoreHead) -> bool:
        """Return whether the journal has this entry, or had it before it was archived."""

        def work(connection: Connection) -> bool:
            first = chain.ends(connection).first
            if head.sequence <= first.size:
                return head.sequence < first.size or head.hash == first.hash
            return chain.is_written(connection, {"sequence": head.sequence, "hash": head.hash})

        return head.identity == self.identity and self._store.read(work)

    def require_end(self, *, key: Ed25519PublicKey | None = None) -> None:
        """Refuse a journal whose entries since its last checkpoint do not match its end.

        With `key`, only checkpoints that it signed count.

        Raises:
            JournalBroken: some are missing, or were changed.
        """
        with self.snapshot() as connection:
            _require_end(connection, key)

    def record(self, event: Event) -> int:
        """Append `event` and return its number; it is durable then.

        Raises:
            StoreFailed: it could not be written. Nothing may be answered.
        """
        return self.append(event).number()

    def append(self, event: Event) -> PendingEntry:
        """Append `event`, together with those of others; nothing may be answered before it is durable."""
        kept = self._policy.apply(event, self._signer.fingerprint)
        return self._writer.append(canonical(kept.to_plain()))

    @property
    def waiting(self) -> int:
        """How many entries are appended and not durable yet."""
        return self._writer.waiting

    def fingerprint(self, value: object) -> str:
        """Return a hash of a parameter: equal for equal values, and useless without the key."""
        return self._signer.fingerprint(f"{type(value).__name__} {value}")

    def checkpoint(self) -> Checkpoint | None:
        """Sign everything so far; return the checkpoint, None if there is nothing new or no key."""
        return self._writer.checkpoint()

    def checkpoints(self) -> list[Checkpoint]:
        """Return the journal's own checkpoints, the smallest first."""
        return self._store.read(stored_checkpoints)

    def count_checkpoints(self) -> int:
        """Return how many checkpoints the journal has; none is ever removed."""
        return self._store.read(count_checkpoints)

    def size(self) -> int:
        """Return how many entries were ever written."""
        return self._store.read(lambda connection: chain.ends(connection).last.size)

    def entries(self, wanted: EntryFilter | None = None) -> Iterator[JournalEntry]:
        """Return the matching entries stored here, in order."""
        from discreet.guard.journal.search import EntryFilter, find_entries

        with self._store.reading() as connection:
            yield from find_entries(connection, wanted or EntryFilter())

    def latest(
        self,
        wanted: EntryFilter | None = None,
        *,
        most: int = 100,
        before: int | None = None,
        scanned: int = 100_000,
    ) -> LatestEntries:
        """Return the newest matching entries before a number; at most `scanned` entries are read."""
        from discreet.guard.journal.search import EntryFilter, find_latest

        with self._store.reading() as connection:
            return find_latest(
                connection, wanted or EntryFilter(), most=most, before=before, scanned=scanned
            )

    def newest_heads(self) -> Mapping[str, str]:
        """Return the heads of control store and ledger in the newest entry that has them."""
        newest = select(entry.c.sequence, entry.c.body).where(entry.c.body.contains('"heads":'))
        newest = newest.order_by(entry.c.sequence.desc())
        with self._store.reading() as connection:
            for sequence, body in connection.execution_options(yield_per=50).execute(newest):
                if found := read_event(body, sequence).heads:
                    return found
        return {}

    def tree(self) -> MerkleTree:
        """Return the tree of all entries, for proofs of inclusion and consistency."""
        with self.snapshot() as connection:
            first = chain.ends(connection).first
            rows = chain.read_entries(connection, after=first.size)
            leaves = [leaf_hash(body.encode()) for _, body, _ in rows]
        return MerkleTree(leaves, first.frontier)

    def snapshot(self) -> AbstractContextManager[Connection]:
        """Yield a connection whose statements all see one snapshot."""
        return self._store.snapshot()

    def check(self) -> None:
        """Refuse damage that the database itself can detect."""
        self._store.check()

    def prune(self, until: chain.ChainState) -> None:
        """Remove the entries up to `until`, which were archived and verified."""
        self._store.write(lambda connection: _prune_entries(connection, until))

    def close(self) -> None:
        """Write pending entries, sign them, and close all connections."""
        self._writer.close()
        if self._signer.wait() is not None:
            self._writer.checkpoint()
        super().close()

    def _has_no_content(self, connection: Connection) -> bool:
        return not chain.ends(connection).last.size

    def _seal_content(self, connection: Connection) -> None:
        chain.seal_ends(connection, chain.ends(connection))

    def _verify_content(self, connection: Connection) -> None:
        chain.take_ends(connection)


def journal_broken(what: str) -> JournalBroken:
    """Return the error of a journal that does not match what was archived or signed."""
    return JournalBroken(
        f"The journal is not what was written: {what}. Keep it, and find out who changed it."
    )


def _require_end(connection: Connection, key: Ed25519PublicKey | None) -> None:
    """Refuse a journal whose last entries do not match its end.

    Only entries after the last checkpoint are checked: `verify_journal` checks all.

    Raises:
        JournalBroken: some are missing, or were changed.
    """
    ends = chain.ends(connection)
    newest = next(
        (
            found
            for found in reversed(stored_checkpoints(connection))
            if found.size >= ends.first.size and (key is None or is_signed(found, key))
        ),
        ends.first,
    )
    size, digest = newest.size, newest.hash
    for sequence, body, written in chain.read_entries(connection, after=size):
        size, digest = size + 1, chain.chain_hash(digest, body.encode())
        if (sequence, written) != (size, digest):
            raise _end_broken(f"entry {size:,} is missing or was changed")
    kept = connection.scalar(_COUNT)
    if (size, digest) != (ends.last.size, ends.last.hash) or kept != size - ends.first.size:
        raise _end_broken("entries are missing")


def _end_broken(what: str) -> JournalBroken:
    return JournalBroken(
        f"The journal is not what was written: {what}. Nothing is answered until it is known "
        "who changed it. See: discreet journal verify"
    )


def _prune_entries(connection: Connection, until: chain.ChainState) -> None:
    """Remove entries up to `until`, after which the journal then starts.

    Raises:
        JournalBroken: the journal had other entries there.
    """
    there = chain.take_ends(connection)
    if until.size <= there.first.size:
        return
    if not chain.is_written(connection, {"sequence": until.size, "hash": until.hash}):
        raise journal_broken(
            f"its archive is that of another journal, or entry {until.size:,} was changed"
        )
    connection.execute(delete(entry).where(entry.c.sequence <= until.size))
    connection.execute(
        update(head).values(
            first_sequence=until.size,
            first_hash=until.hash,
            first_peaks=chain.written_peaks(until.frontier),
        )
    )
    chain.seal_ends(connection, chain.ChainEnds(until, there.last))
