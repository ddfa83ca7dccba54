"""One thread writes for all: waiting entries are made durable together."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from discreet.errors import DiscreetError, StoreFailed
from discreet.guard.journal import chain
from discreet.stores.store import Store

if TYPE_CHECKING:
    from discreet.guard.journal.checkpoints import Checkpoint
    from discreet.guard.journal.signing import Signer

_MOST = 2000  # entries in one transaction


class _Batch:
    """Texts that become durable together, and their outcome."""

    def __init__(self) -> None:
        self.bodies: list[str] = []
        self.done = threading.Event()
        self.first = 0
        self.error: BaseException | None = None

    def number(self, place: int) -> int:
        """Wait, and return the number of the entry at `place`."""
        self.done.wait()
        if self.error is not None:
            # Each thread that waits raises an exception of its own.
            if isinstance(self.error, StoreFailed):
                raise StoreFailed(str(self.error))
            raise self.error
        return self.first + place


class Writer:
    """Appends texts to the chain; each caller waits until its own is durable."""

    def __init__(self, store: Store, signer: Signer) -> None:
        self._store, self._signer = store, signer
        self._start_over()

    def append(self, body: str) -> int:
        """Return the number of the entry once it is durable.

        Raises:
            StoreFailed: it is not durable, or that is unknown.
        """
        if self._process != os.getpid():
            self._start_over()  # a forked process has no threads
        with self._changed:
            if self._is_closed:
                raise StoreFailed("The journal is closed. Nothing is answered any more.")
            batch = self._batch
            place = len(batch.bodies)
            batch.bodies.append(body)
            self._ensure_thread()
            if place == 0:
                self._changed.notify()
            if place == _MOST - 1:
                self._full.append(batch)
                self._batch = _Batch()
        return batch.number(place)

    def checkpoint(self) -> Checkpoint | None:
        """Sign everything so far; return the checkpoint, None if there is nothing new or no key."""

        def sign(connection: Connection) -> Checkpoint | None:
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
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _start_over(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._full: list[_Batch] = []
        self._batch = _Batch()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def _ensure_thread(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._has_work() and not self._is_closed:
                    self._changed.wait(self._signer.wait())
                batch = self._next_batch()
                if batch is None and self._is_closed:
                    return
            if batch is not None:
                self._write(batch)
            elif self._signer.wait() == 0:
                self._sign()

    def _has_work(self) -> bool:
        return bool(self._full or self._batch.bodies)

    def _next_batch(self) -> _Batch | None:
        if self._full:
            return self._full.pop(0)
        if not self._batch.bodies:
            return None
        batch, self._batch = self._batch, _Batch()
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
        batch.done.set()

    def _append(self, bodies: list[str]) -> int:
        """Return the number of the first entry."""
        rows: list[dict[str, Any]] = []
        made: Checkpoint | None = None

        def work(connection: Connection) -> None:
            nonlocal rows, made
            there = chain.take_ends(connection)
            if rows and chain.is_written(connection, rows[-1]):
                return  # by a commit without a response
            now, rows = chain.append_entries(connection, there, bodies)
            made = self._signer.sign(connection, now)

        self._store.write(work)
        if made is not None:
            self._signer.kept(made)
        return rows[0]["sequence"]
