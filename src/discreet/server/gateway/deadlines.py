"""A thread that enforces time limits."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

_RETRY_SECONDS = 0.5  # seconds between repeated interrupts

_log = logging.getLogger("discreet.server")


class Deadlines:
    """Calls an action, repeatedly, when the code inside `limit` exceeds its time, until it ends.

    Once is not enough: an engine between two queries has nothing to interrupt, and runs the next one.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int]] = []
        self._actions: dict[int, Callable[[], None]] = {}
        self._acting: int | None = None  # the limit whose action runs now
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._is_open = True
        self._thread = threading.Thread(target=self._run_actions, name="deadlines", daemon=True)
        self._thread.start()

    @contextmanager
    def limit(self, seconds: float | None, action: Callable[[], None]) -> Generator[None]:
        """Call `action`, from another thread, unless the code inside ends within `seconds`."""
        if seconds is None:
            yield
            return
        number = next(self._numbers)
        with self._changed:
            self._actions[number] = action
            is_next = not self._waiting or self._waiting[0][0] > time.monotonic() + seconds
            heapq.heappush(self._waiting, (time.monotonic() + seconds, number))
            if is_next:
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._actions.pop(number, None)
                # Otherwise it could hit the next statement.
                self._changed.wait_for(lambda: self._acting != number)

    def close(self) -> None:
        """Stop watching."""
        with self._changed:
            self._is_open = False
            self._changed.notify_all()
        self._thread.join(timeout=5)

    def _run_actions(self) -> None:
        while (action := self._next_action()) is not None:
            _run_action(action)  # without the lock: an interrupt may take seconds
            with self._changed:
                self._acting = None
                self._changed.notify_all()

    def _next_action(self) -> Callable[[], None] | None:
        """Wait for the next action that is due; None at the end."""
        with self._changed:
            while self._is_open:
                now = time.monotonic()
                while self._waiting and self._is_over(*self._waiting[0], now):
                    number = heapq.heappop(self._waiting)[1]
                    action = self._actions.get(number)
                    if action is not None:
                        heapq.heappush(self._waiting, (now + _RETRY_SECONDS, number))
                        self._acting = number
                        return action
                self._changed.wait(self._waiting[0][0] - now if self._waiting else None)
        return None

    def _is_over(self, until: float, number: int, now: float) -> bool:
        return until <= now or number not in self._actions


def _run_action(action: Callable[[], None]) -> None:
    """Call it; a failure must not stop the thread."""
    try:
        action()
    except Exception as error:  # noqa: BLE001 -- its message may quote data
        _log.error("a statement could not be ended: %s", type(error).__name__)
