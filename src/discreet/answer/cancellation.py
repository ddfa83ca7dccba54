"""Stopping a question from another thread, while it waits for its turn or an engine works on it."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from discreet.errors import StatementFailed

_RETRY_SECONDS = 0.1  # seconds after which an engine that goes on is stopped again


class CancelToken:
    """A signal that stops a question. The budget reserved for the question stays reserved.

    >>> stop = CancelToken()
    >>> stop.check()
    >>> stop.set()
    >>> stop.is_set
    True
    """

    def __init__(self) -> None:
        self.is_set = False
        self._engines: tuple[Any, ...] = ()
        self._lock = threading.Lock()

    def set(self) -> None:
        """Stop the question; returns at once."""
        with self._lock:
            self.is_set = True
            is_working = bool(self._engines)
        if is_working:
            threading.Thread(target=self._interrupt_engines, name="stop", daemon=True).start()

    def check(self) -> None:
        """Refuse to go on after `set`.

        Raises:
            StatementFailed: 57014.
        """
        if self.is_set:
            raise StatementFailed("57014", "canceling statement due to user request")

    @contextmanager
    def turn(self, lock: threading.Lock, *engines: Any) -> Generator[None]:
        """Hold `lock`, and let `set` interrupt what `engines` do inside."""
        while not lock.acquire(timeout=_RETRY_SECONDS):
            self.check()
        try:
            with self._lock:
                self._engines = engines
            self.check()
            yield
        finally:
            with self._lock:
                self._engines = ()
            lock.release()

    def _interrupt_engines(self) -> None:
        # Again and again: between two queries there is nothing to interrupt.
        pause = threading.Event()
        while True:
            with self._lock:
                if not self._engines:
                    return
                for engine in self._engines:
                    engine.interrupt()
            pause.wait(_RETRY_SECONDS)
