"""The server under other loads, and where the time of a statement goes.

Run with `python -m bench.serve_loads`. As in `bench.serve`, `discreet serve` and PostgreSQL 16 run beside each other
with the same table: statements in one pipeline, COPY of a million rows, a row by its key while another
user asks heavy questions, and PostgreSQL as the engine of discreet. The pieces of a statement are measured
one by one in this process.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import struct
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import serve
from bench.figures import FigureTable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from discreet.server.pg.messages import Frame

MANY = 1_000_000
PIPELINED = 1000
LOOKUP, CONSTANT = serve.WORKS[1], serve.WORKS[0]
HEAVY = (
    "SELECT count(*) FROM people AS a, people AS b WHERE a.salary + b.salary > a.id AND a.id < 30"
)


def pipeline(dsn: str, cpu: Callable[[], float]) -> tuple[float, float]:
    """Return CPU milliseconds and seconds for many statements in one pipeline."""
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as connection:
        for _ in range(2):
            spent, began = cpu(), time.perf_counter()
            with connection.pipeline():
                cursors = [connection.execute("SELECT 1", prepare=True) for _ in range(PIPELINED)]
            assert all(cursor.fetchone() == (1,) for cursor in cursors)
        return 1000 * (cpu() - spent), time.perf_counter() - began


def one_by_one(dsn: str, cpu: Callable[[], float]) -> tuple[float, float]:
    """Return the same for as many statements, each of which waits for the one before."""
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as connection:
        spent, began = cpu(), time.perf_counter()
        for _ in range(PIPELINED):
            connection.execute("SELECT 1", prepare=True).fetchone()
        return 1000 * (cpu() - spent), time.perf_counter() - began


def copy_out(dsn: str, form: str, cpu: Callable[[], float]) -> tuple[float, float]:
    """Return CPU milliseconds and seconds for COPY of the whole table."""
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as connection, connection.cursor() as cursor:
        spent, began = cpu(), time.perf_counter()
        with cursor.copy(f"COPY people TO STDOUT (FORMAT {form})") as copy:
            size = sum(len(block) for block in copy)
        assert size > MANY
        return 1000 * (cpu() - spent), time.perf_counter() - began


@contextlib.contextmanager
def heavy_user(dsn: str) -> Generator[None]:
    """Another user who asks one heavy query after the other."""
    import psycopg

    is_over = False

    def ask() -> None:
        with psycopg.connect(dsn, autocommit=True) as connection:
            while not is_over:
                connection.execute(HEAVY).fetchone()

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        is_over = True
        thread.join()


def tails(dsn: str, cpu: Callable[[], float]) -> tuple[float, float]:
    """Return the 99th percentiles of a row by its key, in milliseconds: alone, and beside a heavy user."""

    def tail() -> float:
        return asyncio.run(serve.load(dsn, LOOKUP, 8, 4, cpu)).p99

    alone = tail()
    with heavy_user(dsn):
        return alone, tail()


HEAD = ("load", "discreet", "its CPU", "PostgreSQL", "its CPU", "of PostgreSQL's rate")


def measure_loads() -> FigureTable:
    """Return what pipelines, COPY, heavy users and another engine give."""
    lines: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        serve.write_people(folder / "people.csv", MANY)
        ours, our_cpu = stack.enter_context(serve.guarded(folder))
        theirs, their_cpu = stack.enter_context(serve.postgres(folder, folder / "people.csv"))
        ours = ours.format(user="reader")
        for title, measure in (
            (f"{PIPELINED:,} `SELECT 1`, one by one", one_by_one),
            (f"{PIPELINED:,} `SELECT 1`, in a pipeline", pipeline),
            ("COPY of 1,000,000 rows as text", lambda *where: copy_out(where[0], "text", where[1])),
            (
                "COPY of 1,000,000 rows, binary",
                lambda *where: copy_out(where[0], "binary", where[1]),
            ),
        ):
            mine, other = measure(ours, our_cpu), measure(theirs, their_cpu)
            lines.append((title, *_cells(mine), *_cells(other), f"{other[1] / mine[1]:.2f}"))
        for title, where, cpu in (
            ("discreet", ours, our_cpu),
            ("PostgreSQL", theirs, their_cpu),
        ):
            alone, beside = tails(where, cpu)
            text = f"{alone:.1f} ms, beside a heavy user {beside:.1f} ms ({beside / alone:.1f}×)"
            lines.append(
                (f"99th percentile of a row by its key, 8 clients, {title}", text, *[""] * 4)
            )
        lines += _engine_lines(folder, stack, theirs, their_cpu)
    return FigureTable(HEAD, tuple(lines))


def _cells(found: tuple[float, float]) -> tuple[str, str]:
    return f"{found[1]:.2f} s", f"{found[0]:,.0f} ms"


def _engine_lines(
    folder: Path, stack: contextlib.ExitStack, url: str, cpu: Callable[[], float]
) -> list[tuple[str, ...]]:
    """Return the rates of a discreet that serves the tables of PostgreSQL."""
    (folder / "over").mkdir()
    ours, our_cpu = stack.enter_context(serve.guarded(folder / "over", database=url))
    lines: list[tuple[str, ...]] = []
    for work in (CONSTANT, replace(LOOKUP, text="SELECT name FROM people WHERE id = $1")):
        mine = asyncio.run(serve.load(ours.format(user="reader"), work, 64, 3, our_cpu))
        other = asyncio.run(serve.load(url, work, 64, 3, cpu))
        lines.append(
            (
                f"{work.name} over PostgreSQL, 64 clients",
                f"{mine.rate:,.0f} per s",
                f"{mine.cpu:.2f} ms each",
                f"{other.rate:,.0f} per s",
                f"{other.cpu:.2f} ms each",
                f"{mine.rate / other.rate:.3f}",
            )
        )
    return lines


def measure_pieces(*, runs: int = 600) -> FigureTable:
    """Return the CPU of each piece of a statement that is run again, in this process."""
    with tempfile.TemporaryDirectory() as name, contextlib.closing(_open(Path(name))) as server:
        found = {work.name: _pieces(server, work, runs) for work in (CONSTANT, LOOKUP)}
    pieces = list(next(iter(found.values())))
    return FigureTable(
        ("CPU of", *found),
        tuple((piece, *(f"{found[work][piece]:.3f} ms" for work in found)) for piece in pieces),
    )


def _open(folder: Path) -> Any:
    from discreet.server.settings import read_settings
    from discreet.server.startup import open_server

    os.environ["DISCREET_ADMIN_PASSWORD"] = serve.PASSWORD
    serve.write_people(folder / "people.csv")
    (folder / "policy.yaml").write_text(serve.POLICY, "utf-8")
    settings = read_settings(folder / "data", policy=folder / "policy.yaml", plain=True)
    return open_server(settings).server


def _pieces(server: Any, work: serve.Work, runs: int) -> dict[str, float]:
    from discreet.guard.identity.authenticator import ClientInfo
    from discreet.guard.journal.event import Event
    from discreet.server.pg.exchange import take_part
    from discreet.server.pg.limits import ProtocolLimits
    from discreet.server.pg.message_handler import MessageHandler
    from discreet.server.pg.messages import Frame
    from discreet.server.pg.rows import data_rows

    client = ClientInfo("admin", "127.0.0.1", is_local=True, is_encrypted=True)
    session = server.open_session(client, {}, "bench")
    if work is LOOKUP:
        for statement in (serve.KEYED, "INSERT INTO keyed SELECT id, name FROM people"):
            session.run(session.prepare(session.split(statement)[0]))
    handler, chance = MessageHandler(session, ProtocolLimits()), random.Random(1)
    list(handler.answer([Frame(b"P", b"s\0" + work.text.encode() + b"\0\0\0"), Frame(b"S", b"")]))

    def messages() -> list[Frame]:
        values = work.values(chance)
        cells = b"".join(struct.pack("!ii", 4, value) for value in values)
        bound = b"\0s\0\0\x01\0\x01" + struct.pack("!H", len(values)) + cells + b"\0\x01\0\x01"
        return [Frame(b"B", bound), Frame(b"E", b"\0\0\0\0\0"), Frame(b"S", b"")]

    prepared = session.prepare(session.split(work.text)[0])
    outcome = session.run(prepared, work.values(chance))
    connection = session.state.transaction.connection
    (query,) = (bound.query for bound in prepared.plan.queries.values())
    event = Event(
        server.clock(),
        "statement",
        user="admin",
        statement=work.text,
        reads={"public.people": ("id", "name")},
    )

    def run_in_engine() -> None:
        connection.run(query, [str(value) for value in work.values(chance)], limit=1_000_000)

    def write_rows() -> None:
        list(data_rows(outcome.table, outcome.fields, [1]))

    found = {
        "the engine, with its result as Arrow": cpu_of(run_in_engine, runs),
        "the journal: entry, hashes, SQLite and the disk": cpu_of(
            lambda: server.journal.record(event), runs
        ),
        "which rights are the newest": cpu_of(server.control.authority, runs),
        "the rows as messages": cpu_of(write_rows, runs),
    }
    whole = cpu_of(lambda: take_part(handler.answer(messages())), runs)
    rest = whole - sum(found.values())
    return {**found, "messages, decision, limits, metrics and all else": rest, "together": whole}


def cpu_of(work: Callable[[], object], runs: int) -> float:
    """Return the least CPU milliseconds of this process that one of several rounds took for each run."""
    times: list[float] = []
    for _ in range(6):
        began = time.process_time()
        for _ in range(runs // 6):
            work()
        times.append(1000 * (time.process_time() - began) / (runs // 6))
    return min(times)


def main() -> None:
    """Print both tables."""
    print(measure_pieces().to_markdown())
    print(measure_loads().to_markdown())


if __name__ == "__main__":
    main()
