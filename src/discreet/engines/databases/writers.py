"""Who writes when: one writer at a time per database, and what each commit changed.

DuckDB gives every transaction a snapshot, but lets two of them write on the ground of what the other
is changing (write skew). Here a transaction waits for its turn before its first write. If what it has
read was changed since its snapshot, it fails; otherwise its snapshot is renewed, and nobody else
commits until it ends. So writers run one after the other, and each saw what the one before left.
"""

from __future__ import annotations

import secrets
import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

from discreet.engines.databases.failures import failed

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from discreet.engines.databases.texts import Names


class Turn:
    """A queue for the right to write, first come first served, held by whoever entered it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()
        self._holder: object | None = None

    def enter(self, who: object, *, timeout: float, is_stopped: Callable[[], bool]) -> None:
        """Wait until it is `who`'s turn.

        Raises:
            StatementFailed: 55P03 when that took longer than `timeout` seconds, 57014 when stopped.
        """
        with self._changed:
            if self._holder is who:
                return
            self._waiting.append(who)
            try:
                came = self._changed.wait_for(
                    lambda: is_stopped() or self._is_next(who), timeout=timeout
                )
                if is_stopped():
                    raise failed("57014")
                if not came:
                    raise failed("55P03")
                self._holder = who
            finally:
                self._waiting.remove(who)
                self._changed.notify_all()

    def leave(self, who: object) -> None:
        """Let the next one in."""
        with self._changed:
            if self._holder is who:
                self._holder = None
                self._changed.notify_all()

    def wake(self) -> None:
        """Let those who wait see whether they were stopped."""
        with self._changed:
            self._changed.notify_all()

    def _is_next(self, who: object) -> bool:
        return self._holder is None and self._waiting[0] is who


class Commits:
    """A clock that ticks with every commit, and when each table was last written."""

    def __init__(self) -> None:
        self._boot = secrets.token_hex(8)
        # Reentrant: whoever commits also reads the clock.
        self._order = threading.RLock()
        self._now = 0
        self._all = 0
        self._tables: dict[Names, int] = {}

    @contextmanager
    def moment(self) -> Generator[int]:
        """Hold the clock, so that no commit comes between a snapshot and its time."""
        with self._order:
            yield self._now

    @contextmanager
    def commit(self, tables: Iterable[Names] | None) -> Generator[None]:
        """Hold the clock while a commit happens that wrote `tables`; None is: any."""
        with self._order:
            self._now += 1
            if tables is None:
                self._all = self._now
            else:
                self._tables |= dict.fromkeys(tables, self._now)
            yield

    def is_changed(self, tables: Iterable[Names], *, since: int) -> bool:
        """Return whether one of `tables` was written after a moment."""
        with self._order:
            return any(self._written(table) > since for table in tables)

    def version(self, table: Names) -> str:
        """Return a text that changes whenever a commit wrote `table`, and with every start."""
        with self._order:
            return f"{self._boot}-{self._written(table)}"

    def _written(self, table: Names) -> int:
        return max(self._all, self._tables.get(table, 0))
