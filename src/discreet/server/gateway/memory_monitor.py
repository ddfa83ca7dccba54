"""Memory pressure: statements are interrupted, and memory of ended sessions is freed."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

_INTERVAL = 0.1  # seconds between two checks
_COLLECT_INTERVAL = 1.0  # seconds between two garbage collections
_PATIENCE = 2.0  # seconds for statements to end before others are interrupted
_GROWTH = 1.05  # growth after an interruption before the next one
_SHARE = 0.8  # default share of the available memory
_MEMORY_STATISTICS = Path("/proc/self/statm")
_MEMORY_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


class MemoryMonitor:
    """Calls `relieve` whenever this process exceeds its memory limit.

    DuckDB's own limit does not count texts that a statement builds, nor data on its way to a client.
    Where the system does not report the memory in use, nothing is watched.
    """

    def __init__(self, most: int | None, relieve: Callable[[], None]) -> None:
        self.most = most or int(_available_memory() * _SHARE)
        self._relieve = relieve
        self._ended = threading.Event()
        self._has_garbage = False
        self._thread = threading.Thread(target=self._monitor_memory, name="memory", daemon=True)
        if _MEMORY_STATISTICS.exists():
            self._thread.start()

    def forget(self) -> None:
        """Free an ended session's memory soon: trees of statements hold their values in cycles."""
        self._has_garbage = True

    def close(self) -> None:
        """Stop watching."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def _monitor_memory(self) -> None:
        bearable, collected = self.most, 0.0
        while not self._ended.wait(_INTERVAL):
            if self._has_garbage and time.monotonic() - collected > _COLLECT_INTERVAL:
                self._has_garbage = False
                gc.collect()
                release_unused_memory()
                collected = time.monotonic()
            now = used_memory()
            if now <= self.most:
                bearable = self.most
            elif now > bearable:
                self._relieve()
                self._ended.wait(_PATIENCE)
                release_unused_memory()
                # Memory that the system does not reclaim must not end further statements.
                bearable = max(self.most, int(used_memory() * _GROWTH))


def release_unused_memory() -> None:
    """Return unused memory to the system."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    with contextlib.suppress(AttributeError, OSError):  # another library than GNU's
        ctypes.CDLL(None).malloc_trim(0)


def used_memory() -> int:
    """Return how many bytes of memory this process has."""
    return int(_MEMORY_STATISTICS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _available_memory() -> int:
    """Return how many bytes this process may use: the machine's, or its limit."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in _MEMORY_LIMITS:
        try:
            found.append(int(path.read_text()))
        except (OSError, ValueError):  # not there, or "max"
            continue
    return min(found)
