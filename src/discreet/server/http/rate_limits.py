"""Rate limits: a token bucket that fills by the minute."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict

_KEPT = 10_000


class RateLimiter:
    """Allows `per_minute` calls of each key, in bursts of at most a tenth of it."""

    def __init__(self, per_minute: int) -> None:
        self._rate = per_minute / 60
        self._most = max(1.0, per_minute / 10)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, key: str) -> float:
        """Return 0 and count the call, or how many seconds to wait before the next.

        >>> throttle = RateLimiter(60)
        >>> [throttle.wait("me") > 0 for _ in range(7)]
        [False, False, False, False, False, False, True]
        """
        now = time.monotonic()
        with self._lock:
            level, at = self._buckets.pop(key, (self._most, now))
            level = min(self._most, level + (now - at) * self._rate)
            is_free = level >= 1
            self._buckets[key] = (level - 1 if is_free else level, now)
            while len(self._buckets) > _KEPT:
                self._buckets.popitem(last=False)
            return 0.0 if is_free else (1 - level) / self._rate


class ConcurrencyLimiter:
    """Allows each key to hold so many slots at once.

    >>> places = ConcurrencyLimiter(1)
    >>> places.acquire("me"), places.acquire("me"), places.acquire("you")
    (True, False, True)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: Counter[str] = Counter()
        self._lock = threading.Lock()

    def acquire(self, key: str) -> bool:
        """Return whether a slot was free, which is then taken."""
        with self._lock:
            is_free = self._taken[key] < self._most
            self._taken[key] += is_free
            return is_free

    def release(self, key: str) -> None:
        """Release a slot."""
        with self._lock:
            self._taken[key] -= 1
            if not self._taken[key]:
                del self._taken[key]
