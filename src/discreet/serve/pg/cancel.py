"""Cancel requests: a number and a secret per connection, known to its client alone."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable


class CancelRegistry:
    """The running connections by number. Used by the event loop only."""

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
