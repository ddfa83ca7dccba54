"""Group commit: waiting entries become durable together, in one write and one flush to the disk.

A caller that has an entry while nothing is being written writes it at once: no thread is woken for it. Entries
that arrive meanwhile are the next batch, which the journal's own thread writes. It also signs checkpoints.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError, StoreFailed
from discreet.guard.journal import chain
from discreet.stores.plain import StatementConnection
from discreet.stores.store import Store

if TYPE_CHECKING:
    from discreet.guard.journal.checkpoints import Checkpoint
    from discreet.guard.journal.signing import Signer

_MOST = 2000  # entries in one transaction


class _Batch:
    """Texts that become durable together, and their outcome."""

    def __init__(self) -> None:
        self.bodies: list[str] = []
        self.first = 0
        self.error: BaseException | None = None
        self.is_done = False
        self._done: threading.Event | None = None  # only where a caller waits
        self._lock = threading.Lock()

    def finish(self) -> None:
        """Release those who wait."""
        with self._lock:
            self.is_done = True
            done = self._done
        if done is not None:
            done.set()

    def wait(self) -> None:
        """Wait until the outcome is known."""
        with self._lock:
            if self.is_done:
                return
            if self._done is None:
                self._done = threading.Event()
            done = self._done
        done.wait()


class PendingEntry:
    """An entry that was appended, and becomes durable."""

    def __init__(self, writer: Writer, batch: _Batch, place: int) -> None:
        self._writer, self._batch, self._place = writer, batch, place

    def number(self) -> int:
        """Make the entry durable, or wait until it is, and return its number.

        Raises:
            StoreFailed: it is not durable, or that is unknown.
        """
        batch = self._batch
        if not batch.is_done:
            self._writer.complete(batch)
        if batch.error is not None:
            # Each thread that waits raises an exception of its own.
            if isinstance(batch.error, StoreFailed):
                raise StoreFailed(str(batch.error))
            raise batch.error
        return batch.first + self._place


class Writer:
    """Appends texts to the chain; each caller waits until its own is durable."""

    def __init__(self, store: Store, signer: Signer) -> None:
        self._store, self._signer = store, signer
        self._start_over()

    @property
    def waiting(self) -> int:
        """How many entries are not durable yet."""
        with self._changed:
            return sum(
                len(each.bodies)
                for each in (*self._full, self._batch, self._written)
                if not each.is_done
            )

    def append(self, body: str) -> PendingEntry:
        """Append a text; it becomes durable together with others, at the latest when that is waited for.

        Raises:
            StoreFailed: the journal is closed.
        """
        if self._process != os.getpid():
            self._start_over()  # a forked process has no threads
        with self._changed:
            if self._is_closed:
                raise StoreFailed("The journal is closed. Nothing is answered any more.")
            batch = self._batch
            place = len(batch.bodies)
            batch.bodies.append(body)
            if place == _MOST - 1:
                self._full.append(batch)
                self._batch = _Batch()
        return PendingEntry(self, batch, place)

    def complete(self, batch: _Batch) -> None:
        """Write what there is up to a batch; if another thread is writing, wait for it."""
        while not batch.is_done:
            with self._changed:
                own = None if self._is_taken else self._next_batch()
                self._is_taken = self._is_taken or own is not None
            if own is None:
                batch.wait()
            else:
                self._write(own)
                self._hand_over()

    def checkpoint(self) -> Checkpoint | None:
        """Sign everything so far; return the checkpoint, None if there is nothing new or no key."""

        def sign(connection: StatementConnection) -> Checkpoint | None:
            return self._signer.sign(connection, chain.take_ends(connection).last, now=True)

        made = self._store.write(sign)
        if made is not None:
            self._signer.kept(made)
        return made

    def close(self) -> None:
        """Write pending entries, and end the thread."""
        if self._process != os.getpid():
            return
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            while self._is_taken:
                self._changed.wait()
            while (batch := self._next_batch()) is not None:
                self._write(batch)  # that was not waited for
        if self._thread is not None:
            self._thread.join()

    def _start_over(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._full: list[_Batch] = []
        self._batch = self._written = _Batch()
        self._is_taken = False  # a caller writes, or the thread will
        self._is_handed_over = False
        self._is_timed = False  # the thread knows when a checkpoint is due
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def _hand_over(self) -> None:
        """Leave entries that arrived meanwhile to the thread, and the next checkpoint."""
        with self._changed:
            if self._full or self._batch.bodies:
                self._is_handed_over = True
                self._wake_thread()
                return
            self._is_taken = False
            if self._is_closed:
                self._changed.notify_all()
            elif not self._is_timed and self._signer.wait() is not None:
                self._wake_thread()

    def _wake_thread(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
            self._thread.start()
        else:
            self._changed.notify_all()

    def _run(self) -> None:
        while self._wait_for_entries():
            while (batch := self._batch_or_rest()) is not None:
                self._write(batch)

    def _wait_for_entries(self) -> bool:
        """Wait until entries are handed over, and sign what is due; return False at the end."""
        while True:
            with self._changed:
                if self._is_handed_over:
                    self._is_handed_over = False
                    return True
                if self._is_closed:
                    return False
                due = self._signer.wait()
                self._is_timed = due is not None
                if due != 0:
                    self._changed.wait(due)
                    continue
            self._sign()

    def _batch_or_rest(self) -> _Batch | None:
        with self._changed:
            batch = self._next_batch()
            if batch is None:
                self._is_taken = False
                self._changed.notify_all()
            return batch

    def _next_batch(self) -> _Batch | None:
        if self._full:
            batch = self._full.pop(0)
        elif self._batch.bodies:
            batch, self._batch = self._batch, _Batch()
        else:
            return None
        self._written = batch
        return batch

    def _sign(self) -> None:
        try:
            self.checkpoint()
        except DiscreetError:
            self._signer.postpone()  # the next entry meets the same failure and raises it

    def _write(self, batch: _Batch) -> None:
        try:
            batch.first = self._append(batch.bodies)
        except BaseException as error:  # noqa: BLE001 - waiting callers must get any failure
            batch.error = error
        batch.finish()

    def _append(self, bodies: list[str]) -> int:
        """Return the number of the first entry."""
        rows: list[dict[str, Any]] = []
        made: Checkpoint | None = None

        def work(connection: StatementConnection) -> None:
            nonlocal rows, made
            there = chain.take_ends(connection)
            if rows and chain.is_written(connection, rows[-1]):
                return  # by a commit without a response
            now, rows = chain.append_entries(connection, there, bodies)
            made = self._signer.sign(connection, now)

        self._store.append(work)
        if made is not None:
            self._signer.kept(made)
        return rows[0]["sequence"]
