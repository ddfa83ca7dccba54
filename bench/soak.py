"""Does a server that runs for long keep its size? Mixed load for minutes, and thousands of connections.

    python -m bench.soak                          a minute and 500 connections
    python -m bench.soak --minutes 60 --connections 10000

In the first minutes memory grows: the cache of plans fills.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from tests.flows.gateways import PASSWORD, POLICY, Client, Gateway, connect, dsn, run

TABLE = 1000  # rows of the table that is read and asked about
TEXTS = 2500
SLICE = 1.0  # seconds between two looks at the server's size
RIGHTS = (
    "CREATE TABLE notes (id int PRIMARY KEY, text text)",
    f"CREATE USER writer PASSWORD '{PASSWORD}'",
    f"CREATE USER analyst PASSWORD '{PASSWORD}'",
    f"CREATE USER reader PASSWORD '{PASSWORD}'",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON notes TO writer",
    "GRANT SELECT ON people TO reader",
    "GRANT AGGREGATE ON people TO analyst WITH BUDGET (EPSILON 1, DELTA 0)",
)


@dataclass(frozen=True)
class Size:
    """What a process holds: bytes of memory, open files, threads."""

    memory: int
    files: int
    threads: int


@dataclass
class SoakRun:
    """What was seen: sizes by second, statements done, and failures."""

    sizes: list[Size] = field(default_factory=list)
    done: int = 0
    failures: list[str] = field(default_factory=list)

    def growth(self) -> float:
        """Return how much larger memory was in the last fifth than in the second, as a share."""
        part = max(1, len(self.sizes) // 5)
        memory = [size.memory for size in self.sizes]
        before, after = memory[part : 2 * part], memory[-part:]
        return statistics.median(after) / statistics.median(before) - 1


def measure_size(gateway: Gateway) -> Size:
    """Return the size of a server's process."""
    place = Path("/proc", str(gateway.pid))
    pages = int((place / "statm").read_text().split()[1])
    return Size(
        pages * 4096, len(list((place / "fd").iterdir())), len(list((place / "task").iterdir()))
    )


@contextmanager
def soaked_gateway() -> Iterator[Gateway]:
    """Yield a server with a table, and users who write, read and ask."""
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name)
        rows = "".join(f"{number},{number % 100}\n" for number in range(TABLE))
        (folder / "people.csv").write_text(f"id,age\n{rows}", "utf-8")
        (folder / "policy.yaml").write_text(POLICY, "utf-8")
        gateway = Gateway(folder / "data", "--policy", folder / "policy.yaml")
        try:
            run(gateway, *RIGHTS)
            yield gateway
        finally:
            gateway.stop()


def run_mixed_load(gateway: Gateway, *, seconds: float) -> SoakRun:
    """Let clients write, read, ask, define and fail for so long."""
    clients = [
        Client(dsn(gateway, user="writer"), _write_note),
        Client(dsn(gateway, user="reader"), _read_row),
        Client(dsn(gateway, user="reader"), _read_table),
        Client(dsn(gateway, user="analyst"), _ask_again),
        Client(dsn(gateway), _define_table),
    ]
    found = SoakRun()
    for client in clients:
        client.start()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(SLICE)
        found.sizes.append(measure_size(gateway))
    for client in clients:
        client.stop()
        found.done += client.done
        found.failures += client.failures
    return found


Task = Callable[[psycopg.Connection[Any], int], bool]


def _write_note(connection: psycopg.Connection[Any], number: int) -> bool:
    connection.execute("INSERT INTO notes VALUES (%s, %s)", [number, "x" * 200])
    connection.execute("UPDATE notes SET text = 'y' WHERE id = %s", [number])
    connection.execute("DELETE FROM notes WHERE id = %s", [number])
    with suppress(psycopg.errors.SyntaxError):
        connection.execute(f"SELEC {number}".encode())
    return True


def _read_row(connection: psycopg.Connection[Any], number: int) -> bool:
    connection.execute("SELECT * FROM people WHERE id = %s", [number % TABLE]).fetchall()
    # More texts than the cache of plans holds, which is full after some minutes.
    connection.execute(
        f"SELECT age + {number % TEXTS} FROM people WHERE id = 1".encode()
    ).fetchall()
    return True


def _read_table(connection: psycopg.Connection[Any], _number: int) -> bool:
    connection.execute("SELECT * FROM people ORDER BY age", prepare=True).fetchall()
    with suppress(psycopg.errors.InsufficientPrivilege):
        connection.execute("SELECT * FROM notes")
    return True


def _ask_again(connection: psycopg.Connection[Any], number: int) -> bool:
    connection.execute("SET discreet.epsilon = 0.001")
    text = f"SELECT count(*) AS n FROM people WHERE age < {number % 50}"
    connection.execute(text.encode()).fetchall()
    return True


def _define_table(connection: psycopg.Connection[Any], _number: int) -> bool:
    with connection.transaction():
        connection.execute("CREATE TABLE made (a int)")
        connection.execute("GRANT SELECT ON made TO reader")
        connection.execute("DROP TABLE made")
    time.sleep(0.2)  # each is a version of the rights, which are kept for ever
    return True


def run_connections(gateway: Gateway, count: int, *, at_once: int = 8) -> tuple[Size, Size]:
    """Connect, run a statement and disconnect so often; return the sizes before and afterwards.

    Before: after a tenth of them, when caches and threads are there.
    """

    def visit(_: int) -> None:
        with closing(connect(gateway, user="reader")) as connection:
            connection.execute("SELECT age FROM people WHERE id = 1").fetchall()

    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(visit, range(count // 10)))
        before = settle_size(gateway)
        list(pool.map(visit, range(count - count // 10)))
    return before, settle_size(gateway)


def settle_size(gateway: Gateway) -> Size:
    """Return a server's size once its sessions have ended: files are closed, garbage is collected."""
    smallest = measure_size(gateway)
    for _ in range(10):
        time.sleep(0.5)
        now = measure_size(gateway)
        smallest = Size(
            min(smallest.memory, now.memory),
            min(smallest.files, now.files),
            min(smallest.threads, now.threads),
        )
    return smallest


def main() -> None:
    """Print what a run showed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--connections", type=int, default=500)
    options = parser.parse_args()
    with soaked_gateway() as gateway:
        before, after = run_connections(gateway, options.connections)
        print(f"{options.connections:,} connections: {before} → {after}")
        print(f"memory {after.memory / before.memory - 1:+.1%}")
        load = run_mixed_load(gateway, seconds=options.minutes * 60)
        sizes = [f"{size.memory >> 20}" for size in load.sizes[:: max(1, len(load.sizes) // 20)]]
        print(f"{options.minutes:g} minutes: {load.done:,} rounds, failures {load.failures}")
        print(f"memory in MiB: {' '.join(sizes)}; growth {load.growth():+.1%}")
        print(f"threads now {threading.active_count()}, of the server {measure_size(gateway)}")


if __name__ == "__main__":
    main()
