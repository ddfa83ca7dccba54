"""Transaction state and interruption, shared by the connections to all engines."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from discreet.engines.databases.failures import statement_failure


class TransactionState:
    """The transaction state of a `Connection`; each engine implements the transitions."""

    def __init__(self) -> None:
        self._is_open = self._has_failed = False
        self._marks: list[tuple[str, int]] = []  # names, and how much was written before
        self._running = threading.Lock()  # guards the two below
        self._is_running = self._is_stopped = False

    @property
    def in_transaction(self) -> bool:
        """Whether `begin` was called and neither `commit` nor `rollback` since."""
        return self._is_open

    def fail(self) -> None:
        """Mark the transaction as failed: only a rollback is possible."""
        self._has_failed = self._is_open

    def _end_transaction(self) -> None:
        self._is_open = self._has_failed = False
        self._marks.clear()

    @contextmanager
    def _allow_interrupt(self) -> Generator[None]:
        """Make the statement inside interruptible by `_stop`; its failure fails the transaction."""
        self._require_usable()
        with self._running:
            self._is_running, self._is_stopped = True, False
        try:
            yield
            self._require_going_on()
        except BaseException:
            self.fail()
            raise
        finally:
            with self._running:
                self._is_running = False

    def _stop(self, interrupt: Callable[[], None]) -> None:
        """Interrupt only the running statement: the lock keeps the next statement waiting."""
        with self._running:
            if self._is_running:
                self._is_stopped = True
                interrupt()

    def _require_going_on(self) -> None:
        if self._is_stopped:  # the engine finished, but the cancel request still counts
            raise statement_failure("57014")

    def _require_closed(self) -> None:
        if self._is_open:
            raise statement_failure("25001", "there is already a transaction in progress")

    def _require_transaction(self) -> None:
        if not self._is_open:
            raise statement_failure("25P01", "there is no transaction in progress")

    def _require_usable(self) -> None:
        if self._has_failed:
            raise statement_failure("25P02")

    def _find(self, name: str) -> int:
        for place in reversed(range(len(self._marks))):
            if self._marks[place][0] == name:
                return place
        self.fail()
        raise statement_failure("3B001", f'savepoint "{name}" does not exist')
