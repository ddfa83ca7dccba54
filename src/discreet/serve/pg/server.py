"""The server: it listens, limits its clients, and protects them from each other."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from discreet.errors import StatementFailed
from discreet.guard.identity.authenticator import Authenticator, ClientInfo
from discreet.serve.pg.cancel import CancelRegistry
from discreet.serve.pg.connection import ClientConnection
from discreet.serve.pg.limits import ProtocolLimits
from discreet.serve.pg.tls import Tls
from discreet.serve.pg.wire import Wire
from discreet.serve.session import Session

OpenSession = Callable[[ClientInfo, Mapping[str, str], str], Session]

T = TypeVar("T")
BACKLOG = 512
PATIENCE = 5.0  # seconds for canceled statements to end


class PgServerState:
    """The state that the connections of a server share."""

    def __init__(
        self,
        *,
        door: Authenticator,
        open_session: OpenSession,
        tls: Tls | None,
        require_tls: bool,
        limits: ProtocolLimits,
        executor: Executor,
    ) -> None:
        self.door, self.open_session = door, open_session
        self.tls, self.require_tls, self.limits = tls, require_tls, limits
        self.cancels = CancelRegistry()
        self._executor = executor
        self._spare = ThreadPoolExecutor(2, thread_name_prefix="discreet-cancel")
        self._seated: Counter[str] = Counter()
        self._waiting: dict[str, deque[Wire]] = {}

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run a blocking call in a worker."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    def in_spare_thread(self, work: Callable[[], None]) -> None:
        """Run a call that must not wait for a worker, such as an interrupt."""
        self._spare.submit(work)

    def add_pending(self, wire: Wire) -> None:
        """Count a client that has not logged in; when there are too many, one is disconnected.

        It is the oldest of the address with most of them: a flood displaces its own connections.
        """
        self._waiting.setdefault(wire.address, deque()).append(wire)
        if sum(map(len, self._waiting.values())) > self.limits.max_waiting:
            crowd = max(self._waiting.values(), key=len)
            crowd[0].stop(StatementFailed("53300", "sorry, too many clients already"))
            self.remove_pending(crowd[0], crowd[0].address)

    def remove_pending(self, wire: Wire, address: str) -> None:
        """Remove a client that logged in or left."""
        crowd = self._waiting.get(address)
        if crowd is not None and wire in crowd:
            crowd.remove(wire)
            if not crowd:
                del self._waiting[address]

    @contextmanager
    def register_client(self, wire: Wire, user: str) -> Generator[None]:
        """Count a client that logged in, in total and per user."""
        self.remove_pending(wire, wire.address)
        if self._seated.total() >= self.limits.max_connections:
            raise StatementFailed("53300", "sorry, too many clients already")
        if self._seated[user] >= self.limits.max_connections_per_user:
            raise StatementFailed("53300", f'too many connections for role "{user}"')
        self._seated[user] += 1
        try:
            yield
        finally:
            self._seated[user] -= 1
            if not self._seated[user]:
                del self._seated[user]

    def close(self) -> None:
        """Release the threads."""
        self._spare.shutdown(wait=False)


class PgServer:
    """A server of PostgreSQL's protocol, version 3.

    Args:
        door: Decides how clients authenticate.
        open_session: Called with the client, their settings and the method of their login; blocks.
        tls: From `discreet.serve.pg.tls.load_tls`; None for connections in clear.
        require_tls: Refuse connections without TLS, except over Unix sockets.
        limits: Limits on a client.
        executor: Runs sessions; by default one thread per connection, so that no statement
            waits for another one.
    """

    def __init__(
        self,
        *,
        door: Authenticator,
        open_session: OpenSession,
        tls: Tls | None = None,
        require_tls: bool = True,
        limits: ProtocolLimits | None = None,
        executor: Executor | None = None,
    ) -> None:
        limits = limits or ProtocolLimits()
        self._own_executor = None
        if executor is None:
            most = limits.max_connections + min(limits.max_waiting, 16)
            executor = self._own_executor = ThreadPoolExecutor(most, "discreet-session")
        self._house = PgServerState(
            door=door,
            open_session=open_session,
            tls=tls,
            require_tls=require_tls,
            limits=limits,
            executor=executor,
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
        self._house.add_pending(wire)
        connection = ClientConnection(wire, self._house)
        task = asyncio.get_running_loop().create_task(connection.serve())
        self._connections[connection] = task
        address = wire.address

        def left(_: asyncio.Task[None]) -> None:
            del self._connections[connection]
            self._house.remove_pending(wire, address)

        task.add_done_callback(left)

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
        self._house.close()
        if self._own_executor is not None:
            self._own_executor.shutdown(wait=False, cancel_futures=True)

    async def _until_empty(self, seconds: float) -> None:
        if self._connections:
            await asyncio.wait(list(self._connections.values()), timeout=seconds)
