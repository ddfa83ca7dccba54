"""Interruption of a running statement: on request, when it is late, or for lack of memory."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from discreet.engines.databases.database import DatabaseConnection
from discreet.errors import StatementFailed
from discreet.serve.gateway.ciphers import SessionCiphers


class StatementInterrupt:
    """Interrupts the statement of one session, from other threads."""

    def __init__(self, connection: DatabaseConnection, ciphers: SessionCiphers) -> None:
        self._connection, self._ciphers = connection, ciphers
        self.is_canceled = False
        self._is_late = self._is_starved = self._is_running = False
        self._stop: Callable[[], None] | None = None

    def cancel(self) -> None:
        """Cancel the running statement."""
        self.is_canceled = True
        self._connection.interrupt()
        self._ciphers.interrupt()
        stop = self._stop
        if stop is not None:
            stop()

    def end_late(self) -> None:
        """Interrupt a statement that exceeded its time limit."""
        self._is_late = True
        self.cancel()

    def abort_for_memory(self) -> None:
        """Interrupt the running statement, if any, since there is no memory left for it."""
        if self._is_running:
            self._is_starved = True
            self.cancel()

    def require_not_canceled(self) -> None:
        """Refuse to continue a statement that was canceled."""
        if self.is_canceled:
            raise StatementFailed("57014", "canceling statement due to user request")

    @contextmanager
    def stoppable(self, stop: Callable[[], None]) -> Generator[None]:
        """Make `cancel` also interrupt the code inside, which uses another connection."""
        self._stop = stop
        try:
            yield
        finally:
            self._stop = None

    @contextmanager
    def explain_interrupts(self) -> Generator[None]:
        """Run a statement inside; if it is interrupted, it fails with the reason."""
        self.is_canceled = self._is_late = self._is_starved = False
        self._is_running = True
        try:
            yield
        except StatementFailed as error:
            if self._is_starved and error.sqlstate == "57014":
                raise StatementFailed(
                    "53200", "out of memory", hint="Ask for less at once."
                ) from None
            if self._is_late and error.sqlstate == "57014":
                raise StatementFailed(
                    "57014", "canceling statement due to statement timeout"
                ) from None
            raise
        finally:
            self._is_running = False
