"""The newest timeline seen of each PostgreSQL cluster, stored across restarts."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.stores.state_folder import state_folder
from discreet.writing import make_private_folder, write_private_file

FILE = "timelines.json"
FIRST = 1  # the timeline of a server that was never promoted: every cluster begins with it


class Timelines:
    """Stores the newest timeline of each cluster, by the cluster's system identifier.

    A server that was the primary before another was promoted is on an earlier timeline, and has
    missed later writes.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._files = [] if file is None else [file]
        self._newest: dict[str, int] = {}
        self._lock = threading.Lock()

    def remember_in(self, file: Path) -> None:
        """Store the timelines in `file` from now on, until `forget_file`."""
        with self._lock:
            self._files.append(file)

    def forget_file(self, file: Path) -> None:
        """Store the timelines where they were stored before `file`; those that were seen stay known."""
        with self._lock:
            if file in self._files:
                self._files.remove(file)

    def newest(self, cluster: str) -> int:
        """Return the newest timeline seen of a cluster, by this process or an earlier one."""
        with self._lock:
            known = self._newest.get(cluster, FIRST)
            return max(known, _read(self._file_path()).get(cluster, FIRST))

    def see(self, cluster: str, timeline: int) -> None:
        """Store a timeline, unless a newer one is known."""
        with self._lock:
            if timeline <= self._newest.get(cluster, FIRST):
                return
            self._newest[cluster] = timeline
            _merge(self._file_path(), cluster, timeline)

    def _file_path(self) -> Path:
        return self._files[-1] if self._files else state_folder() / FILE


# The newest timeline is a property of a cluster, the same for every part of a process.
TIMELINES = Timelines()


def _read(file: Path) -> Mapping[str, int]:
    try:
        read = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(read, dict):
        return {}
    return {str(name): value for name, value in read.items() if isinstance(value, int)}


def _merge(file: Path, cluster: str, timeline: int) -> None:
    """Write a timeline to the file; if the folder cannot be written, it stays in memory only."""
    try:
        make_private_folder(file.parent)
        lock = os.open(file.with_name(f".{file.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = dict(_read(file))
        known[cluster] = max(timeline, known.get(cluster, FIRST))
        write_private_file(file, json.dumps(known, sort_keys=True).encode(), may_exist=True)
    except (OSError, DiscreetError):
        return
    finally:
        os.close(lock)
