"""Sessions of the console: a cookie stands for a user who signed in, for a limited time."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from discreet.guard.identity.authenticator import ClientInfo

IDLE_SECONDS = 30 * 60.0
LONGEST_SECONDS = 12 * 3600.0
MOST_PER_USER = 10
MOST = 10_000
MOST_KEPT = 50  # results of one session


@dataclass
class ConsoleSession:
    """One user who is signed in.

    `stamp` is that of the login (`RuleAuthenticator.login_stamp`); `csrf` is in every form. `asked`
    and `found` are kept for this session alone: its questions, and what its pages computed.
    """

    client: ClientInfo
    stamp: str
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    asked: list[Any] = field(default_factory=list[Any], repr=False)
    found: dict[Any, Any] = field(default_factory=dict[Any, Any], repr=False)
    started: float = 0.0
    used: float = 0.0

    def keep(self, key: Any, value: Any) -> None:
        """Keep a result of this session; the oldest ones go."""
        self.found[key] = value
        for old in list(self.found)[:-MOST_KEPT]:
            self.found.pop(old, None)


class ConsoleSessions:
    """The open sessions, in memory: a restart of the server ends them.

    Only hashes of identifiers are kept. An identifier is made at sign-in and never taken from a client.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sessions: dict[str, ConsoleSession] = {}
        self._lock = threading.Lock()

    def open(self, client: ClientInfo, stamp: str) -> str:
        """Return the identifier of a new session; the oldest ones of a user who has many end."""
        identifier, now = secrets.token_urlsafe(32), self._clock()
        session = ConsoleSession(client, stamp, started=now, used=now)
        with self._lock:
            self._end_old(now)
            own = [key for key, one in self._sessions.items() if one.client.user == client.user]
            surplus = own[: max(len(own) - MOST_PER_USER + 1, 0)]
            for key in surplus or list(self._sessions)[: len(self._sessions) - MOST + 1]:
                del self._sessions[key]
            self._sessions[_hash_identifier(identifier)] = session
        return identifier

    def find(self, identifier: str) -> ConsoleSession | None:
        """Return the session of an identifier, and count it as used; None if there is none."""
        key, now = _hash_identifier(identifier), self._clock()
        with self._lock:
            session = self._sessions.get(key)
            if session is None:
                return None
            if _is_over(session, now):
                del self._sessions[key]
                return None
            session.used = now
            return session

    def close(self, identifier: str) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(_hash_identifier(identifier), None)

    def _end_old(self, now: float) -> None:
        for key in [key for key, one in self._sessions.items() if _is_over(one, now)]:
            del self._sessions[key]


def _is_over(session: ConsoleSession, now: float) -> bool:
    return now - session.used > IDLE_SECONDS or now - session.started > LONGEST_SECONDS


def _hash_identifier(identifier: str) -> str:
    return hashlib.sha256(identifier.encode("utf-8", "surrogatepass")).hexdigest()
