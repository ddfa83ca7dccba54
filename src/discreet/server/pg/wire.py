"""One connection's bytes: bounded parsing of messages, and writes that wait for the reader."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Callable
from typing import Any, cast

from discreet.errors import StatementFailed
from discreet.server.pg.limits import SMALL_BYTES, STARTUP_BYTES
from discreet.server.pg.messages import Frame
from discreet.server.pg.tls import Tls

LARGE_KINDS = b"QPBdp"
SMALL_KINDS = b"DECHSXFcf"
READ_AHEAD = 64 * 1024
LINGER = 5.0  # seconds that a client has to read a last message
BATCH = 1024  # messages that are answered together
# A vanished peer is detected after two minutes.
_KEEPALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 6}


class ClientGone(Exception):
    """The client has disconnected."""


class Wire(asyncio.Protocol):
    """The transport of one client, with a buffer of received bytes."""

    def __init__(self, on_connection: Callable[[Wire], None]) -> None:
        self._on_connection = on_connection
        self._buffer = bytearray()
        self._wanted = READ_AHEAD
        self._waiter: asyncio.Future[None] | None = None
        self.is_writable = True  # the client reads what is written
        self._has_ended = False
        self._stopped: StatementFailed | None = None
        self._transport: asyncio.Transport | None = None
        self._farewell: asyncio.TimerHandle | None = None
        self.is_encrypted = False
        self.on_lost: Callable[[], None] | None = None
        self.on_input: Callable[[], None] | None = None  # more bytes, or none will come
        self.on_writable: Callable[[], None] | None = None  # the client reads again, or is gone

    @property
    def transport(self) -> asyncio.Transport:
        """The connection, once there is one."""
        if self._transport is None:
            raise ClientGone
        return self._transport

    @property
    def is_unix(self) -> bool:
        """Whether the client uses a Unix socket."""
        sock = self.transport.get_extra_info("socket")
        return sock is not None and sock.family == socket.AF_UNIX

    @property
    def address(self) -> str:
        """The client's address."""
        peer = self.transport.get_extra_info("peername")
        return str(peer[0]) if isinstance(peer, tuple) and peer else "local"

    @property
    def is_local(self) -> bool:
        """Whether the client is on this machine."""
        if self.is_unix:
            return True
        try:
            return ipaddress.ip_address(self.address.partition("%")[0]).is_loopback
        except ValueError:
            return False

    @property
    def has_buffered(self) -> bool:
        """Whether there are unread bytes of the client."""
        return bool(self._buffer)

    @property
    def is_closing(self) -> bool:
        """Whether nothing can be sent any more."""
        return self.transport.is_closing()

    def certificate(self) -> bytes | None:
        """Return the client's certificate in DER, verified by TLS, or None."""
        layer: ssl.SSLObject | None = self.transport.get_extra_info("ssl_object")
        return layer.getpeercert(binary_form=True) if layer is not None else None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register a new client."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=READ_AHEAD * 2)
        if not self.is_unix:
            keep_alive(self._transport.get_extra_info("socket"))
        self._on_connection(self)

    def data_received(self, data: bytes) -> None:
        """Buffer received bytes; when enough are unread, reading pauses."""
        self._buffer += data
        if len(self._buffer) >= self._wanted:
            self.transport.pause_reading()
        self._wake_waiter()

    def eof_received(self) -> bool:
        """Handle the end of input; earlier messages are still answered, as far as possible."""
        self._has_ended = True
        self._wake_waiter()
        if self.on_lost is not None:
            self.on_lost()
        return not self.is_encrypted

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - as asyncio has it
        """Handle the loss of the connection."""
        self._has_ended = True
        self.resume_writing()
        if self._farewell is not None:
            self._farewell.cancel()
        self._wake_waiter()
        if self.on_lost is not None:
            self.on_lost()

    def pause_writing(self) -> None:
        """Pause writing: the client reads slowly."""
        self.is_writable = False

    def resume_writing(self) -> None:
        """Resume writing."""
        self.is_writable = True
        if self.on_writable is not None:
            self.on_writable()

    def stop(self, reason: StatementFailed) -> None:
        """Raise this failure in the code that waits for the client's next message."""
        self._stopped = reason
        self._wake_waiter()

    def _wake_waiter(self) -> None:
        if self.on_input is not None:
            self.on_input()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _wait_for_bytes(self) -> None:
        """Wait for more bytes."""
        if self._stopped is not None:
            raise self._stopped
        if self._has_ended:
            raise ClientGone
        self.transport.resume_reading()
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
        if self._stopped is not None:
            raise self._stopped

    def _take_bytes(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    async def startup(self) -> bytes:
        """Return the body of a startup message, which has no letter."""
        while len(self._buffer) < 4:
            await self._wait_for_bytes()
        length = int.from_bytes(self._buffer[:4], "big")
        if not 8 <= length <= STARTUP_BYTES:
            raise StatementFailed("08P01", "invalid length of startup packet")
        while len(self._buffer) < length:
            await self._wait_for_bytes()
        return self._take_bytes(length)[4:]

    async def frame(self, *, limit: int) -> Frame:
        """Return the next message, during login.

        Raises:
            StatementFailed: it is not a message, or it is too long.
            ClientGone: the client has disconnected.
        """
        while not (found := self._cut_frames(limit, 1)):
            await self._wait_for_bytes()
        return found[0]

    def take_frames(self, *, limit: int) -> list[Frame]:
        """Return the available messages; `on_input` is called when there are more.

        Raises:
            StatementFailed: it is not a message, or it is too long; or the server stops.
            ClientGone: the client has disconnected.
        """
        found = self._cut_frames(limit, BATCH)
        if not found:
            if self._stopped is not None:
                raise self._stopped
            if self._has_ended:
                raise ClientGone
            self.transport.resume_reading()
        return found

    def _cut_frames(self, limit: int, most: int) -> list[Frame]:
        """Return complete messages from the buffer; lengths are checked before anything is stored."""
        buffer, at, found = self._buffer, 0, list[Frame]()
        self._wanted = READ_AHEAD
        while len(found) < most and len(buffer) - at >= 5:
            end = at + 1 + _message_length(buffer, at, limit)
            if len(buffer) < end:
                self._wanted = max(READ_AHEAD, end - at)
                break
            found.append(Frame(bytes(buffer[at : at + 1]), bytes(buffer[at + 5 : end])))
            at = end
        del buffer[:at]
        return found

    def write(self, data: bytes) -> None:
        """Send bytes asynchronously."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    async def start_tls(self, tls: Tls, *, within: float) -> None:
        """Accept TLS and use it from now on."""
        self.write(b"S")
        loop = asyncio.get_running_loop()
        try:
            upgraded = await loop.start_tls(
                self.transport, self, tls.context, server_side=True, ssl_handshake_timeout=within
            )
        except (ssl.SSLError, OSError):
            raise ClientGone from None
        if upgraded is None:
            raise ClientGone
        self._transport = upgraded
        self.is_encrypted = True

    def close(self) -> None:
        """Close the connection once everything is sent, or the client does not read."""
        if self._transport is not None:
            self._transport.close()
            loop = asyncio.get_running_loop()
            self._farewell = loop.call_later(LINGER, self._transport.abort)

    def abort(self) -> None:
        """Close the connection now."""
        if self._transport is not None:
            self._transport.abort()


def _message_length(buffer: bytearray, at: int, limit: int) -> int:
    kind = buffer[at]
    if kind in LARGE_KINDS:
        most = limit
    elif kind in SMALL_KINDS:
        most = min(limit, SMALL_BYTES)
    else:
        raise StatementFailed("08P01", f"invalid frontend message type {kind}")
    length = int.from_bytes(buffer[at + 1 : at + 5], "big")
    if not 4 <= length <= most:
        raise StatementFailed("08P01", "invalid message length")
    return length


def keep_alive(sock: Any) -> None:
    """Enable TCP keepalive."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, seconds in _KEEPALIVE.items():
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), seconds)
