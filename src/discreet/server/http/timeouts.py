"""Limits on a client's time and connections, so that others are served."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

MOST_BODY_BYTES = 4 << 20  # bytes of a request
BODY_TIMEOUT = 20.0  # seconds in which a complete body must arrive
IDLE_TIMEOUT = 15.0  # seconds without a complete request
_CHECK_INTERVAL = 1.0


class BodyLimiter:
    """Refuses bodies that are too large or too slow, whatever their headers."""

    def __init__(
        self, app: Any, *, fault: Callable[[int, str], Any], largest: int = MOST_BODY_BYTES
    ) -> None:
        self._app, self._fault, self._largest = app, fault, largest

    async def __call__(self, scope: Any, receive: Callable[[], Awaitable[Any]], send: Any) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        size, end = 0, asyncio.get_running_loop().time() + BODY_TIMEOUT
        is_whole, is_answered = False, False
        fault: Any = None

        async def bounded() -> Any:
            nonlocal size, is_whole, fault
            if is_whole:  # only a disconnect can follow
                return await receive()
            try:
                async with asyncio.timeout_at(end):
                    message = await receive()
            except TimeoutError:
                fault = self._fault(408, "the request took too long to come")
                return {"type": "http.disconnect"}
            size += len(message.get("body", b""))
            is_whole = not message.get("more_body", False)
            if size > self._largest:
                fault = self._fault(413, "the request is too large")
                return {"type": "http.disconnect"}
            return message

        async def send_response(message: Any) -> None:
            nonlocal is_answered
            if fault is None:
                is_answered = True
                await send(message)

        await self._app(scope, bounded, send_response)
        if fault is not None and not is_answered:
            await fault(scope, receive, send)


def limited_protocol(per_address: int, longest: float) -> Any:
    """Return a protocol for uvicorn that closes idle connections, and limits their number.

    Args:
        per_address: The largest number of connections of one address.
        longest: Seconds in which a response must be read.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    places: Counter[str] = Counter()

    class LimitedProtocol(H11Protocol):
        """HTTP with time limits."""

        _since: float | None = None
        _was_busy = False
        _address = ""
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._address = self.client[0] if self.client else ""
            places[self._address] += 1
            if places[self._address] > per_address:
                transport.abort()
                return
            self._check_timeout()

        def connection_lost(self, exc: Exception | None) -> None:
            places[self._address] -= 1
            if places[self._address] <= 0:
                del places[self._address]
            if self._timer is not None:
                self._timer.cancel()
            super().connection_lost(exc)

        def _check_timeout(self) -> None:
            """Close the connection if no complete request or response passed for too long."""
            now = self.loop.time()
            cycle: Any = self.cycle  # None before the first request
            is_busy = cycle is not None and not cycle.response_complete
            if self._since is None or is_busy != self._was_busy:
                self._since, self._was_busy = now, is_busy
            if now - self._since >= (longest if is_busy else IDLE_TIMEOUT):
                self.transport.abort()
                return
            self._timer = self.loop.call_later(_CHECK_INTERVAL, self._check_timeout)

    return LimitedProtocol
