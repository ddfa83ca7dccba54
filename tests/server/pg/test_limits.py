"""A client that floods, stalls, vanishes or reads slowly harms no one else."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import struct
import threading
import time
from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.keep_cancelling import keep_cancelling
from tests.server.pg.raw import (
    PATIENCE,
    SYNC,
    Raw,
    bind,
    execute,
    failure,
    inside,
    knocking,
    parse,
    query,
    rows,
    startup,
)
from tests.server.pg.served import Served, serving

from discreet.server.pg.limits import ProtocolLimits
from discreet.server.pg.server_state import CancelRegistry

if TYPE_CHECKING:
    from collections.abc import Callable


def wait_for(condition: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.01)
    return condition()


def is_undisturbed(raw: Raw) -> bool:
    """Return whether nothing more has come from the server."""
    patience = raw.socket.gettimeout()
    raw.socket.setblocking(False)
    try:
        raw.socket.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    finally:
        raw.socket.settimeout(patience)
    return False


def hangs_up_on(raw: Raw, data: bytes) -> bool:
    """Send a little, and return whether no one is there any more."""
    time.sleep(0.05)
    try:
        raw.send(data)
    except OSError:
        return True
    return False


def cancel(served: Served, key: bytes) -> None:
    with knocking(served) as other:
        other.send(struct.pack("!ii", 16, 1234 << 16 | 5678) + key)
        assert other.rest() == b""


def test_a_running_statement_is_canceled_with_the_key(served: Served, raw: Raw):
    raw.send(query("sleep"))
    assert wait_for(lambda: "sleep" in served.sessions[-1].ran)
    with keep_cancelling(lambda: cancel(served, raw.key)):
        assert failure(raw.until("Z")) == "57014"
    assert rows(raw.ask(query("select 1"))) == [[b"1"]]


def test_a_wrong_key_cancels_nothing(served: Served, raw: Raw):
    raw.send(query("sleep"))
    assert wait_for(lambda: "sleep" in served.sessions[-1].ran)
    process, secret = raw.key[:4], bytearray(raw.key[4:])
    secret[0] ^= 1
    cancel(served, process + bytes(secret))
    cancel(served, bytes(4) + raw.key[4:])
    raw.socket.settimeout(0.3)
    with pytest.raises(TimeoutError):
        raw.message()
    raw.socket.settimeout(PATIENCE)
    with keep_cancelling(lambda: cancel(served, raw.key)):
        assert failure(raw.until("Z")) == "57014"


def test_canceling_who_is_idle_does_nothing(served: Served, raw: Raw):
    cancel(served, raw.key)
    assert rows(raw.ask(query("select 1"))) == [[b"1"]]


def test_keys_of_connections_differ_and_end_with_them():
    cancels, heard = CancelRegistry(), list[int]()
    first = cancels.register(lambda: heard.append(1))
    second = cancels.register(lambda: heard.append(2))
    assert first[0] != second[0]
    assert not cancels.request(first[0], second[1]) or first[1] == second[1]
    assert cancels.request(*second)
    cancels.unregister(second[0])
    assert not cancels.request(*second)
    assert not cancels.request(second[0], b"\0\0\0\0")
    assert not cancels.request(first[0], b"")
    assert heard == [2]


def test_what_a_client_runs_is_canceled_when_it_is_gone(served: Served):
    with inside(served) as raw:
        session = served.sessions[-1]
        raw.send(query("sleep"))
        assert wait_for(lambda: "sleep" in session.ran)
        time.sleep(0.1)
    assert wait_for(lambda: session.is_closed)


def test_clients_beyond_the_limit_are_refused_with_a_message():
    with (
        serving(limits=ProtocolLimits(max_connections=3)) as served,
        contextlib.ExitStack() as stack,
    ):
        for _ in range(3):
            stack.enter_context(inside(served))
        with knocking(served) as raw:
            error = raw.send(startup(user="trusted")).until("E")[-1].fields
            assert (error["S"], error["C"]) == ("FATAL", "53300")
            assert raw.is_closed()
        stack.close()
        assert wait_for(lambda: len(served.server._connections) == 0)
        with inside(served) as raw:
            assert rows(raw.ask(query("select 1"))) == [[b"1"]]


def test_one_user_cannot_take_all_seats():
    limits = ProtocolLimits(max_connections=10, max_connections_per_user=2)
    with serving(limits=limits) as served, contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(inside(served))
        with knocking(served) as raw:
            assert raw.send(startup(user="trusted")).until("E")[-1].fields["C"] == "53300"
        with psycopg.connect(served.conninfo) as connection:
            assert connection.execute("select 1").fetchone() == (1,)


def test_unauthenticated_connections_of_one_address_displace_each_other_only():
    with serving(limits=ProtocolLimits(max_waiting=20)) as served, contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(knocking(served)) for _ in range(60)]
        with inside(served) as raw:
            assert rows(raw.ask(query("select 1"))) == [[b"1"]]
        assert wait_for(lambda: len(served.server._connections) <= 21)
        assert crowd[0].is_closed()


def test_who_says_nothing_for_too_long_is_sent_away():
    with serving(limits=ProtocolLimits(idle_timeout=0.3)) as served, inside(served) as raw:
        assert raw.until("E")[-1].fields["C"] == "57P05"
        assert raw.is_closed()


def test_who_holds_a_transaction_open_and_says_nothing_is_sent_away():
    with (
        serving(limits=ProtocolLimits(idle_transaction_timeout=0.2)) as served,
        inside(served) as raw,
    ):
        raw.ask(query("create table held (a int)"))
        for start in (query("begin"), parse("insert into held values (1)") + bind() + execute()):
            with inside(served) as other:
                other.send(start)
                assert other.until("E")[-1].fields["C"] == "25P03"
                assert other.is_closed()
        assert rows(raw.ask(query("select count(*) from held"))) == [[b"0"]]


def test_a_message_that_never_ends_is_not_waited_for():
    with serving(limits=ProtocolLimits(message_timeout=0.3)) as served, inside(served) as raw:
        raw.send(query("select 1")[:3])
        assert raw.until("E")[-1].fields["C"] == "08P01"
        assert raw.is_closed()


def test_drops_of_bytes_do_not_hold_a_message_open():
    with serving(limits=ProtocolLimits(message_timeout=0.4)) as served, inside(served) as raw:
        raw.send(b"Q" + struct.pack("!i", 1000))
        assert wait_for(lambda: hangs_up_on(raw, b"x"))


def test_memory_is_not_taken_for_a_message_that_is_only_announced(served: Served):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            raw = stack.enter_context(inside(served))
            raw.send(b"Q" + struct.pack("!i", ProtocolLimits().max_message) + b"x" * 1000)
        time.sleep(0.2)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000


def test_a_slow_reader_holds_no_worker_and_little_memory():
    with (
        serving(limits=ProtocolLimits(max_connections=4)) as served,
        contextlib.ExitStack() as stack,
    ):
        slow = [stack.enter_context(inside(served)) for _ in range(3)]
        for raw in slow:
            raw.send(query("select repeat('x', 1000) from range(20000)"))
        time.sleep(0.5)
        with inside(served) as quick:
            assert rows(quick.ask(query("select 1"))) == [[b"1"]]
        buffered = [
            connection._wire.transport.get_write_buffer_size()
            for connection in served.server._connections
        ]
        assert max(buffered) < 1_000_000
        assert sum(1 for each in slow[0].until("Z") if each.kind == "D") == 20_000


def test_who_does_not_read_at_all_is_sent_away(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("discreet.server.pg.wire.LINGER", 0.2)
    with serving(limits=ProtocolLimits(write_timeout=0.3)) as served, inside(served) as raw:
        session = served.sessions[-1]
        raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        (connection, *_) = served.server._connections
        raw.send(query("select repeat('x', 1000) from range(50000)"))
        assert wait_for(lambda: session.is_closed)
        assert wait_for(lambda: connection._wire.transport.get_write_buffer_size() == 0)


def test_unread_results_stop_the_reading_of_requests():
    """A client that sends and never reads cannot fill the server's memory with messages."""
    with serving() as served, inside(served) as raw:
        raw.socket.settimeout(0.5)
        asked = query("select repeat('x', 10000)")
        sent = 0
        with contextlib.suppress(TimeoutError):
            while sent < 200_000_000:
                sent += raw.socket.send(asked * 1000)
        assert sent < 50_000_000
        (connection, *_) = served.server._connections
        assert len(connection._wire._buffer) < 2_000_000


def test_statements_of_others_do_not_wait_for_a_long_one():
    with (
        serving(limits=ProtocolLimits(max_connections=3)) as served,
        contextlib.ExitStack() as stack,
    ):
        busy = [stack.enter_context(inside(served)) for _ in range(2)]
        for raw in busy:
            raw.send(query("sleep"))
        with inside(served) as quick:
            assert rows(quick.ask(query("select 1"))) == [[b"1"]]
        for raw in busy:
            with keep_cancelling(lambda raw=raw: cancel(served, raw.key)):
                assert failure(raw.until("Z")) == "57014"


def test_many_clients_at_once_each_get_their_own_answer():
    with serving(limits=ProtocolLimits(max_connections=50, max_connections_per_user=50)) as served:
        found: list[bytes | None] = []

        def ask(number: int) -> None:
            with inside(served) as raw:
                for _ in range(10):
                    message = parse("select $1::int") + bind([str(number).encode()]) + execute()
                    ((cell,),) = rows(raw.ask(message, SYNC))
                    assert cell == str(number).encode()
                found.append(cell)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(map(int, filter(None, found))) == list(range(30))


def test_a_stopping_server_notifies_idle_clients_and_ends_what_runs():
    with serving() as served, inside(served) as idle, inside(served) as busy:
        sessions = served.sessions
        busy.send(query("sleep"))
        assert wait_for(lambda: "sleep" in sessions[-1].ran)
        future = asyncio.run_coroutine_threadsafe(served.server.stop(0.2), served.loop)
        assert idle.until("E")[-1].fields["C"] == "57P01"
        future.result(PATIENCE)
        assert all(session.is_closed for session in sessions)
        with pytest.raises(OSError):  # noqa: PT011 - refused
            Raw(served)


@pytest.mark.parametrize("user", ["trusted", "ann"])  # who is let in at once, and who is asked
def test_each_of_500_logins_at_once_succeeds_or_gets_a_reason(user: str):
    limits = ProtocolLimits(max_connections=40, max_connections_per_user=40, max_waiting=60)
    with serving(limits=limits) as served, contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(knocking(served)) for _ in range(500)]
        for raw in crowd:
            with contextlib.suppress(ConnectionError):  # some are refused before they authenticate
                raw.send(startup(user=user))
        last = [raw.until("E", "Z", "R")[-1] for raw in crowd]
        if user == "trusted":
            last = [
                each.until("E", "Z")[-1] if one.kind == "R" else one
                for each, one in zip(crowd, last, strict=True)
            ]
        output = [one.fields["C"] for one in last if one.kind == "E"]
        assert set(output) <= {"53300"}
        entered = [each for each, one in zip(crowd, last, strict=True) if one.kind != "E"]
        assert entered
        # Who was asked for a password may have had to make way for a later one since.
        assert wait_for(lambda: sum(map(is_undisturbed, entered)) <= 100)
        displaced = [each for each in entered if user == "ann" and not is_undisturbed(each)]
        assert {each.until("E")[-1].fields["C"] for each in displaced} <= {"53300"}
