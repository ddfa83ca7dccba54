"""The state that the connections of a server share: login, limits, threads and cancel requests."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from discreet.errors import StatementFailed
from discreet.guard.identity.authenticator import Authenticator, ClientInfo
from discreet.server.pg.limits import ProtocolLimits
from discreet.server.pg.tls import Tls
from discreet.server.pg.wire import Wire
from discreet.server.session import Session

OpenSession = Callable[[ClientInfo, Mapping[str, str], str], Session]

T = TypeVar("T")


class CancelRegistry:
    """The running connections by number, each with a secret that only its client knows.

    Used by the event loop only.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[bytes, Callable[[], None]]] = {}

    def register(self, cancel: Callable[[], None]) -> tuple[int, bytes]:
        """Return a new number and secret; a request with both calls `cancel`."""
        process = secrets.randbelow(2**31 - 1) + 1
        while process in self._known:
            process = secrets.randbelow(2**31 - 1) + 1
        secret = secrets.token_bytes(4)
        self._known[process] = secret, cancel
        return process, secret

    def unregister(self, process: int) -> None:
        """Remove a connection."""
        self._known.pop(process, None)

    def request(self, process: int, secret: bytes) -> bool:
        """Cancel a connection's statement, if the secret is right; the time taken reveals nothing."""
        # The other secret stands in for an unknown number.
        known, cancel = self._known.get(process, (b"\0\0\0\0", None))
        is_right = hmac.compare_digest(known, secret)
        if cancel is None or not is_right:
            return False
        cancel()
        return True


class PgServerState:
    """The state that the connections of a server share."""

    def __init__(
        self,
        *,
        authenticator: Authenticator,
        open_session: OpenSession,
        tls: Tls | None,
        require_tls: bool,
        limits: ProtocolLimits,
        executor: Executor,
        wait: Callable[[float], None],
    ) -> None:
        self.authenticator, self.open_session = authenticator, open_session
        self.tls, self.require_tls, self.limits = tls, require_tls, limits
        self.cancels = CancelRegistry()
        self._executor, self.observe_wait = executor, wait
        self._spare = ThreadPoolExecutor(2, thread_name_prefix="discreet-cancel")
        self._seated: Counter[str] = Counter()
        self._waiting: dict[str, deque[Wire]] = {}

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run a blocking call in a worker."""
        asked = time.perf_counter()

        def run() -> T:
            self.observe_wait(time.perf_counter() - asked)
            return work()

        return await asyncio.get_running_loop().run_in_executor(self._executor, run)

    def in_spare_thread(self, work: Callable[[], None]) -> None:
        """Run a call that must not wait for a worker, such as an interrupt."""
        self._spare.submit(work)

    @property
    def pending(self) -> int:
        """How many clients have not logged in yet."""
        return sum(map(len, self._waiting.values()))

    def add_pending(self, wire: Wire) -> None:
        """Count a client that has not logged in; when there are too many, one is disconnected.

        It is the oldest of the address with most of them: a flood displaces its own connections.
        """
        self._waiting.setdefault(wire.address, deque()).append(wire)
        if self.pending > self.limits.max_waiting:
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
