"""Large statements are parsed one at a time, and no user gets more than half of that time."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from discreet.errors import StatementFailed

LARGE = 4_000  # characters, from which a statement waits for its turn
_POLL_SECONDS = 0.1  # seconds between checks while waiting


class ParseQueue:
    """The queue for parsing large statements: in one process, several at once would slow each other.

    After a turn, its user's next one waits as long as that took. Among waiting users, the one whose
    last turn is longest ago comes first. Small statements never wait.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._numbers = itertools.count()
        self._waiting: dict[int, str] = {}
        self._ended: dict[str, float] = {}  # by user, when the last turn ended
        self._rests: dict[str, float] = {}  # by user, until when there is no other
        self._is_taken = False

    @contextmanager
    def turn(self, user: str, *, seconds: float, check: Callable[[], None]) -> Generator[None]:
        """Wait for a turn, at most for `seconds`; `check` raises when waiting is pointless."""
        self._wait_for_turn(user, self._clock() + seconds, check)
        started = self._clock()
        try:
            yield
        finally:
            with self._changed:
                now = self._clock()
                self._ended[user], self._rests[user] = now, now + (now - started)
                self._is_taken = False
                self._forget_rested(now)
                self._changed.notify_all()

    def _wait_for_turn(self, user: str, until: float, check: Callable[[], None]) -> None:
        number = next(self._numbers)
        with self._changed:
            self._waiting[number] = user
            try:
                while self._is_taken or self._next_number() != number:
                    check()
                    if self._clock() >= until:
                        raise StatementFailed(
                            "57014", "canceling statement due to statement timeout"
                        )
                    self._changed.wait(_POLL_SECONDS)
            finally:
                del self._waiting[number]
                self._changed.notify_all()
            self._is_taken = True

    def _next_number(self) -> int | None:
        now = self._clock()
        ready = [
            (self._ended.get(user, 0.0), number)
            for number, user in self._waiting.items()
            if self._rests.get(user, 0.0) <= now
        ]
        return min(ready)[1] if ready else None

    def _forget_rested(self, now: float) -> None:
        """Drop users who rested and do not wait."""
        known = set(self._waiting.values())
        for user in [one for one, rest in self._rests.items() if rest <= now and one not in known]:
            del self._rests[user], self._ended[user]
