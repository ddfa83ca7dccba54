"""Sessions end by themselves, one by one, and are found by what only the browser has."""

from __future__ import annotations

from discreet.guard.identity.authenticator import ClientInfo
from discreet.server.console.sessions import (
    IDLE_SECONDS,
    LONGEST_SECONDS,
    MOST_KEPT,
    MOST_PER_USER,
    ConsoleSession,
    ConsoleSessions,
)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def open_sessions() -> tuple[Clock, ConsoleSessions]:
    clock = Clock()
    return clock, ConsoleSessions(clock)


CLIENT = ClientInfo("clerk", "127.0.0.1")


def test_a_session_is_found_by_its_identifier_only():
    _, sessions = open_sessions()
    identifier = sessions.open(CLIENT, "stamp")
    assert sessions.find(identifier) is not None
    assert sessions.find(f"{identifier}x") is None
    assert sessions.find("") is None
    assert identifier not in repr(vars(sessions))


def test_a_session_ends_when_it_is_not_used():
    clock, sessions = open_sessions()
    identifier = sessions.open(CLIENT, "stamp")
    clock.now += IDLE_SECONDS + 1
    assert sessions.find(identifier) is None


def test_a_session_ends_after_a_day_of_work_however_busy_it_is():
    clock, sessions = open_sessions()
    identifier = sessions.open(CLIENT, "stamp")
    while clock.now < 1000 + LONGEST_SECONDS:
        assert sessions.find(identifier) is not None
        clock.now += IDLE_SECONDS / 2
    clock.now += 1
    assert sessions.find(identifier) is None


def test_a_user_has_only_so_many_sessions_and_takes_none_from_others():
    _, sessions = open_sessions()
    other = sessions.open(ClientInfo("nurse", "127.0.0.1"), "stamp")
    own = [sessions.open(CLIENT, "stamp") for _ in range(MOST_PER_USER + 2)]
    assert [sessions.find(one) is None for one in own[:3]] == [True, True, False]
    assert sessions.find(other) is not None


def test_a_closed_session_is_gone():
    _, sessions = open_sessions()
    identifier = sessions.open(CLIENT, "stamp")
    sessions.close(identifier)
    assert sessions.find(identifier) is None


def test_a_session_keeps_only_so_many_results():
    session = ConsoleSession(CLIENT, "stamp")
    for number in range(MOST_KEPT + 5):
        session.keep(number, "result")
    assert list(session.found) == list(range(5, MOST_KEPT + 5))
