"""A callable that others wrote, run on one block of rows: numbers come back, and nothing else."""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_WIDTH = 8  # bytes of a number
_MOST_FILES = 1 << 20  # that a process has open, where its limit does not say


def call_isolated(
    estimator: Callable[[Any], Any], block: Any, *, numbers: int, seconds: float
) -> Floats | None:
    """Return the numbers that `estimator` makes of `block`; None where it fails or takes too long.

    It runs in a process of its own, a copy of this one, that is ended afterwards with all that it started: what it
    keeps in memory is gone before the next block comes (against the state attack of Haeberlen, Pierce &
    Narayan 2011). What it prints and the text of its errors go nowhere. Other numbers than so many are a failure, too.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Threads of this process are not copied; the estimator has a time limit in case it needs one of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _run_child(estimator, block, numbers, writing)
    os.close(writing)
    try:
        return _read_numbers(reading, numbers, seconds)
    finally:
        os.close(reading)
        _end_processes(child)


def _run_child(estimator: Callable[[Any], Any], block: Any, numbers: int, writing: int) -> None:
    """Write the numbers of the estimator, and end this process whatever happens."""
    try:
        os.setsid()
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
            signal.signal(one, signal.SIG_DFL)
        _close_files(writing)
        found = np.asarray(estimator(block), np.float64).ravel()
        if found.size == numbers:
            os.write(writing, found.tobytes())
    finally:
        os._exit(0)


def _close_files(kept: int) -> None:
    """Close all files and connections but one, and lead what is printed nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.closerange(3, kept)
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    os.closerange(kept + 1, limit if 0 < limit < _MOST_FILES else _MOST_FILES)
    # In a notebook these are no files, but connections of their own.
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")


def _read_numbers(reading: int, numbers: int, seconds: float) -> Floats | None:
    """Return what the child wrote until it was enough, it ended, or the time was over."""
    wanted, ends = numbers * _WIDTH, time.monotonic() + seconds
    content = b""
    while len(content) < wanted:
        left = ends - time.monotonic()
        if left <= 0 or not select.select([reading], [], [], left)[0]:
            return None
        part = os.read(reading, wanted - len(content))
        if not part:
            break
        content += part
    return np.frombuffer(content) if len(content) == wanted else None


def _end_processes(child: int) -> None:
    for end in (os.killpg, os.kill):  # the group does not exist before the child has made it
        with suppress(ProcessLookupError, PermissionError):
            end(child, signal.SIGKILL)
    os.waitpid(child, 0)
