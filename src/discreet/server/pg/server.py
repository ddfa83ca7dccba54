"""The server: it listens, limits its clients, and protects them from each other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

from discreet.guard.identity.authenticator import Authenticator
from discreet.server.pg.connection import ClientConnection
from discreet.server.pg.limits import ProtocolLimits
from discreet.server.pg.server_state import OpenSession, PgServerState
from discreet.server.pg.tls import Tls
from discreet.server.pg.wire import Wire

BACKLOG = 512
PATIENCE = 5.0  # seconds for canceled statements to end


class PgServer:
    """A server of PostgreSQL's protocol, version 3.

    Args:
        door: Decides how clients authenticate.
        open_session: Called with the client, their settings and the method of their login; blocks.
        tls: From `discreet.server.pg.tls.load_tls`; None for connections in clear.
        require_tls: Refuse connections without TLS, except over Unix sockets.
        limits: Limits on a client.
        executor: Runs sessions; by default one thread per connection, so that no statement
            waits for another one.
        wait: Called with the seconds that messages waited for a worker.
    """

    def __init__(
        self,
        *,
        authenticator: Authenticator,
        open_session: OpenSession,
        tls: Tls | None = None,
        require_tls: bool = True,
        limits: ProtocolLimits | None = None,
        executor: Executor | None = None,
        wait: Callable[[float], None] = lambda _: None,
    ) -> None:
        limits = limits or ProtocolLimits()
        self._own_executor = None
        if executor is None:
            most = limits.max_connections + min(limits.max_waiting, 16)
            executor = self._own_executor = ThreadPoolExecutor(most, "discreet-session")
        self._state = PgServerState(
            authenticator=authenticator,
            open_session=open_session,
            tls=tls,
            require_tls=require_tls,
            limits=limits,
            executor=executor,
            wait=wait,
        )
        self._servers: list[asyncio.Server] = []
        self._paths: list[Path] = []
        self._connections: dict[ClientConnection, asyncio.Task[None]] = {}

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen, and return the address: with port 0, the system chooses one."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(self._make_wire, host, port, backlog=BACKLOG)
        self._servers.append(server)
        address = server.sockets[0].getsockname()
        return str(address[0]), int(address[1])

    async def start_unix(self, folder: Path, port: int = 5432) -> Path:
        """Listen on a Unix socket, as `psql -h FOLDER` expects it, and return its path."""
        loop = asyncio.get_running_loop()
        path = folder / f".s.PGSQL.{port}"
        self._servers.append(await loop.create_unix_server(self._make_wire, path, backlog=BACKLOG))
        self._paths.append(path)
        return path

    def _make_wire(self) -> Wire:
        return Wire(self._accept_client)

    def _accept_client(self, wire: Wire) -> None:
        self._state.add_pending(wire)
        connection = ClientConnection(wire, self._state)
        task = asyncio.get_running_loop().create_task(connection.serve())
        self._connections[connection] = task
        address = wire.address

        def left(_: asyncio.Task[None]) -> None:
            del self._connections[connection]
            self._state.remove_pending(wire, address)

        task.add_done_callback(left)

    @property
    def pending(self) -> int:
        """How many clients have not logged in yet."""
        return self._state.pending

    async def stop(self, grace: float = 10.0) -> None:
        """Stop listening; running statements may end within `grace` seconds, then they are canceled."""
        for server in self._servers:
            server.close()
        for path in self._paths:
            path.unlink(missing_ok=True)
        for connection in list(self._connections):
            connection.stop()
        await self._until_empty(grace)
        for connection in list(self._connections):
            connection.abort()
        await self._until_empty(PATIENCE)
        self._state.close()
        if self._own_executor is not None:
            self._own_executor.shutdown(wait=False, cancel_futures=True)

    async def _until_empty(self, seconds: float) -> None:
        if self._connections:
            await asyncio.wait(list(self._connections.values()), timeout=seconds)
