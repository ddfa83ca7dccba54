"""`discreet serve` as processes that can be killed, and clients that do not give up."""

from __future__ import annotations

import os
import random
import re
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

if TYPE_CHECKING:
    from collections.abc import Callable

PASSWORD = "correct-horse-battery"
POLICY = """\
tables:
  people:
    unit: id
    budget: {epsilon: 1000, delta: 1e-6}
    limits: {rows-per-unit: 1}
    columns:
      id:  {role: identifier}
      age: {role: quasi-identifier, bounds: [0, 100]}
"""
# What a client that was cut off may see: it reconnects and asks again.
PASSING = ("08", "57P", "58", "53300", "40001", "25006")


def _free_port() -> int:
    """Return a port that no one is given by chance while a gateway is down.

    From 32768 on the system gives ports away: to other tests, and to a client that tries to come back
    and may so be connected to itself.
    """
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as tried, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port


class Gateway:
    """A server's process; `options` are those of `discreet serve`."""

    def __init__(self, data: Path, *options: object) -> None:
        self.data, self._options = data, [str(option) for option in options]
        self.port = _free_port()
        self.web: int | None = None
        self.log: deque[str] = deque(maxlen=500)
        self.start()

    def start(self) -> None:
        """Start it on the port it had, and wait until it listens."""
        self._process = subprocess.Popen(
            [
                *(Path(sys.executable).with_name("discreet"), "serve", "--data", self.data),
                *("--port", str(self.port), "--no-console", "--plain", *self._options),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, "DISCREET_ADMIN_PASSWORD": PASSWORD},
        )
        output = ""
        assert self._process.stderr is not None
        while (found := re.search(r"port=(\d+)", output)) is None:
            line = self._process.stderr.readline()
            assert line, output
            output += line
        self.port = int(found[1])
        threading.Thread(target=self._read, args=[self._process.stderr], daemon=True).start()

    def _read(self, output: Any) -> None:
        for line in output:
            self.log.append(line)
            if found := re.search(r"http://[^:]+:(\d+)/", line):
                self.web = int(found[1])

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Let it end in order."""
        self._process.terminate()
        try:
            self._process.wait(120)
        except subprocess.TimeoutExpired:
            self.kill()


def dsn(*gateways: Gateway, user: str = "admin") -> str:
    """Return how a client names all gateways at once."""
    hosts = ",".join("127.0.0.1" for _ in gateways)
    ports = ",".join(str(gateway.port) for gateway in gateways)
    return (
        f"host={hosts} port={ports} user={user} password={PASSWORD} dbname=discreet "
        "target_session_attrs=read-write connect_timeout=60 sslmode=disable"
    )


def connect(*gateways: Gateway, user: str = "admin") -> psycopg.Connection[Any]:
    """Return a connection to any of the gateways."""
    return psycopg.connect(dsn(*gateways, user=user), autocommit=True)


def run(gateway: Gateway, *statements: str) -> None:
    """Run statements as the administrator."""
    with closing(connect(gateway)) as connection:
        for statement in statements:
            connection.execute(statement.encode())


class Client(threading.Thread):
    """Does a task over and over until stopped, reconnecting whenever it is cut off.

    `task` gets a connection and a number, which grows only when the task was done; a number that was
    cut off is tried again.
    """

    def __init__(self, where: str, task: Callable[[psycopg.Connection[Any], int], bool]) -> None:
        super().__init__(daemon=True)
        self._where, self._task = where, task
        self.stopping = threading.Event()
        self.done = 0
        self.cuts = 0
        self.failures: list[str] = []
        self.longest = 0.0  # seconds between two acknowledgments

    def run(self) -> None:
        """Go on until stopped, or until the task says that it was the last one."""
        connection: psycopg.Connection[Any] | None = None
        latest = time.monotonic()
        while not self.stopping.is_set():
            try:
                if connection is None or connection.closed:
                    connection = psycopg.connect(self._where, autocommit=True)
                if not self._task(connection, self.done):
                    break
            except psycopg.Error as error:
                state = error.sqlstate or "08006"
                self.cuts += 1
                if not state.startswith(PASSING):
                    self.failures.append(f"{state} {error}")
                    break
                time.sleep(0.05)
            else:
                self.done += 1
                self.longest = max(self.longest, time.monotonic() - latest)
                latest = time.monotonic()
        if connection is not None:
            connection.close()

    def stop(self) -> None:
        """Let it end after what it does now."""
        self.stopping.set()
        self.join(300)
