"""A client of bare messages, for what no decent client would send."""

from __future__ import annotations

import contextlib
import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.server.pg.served import Served

SSL_REQUEST = struct.pack("!ii", 8, 1234 << 16 | 5679)
GSSENC_REQUEST = struct.pack("!ii", 8, 1234 << 16 | 5680)
SYNC = b"S\0\0\0\4"
FLUSH = b"H\0\0\0\4"
TERMINATE = b"X\0\0\0\4"
# Seconds that only a broken server takes, however busy the machine is; any limit of its own is longer.
PATIENCE = 50.0


def packet(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def text(value: str) -> bytes:
    return value.encode() + b"\0"


def startup(version: int = 3 << 16, **parameters: str) -> bytes:
    body = struct.pack("!i", version)
    for name, value in parameters.items():
        body += text(name) + text(value)
    return struct.pack("!i", len(body) + 5) + body + b"\0"


def query(sql: str) -> bytes:
    return packet(b"Q", text(sql))


def parse(sql: str, name: str = "", oids: Sequence[int] = ()) -> bytes:
    numbers = struct.pack(f"!H{len(oids)}I", len(oids), *oids)
    return packet(b"P", text(name) + text(sql) + numbers)


def bind(
    values: Sequence[bytes | None] = (),
    *,
    portal: str = "",
    statement: str = "",
    formats: Sequence[int] = (),
    results: Sequence[int] = (),
) -> bytes:
    body = text(portal) + text(statement)
    body += struct.pack(f"!H{len(formats)}H", len(formats), *formats)
    body += struct.pack("!H", len(values))
    for value in values:
        body += b"\xff\xff\xff\xff" if value is None else struct.pack("!i", len(value)) + value
    return packet(b"B", body + struct.pack(f"!H{len(results)}H", len(results), *results))


def describe(kind: str, name: str = "") -> bytes:
    return packet(b"D", kind.encode() + text(name))


def close(kind: str, name: str = "") -> bytes:
    return packet(b"C", kind.encode() + text(name))


def execute(portal: str = "", most: int = 0) -> bytes:
    return packet(b"E", text(portal) + struct.pack("!i", most))


@dataclass(frozen=True)
class Message:
    kind: str
    body: bytes

    @property
    def fields(self) -> dict[str, str]:
        """The fields of an error or notice."""
        parts = [part for part in self.body.split(b"\0") if part]
        return {part[:1].decode(): part[1:].decode() for part in parts}

    @property
    def cells(self) -> list[bytes | None]:
        """The cells of a row."""
        (count,) = struct.unpack("!H", self.body[:2])
        at, found = 2, list[bytes | None]()
        for _ in range(count):
            (length,) = struct.unpack("!i", self.body[at : at + 4])
            at += 4
            found.append(None if length < 0 else self.body[at : at + length])
            at += max(length, 0)
        assert at == len(self.body)
        return found

    @property
    def tag(self) -> str:
        return self.body.rstrip(b"\0").decode()


class Raw:
    """A connection of bare messages."""

    def __init__(self, served: Served, *, timeout: float = PATIENCE) -> None:
        if served.host.startswith("/"):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(timeout)
            self.socket.connect(f"{served.host}/.s.PGSQL.{served.port}")
        else:
            self.socket = socket.create_connection((served.host, served.port), timeout)
        self.key = b""

    def send(self, *parts: bytes) -> Raw:
        self.socket.sendall(b"".join(parts))
        return self

    def take(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            part = self.socket.recv(count - len(found))
            if not part:
                raise EOFError(found)
            found += part
        return found

    def message(self) -> Message:
        head = self.take(5)
        return Message(head[:1].decode(), self.take(struct.unpack("!i", head[1:])[0] - 4))

    def until(self, *kinds: str) -> list[Message]:
        """Return the messages up to one of a kind."""
        found = [self.message()]
        while found[-1].kind not in kinds:
            found.append(self.message())
        return found

    def ask(self, *parts: bytes) -> list[Message]:
        """Send, and return everything up to ReadyForQuery."""
        return self.send(*parts).until("Z")

    def login(self, user: str = "trusted", **parameters: str) -> list[Message]:
        found = self.ask(startup(user=user, **parameters))
        self.key = next(each.body for each in found if each.kind == "K")
        return found

    def is_closed(self) -> bool:
        """Return whether the server hung up, after whatever it still says."""
        with contextlib.suppress(ConnectionError):
            while self.socket.recv(65536):
                pass
        return True

    def rest(self) -> bytes:
        """Return everything until the server hangs up."""
        found = b""
        with contextlib.suppress(ConnectionError):
            while part := self.socket.recv(65536):
                found += part
        return found


@contextlib.contextmanager
def knocking(served: Served, *, timeout: float = PATIENCE) -> Iterator[Raw]:
    raw = Raw(served, timeout=timeout)
    try:
        yield raw
    finally:
        raw.socket.close()


@contextlib.contextmanager
def inside(served: Served, user: str = "trusted", **parameters: str) -> Iterator[Raw]:
    with knocking(served) as raw:
        raw.login(user, **parameters)
        yield raw


def kinds(messages: Sequence[Message]) -> str:
    return "".join(message.kind for message in messages)


def failure(messages: Sequence[Message]) -> str:
    """Return the SQLSTATE of the one error among messages."""
    (found,) = [message for message in messages if message.kind == "E"]
    return found.fields["C"]


def rows(messages: Sequence[Message]) -> list[list[bytes | None]]:
    return [message.cells for message in messages if message.kind == "D"]
