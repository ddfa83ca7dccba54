"""Random bytes and mutated messages: the server stays up, and others do not notice.

`DISCREET_FUZZ=100000` plays longer.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import select
from typing import TYPE_CHECKING

from tests.server.pg.raw import (
    FLUSH,
    GSSENC_REQUEST,
    SSL_REQUEST,
    SYNC,
    TERMINATE,
    Raw,
    bind,
    close,
    describe,
    execute,
    inside,
    packet,
    parse,
    query,
    rows,
    startup,
    text,
)
from tests.server.pg.served import serving

from discreet.server.pg.limits import ProtocolLimits

if TYPE_CHECKING:
    import pytest
    from tests.server.pg.served import Served

CASES = int(os.environ.get("DISCREET_FUZZ", "3000"))
SCRIPTS: list[list[bytes]] = [
    [query("select 1; select 'two', null")],
    [query("begin"), query("select 1"), query("commit")],
    [parse("select $1::int, $2::text", "s"), describe("S", "s"), SYNC],
    [bind([b"1", b"x"], statement="s", portal="p", results=[1, 0]), execute("p", 1), SYNC],
    [parse("select $1::date"), bind([b"\0\0\1\1"], formats=[1]), describe("P"), execute(), SYNC],
    [parse("select $1::numeric"), bind([b"\0\1\0\0\0\0\0\0\0\7"], formats=[1]), execute(), SYNC],
    [parse("select * from range(9)"), bind(), execute(most=2), FLUSH, execute(), SYNC],
    [parse("select $1", oids=[1007]), bind([b"{1,2}"]), execute(), SYNC],
    [close("S", "s"), close("P", "p"), SYNC],
    [query("copy (select 1) to stdout (format binary)")],
    [packet(b"d", b"x"), packet(b"c"), packet(b"f", text("x")), packet(b"p", text("x"))],
    [packet(b"F", b"\0" * 12), TERMINATE],
]
STARTS = [
    SSL_REQUEST,
    GSSENC_REQUEST,
    startup(user="trusted", database="x", options="-c a=b"),
    startup(user="alice"),
    startup(3 << 16 | 7, user="trusted"),
    b"\0\0\0\x10\x04\xd2\x16\x2e" + b"12345678",
]


def mutated(chance: random.Random, messages: list[bytes]) -> bytes:
    """Return messages with some bytes, lengths or places changed."""
    messages = list(messages)
    if chance.random() < 0.3:
        chance.shuffle(messages)
    data = bytearray(b"".join(messages))
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(5):
            case 0:
                data[at:at] = chance.randbytes(chance.randint(1, 8))
            case 1:
                del data[at : at + chance.randint(1, 8)]
            case 2:
                data[at : at + 4] = chance.choice([b"\0\0\0\0", b"\xff" * 4, b"\x7f\xff\xff\xff"])
            case 3 if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case _:
                data += chance.choice(chance.choice(SCRIPTS))
        data = data or bytearray(b"\0")
    return bytes(data)


def play(raw: Raw, data: bytes) -> bool:
    """Send, take what comes back, and return whether the connection still stands."""
    try:
        raw.socket.sendall(data)
        while select.select([raw.socket], [], [], 0)[0]:
            if not raw.socket.recv(65536):
                return False
    except OSError:
        return False
    return True


def connect(served: Served, chance: random.Random) -> Raw:
    raw = Raw(served)
    if chance.random() < 0.25:
        play(raw, mutated(chance, [chance.choice(STARTS)]))
        if chance.random() < 0.5:
            play(raw, chance.randbytes(chance.randint(1, 2000)))
    else:
        raw.login()
    raw.socket.settimeout(2)
    return raw


def test_nothing_that_is_sent_brings_the_server_down(caplog: pytest.LogCaptureFixture):
    chance = random.Random(6)
    limits = ProtocolLimits(message_timeout=1, max_waiting=50)
    with serving(limits=limits) as served, inside(served) as witness:
        raw: Raw | None = None
        for case in range(CASES):
            if raw is None:
                raw = connect(served, chance)
            if not play(raw, mutated(chance, chance.choice(SCRIPTS))) or chance.random() < 0.1:
                raw.socket.close()
                raw = None
            if case % 100 == 0:
                found = rows(witness.ask(query(f"select {case}")))
                assert found == [[str(case).encode()]]
        with contextlib.suppress(AttributeError):
            raw.socket.close()
        with inside(served) as another:
            assert rows(another.ask(query("select 1"))) == [[b"1"]]
    ours = [each for each in caplog.records if each.levelno >= logging.ERROR]
    texts = [each.getMessage() for each in ours]
    assert [text for text in texts if "discreet/server/pg" in text or "asyncio" in text] == []
