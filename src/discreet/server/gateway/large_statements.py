"""Large statements: parsed one at a time, and refused early if their sender has no privilege.

No user gets more than half of the time for parsing them.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace

from sqlglot import exp

from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.authority import TABLE_PRIVILEGES, Authority, Relation, Subject
from discreet.guard.access.decide import any_privilege
from discreet.guard.access.names import KIND_NAMES
from discreet.guard.rewrite.analysis import StatementAnalysis
from discreet.guard.rewrite.joins import relations_named
from discreet.sql.limits import StatementBounds

LARGE = 4_000  # characters, from which a statement waits for its turn
_TOKENS = 2_000  # of a statement whose sender has no privilege on any relation
_VALUES = 2_000
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

    @property
    def length(self) -> int:
        """How many statements wait for their turn."""
        return len(self._waiting)

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


def bounds_for(
    bounds: StatementBounds, authority: Authority, role: str, text: str
) -> StatementBounds:
    """Return the limits of a text: low if its sender has no privilege on any relation."""
    if len(text) < LARGE:
        return bounds
    if any(_has_right(authority, role, one) for one in authority.relations.values()):
        return bounds
    return replace(bounds, tokens=min(bounds.tokens, _TOKENS), values=min(bounds.values, _VALUES))


def require_rights(authority: Authority, subject: Subject, text: str, tree: exp.Expr) -> None:
    """Refuse a large statement that names a relation on which its sender has no privilege.

    Small ones are parsed completely, and fail as in PostgreSQL: a missing relation comes first.

    Raises:
        AccessDenied: 42501, with the reason for the journal.
        StatementFailed: 42P01, one of the relations does not exist.
    """
    if len(text) < LARGE:
        return
    reading = StatementAnalysis(authority, subject, subject.role)
    for relation in relations_named(reading, tree):
        if not _has_right(authority, subject.role, relation):
            raise AccessDenied(
                f"permission denied for {KIND_NAMES[relation.kind]} {relation.name}",
                reason=f"{subject.role} has no right to {relation.name}",
            )


def _has_right(authority: Authority, role: str, relation: Relation) -> bool:
    # A control permits queries of roles without any grant.
    return bool(relation.controls) or any_privilege(authority, role, relation, TABLE_PRIVILEGES)
