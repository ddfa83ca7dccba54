"""Limits on a client: connections, time and memory."""

from __future__ import annotations

from dataclasses import dataclass

STARTUP_BYTES = 10_000  # as in PostgreSQL
BEFORE_LOGIN_BYTES = 65_536
SMALL_BYTES = 10_000  # of messages that carry a name at most


@dataclass(frozen=True)
class ProtocolLimits:
    """The limits of a server; times are seconds, None is no limit."""

    max_connections: int = 100
    max_connections_per_user: int = 32
    max_waiting: int = 128  # connections that have not logged in
    auth_timeout: float = 60.0
    idle_timeout: float | None = None
    idle_transaction_timeout: float | None = 300.0  # since it may hold locks
    message_timeout: float = 120.0  # from the first byte of a message to its last
    write_timeout: float = 120.0  # for a client to take a quarter of a megabyte
    max_message: int = 16 * 1024 * 1024
    max_statements: int = 1000  # prepared, per connection
    max_portals: int = 64
    max_held: int = 256 * 1024 * 1024  # bytes of results that portals have not returned yet
