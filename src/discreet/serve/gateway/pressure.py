"""The server's memory: when it runs out, statements end, and what ended sessions held is forgotten."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_MOMENT = 0.1  # seconds between two looks
_FORGETTING = 1.0  # seconds between two searches for what ended sessions left behind
_PATIENCE = 2.0  # seconds for statements to end before others are, too
_GROWTH = 1.05  # more than is left after statements ended, before others end, too
_SHARE = 0.8  # of the memory there is, unless told otherwise
_TAKEN = Path("/proc/self/statm")
_GRANTED = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


class Pressure:
    """Calls `relieve` whenever this process takes more memory than it may.

    DuckDB's own limit does not count the texts that a statement puts together, nor what is on its way
    to a client. Where the system does not tell how much is taken, nothing is watched.
    """

    def __init__(self, most: int | None, relieve: Callable[[], None]) -> None:
        self._most = most or int(_there_is() * _SHARE)
        self._relieve = relieve
        self._ended = threading.Event()
        self._has_garbage = False
        self._thread = threading.Thread(target=self._watch, name="memory", daemon=True)
        if _TAKEN.exists():
            self._thread.start()

    def forget(self) -> None:
        """Have what an ended session held collected soon: trees of statements hold their values in cycles."""
        self._has_garbage = True

    def close(self) -> None:
        """Stop watching."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def _watch(self) -> None:
        bearable, collected = self._most, 0.0
        while not self._ended.wait(_MOMENT):
            if self._has_garbage and time.monotonic() - collected > _FORGETTING:
                self._has_garbage = False
                gc.collect()
                give_back()
                collected = time.monotonic()
            now = taken()
            if now <= self._most:
                bearable = self._most
            elif now > bearable:
                self._relieve()
                self._ended.wait(_PATIENCE)
                give_back()
                # What the system does not take back must not end statements that need little more.
                bearable = max(self._most, int(taken() * _GROWTH))


def give_back() -> None:
    """Return memory to the system that nobody uses."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    with contextlib.suppress(AttributeError, OSError):  # another library than GNU's
        ctypes.CDLL(None).malloc_trim(0)


def taken() -> int:
    """Return how many bytes of memory this process has."""
    return int(_TAKEN.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _there_is() -> int:
    """Return how many bytes this process could have: the machine's, or what it is granted of them."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in _GRANTED:
        try:
            found.append(int(path.read_text()))
        except (OSError, ValueError):  # not there, or "max"
            continue
    return min(found)
