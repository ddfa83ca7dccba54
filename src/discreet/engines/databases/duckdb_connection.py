"""A session's connection to a served DuckDB: serializable transactions, savepoints, fixed errors."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, TypeVar

import duckdb
import pyarrow as pa
from sqlglot import exp

from discreet.engines.databases.bounded import bounded
from discreet.engines.databases.duckdb_failures import duckdb_failure
from discreet.engines.databases.failures import failed
from discreet.engines.databases.fields import duckdb_field, fitted, needs_text
from discreet.engines.databases.texts import (
    physical_tables,
    query_text,
    statement_text,
    written_tables,
)
from discreet.engines.databases.transacting import Transacting
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.engines.databases.database import Field
    from discreet.engines.databases.texts import Names
    from discreet.engines.databases.writers import Commits, Turn
    from discreet.engines.engine import ArrowTable

Answer = TypeVar("Answer")

SCRATCH = "temp"  # DuckDB's catalog of this connection's own tables


class DuckDBConnection(Transacting):
    """One session on a shared DuckDB.

    Writes are kept as text until the transaction ends: DuckDB has no savepoints, so rolling back to
    one means rolling back everything and repeating the earlier writes. Trees are deterministic, and
    the connection holds the right to write meanwhile, so this gives the same rows.
    """

    dialect = "duckdb"

    def __init__(
        self,
        cursor: duckdb.DuckDBPyConnection,
        *,
        turn: Turn,
        commits: Commits,
        patience: float,
        result_bytes: int | None = None,
    ) -> None:
        super().__init__()
        self._cursor, self._turn, self._commits = cursor, turn, commits
        self._patience, self._result_bytes = patience, result_bytes
        self._is_writer = self._is_read_only = False
        self._snapshot = 0
        self._read: set[Names] = set()
        self._written: set[Names] | None = set()  # None means any table
        self._log: list[str] = []

    def begin(self, *, read_only: bool = False) -> None:
        """Start a transaction: it sees one snapshot, and is committed whole or not at all."""
        self._require_closed()
        self._start()
        self._is_open, self._is_read_only = True, read_only

    def commit(self) -> None:
        """Commit the transaction."""
        if not self._is_open:
            return
        if self._has_failed:
            self.rollback()
            raise failed("25P02")
        try:
            self._keep()
        except BaseException:
            self._undo()
            raise
        finally:
            self._end()

    def rollback(self) -> None:
        """Roll back the transaction; has no effect outside one."""
        if not self._is_open:
            return
        try:
            self._undo()
        finally:
            self._end()

    def fail(self) -> None:
        """Mark the transaction as failed: only a rollback is possible."""
        super().fail()
        if self._has_failed and not self._marks:  # nothing of it can be kept: others need not wait
            self._undo()
            self._leave()

    def savepoint(self, name: str) -> None:
        """Set a savepoint."""
        self._require_transaction()
        self._require_usable()
        self._marks.append((name, len(self._log)))

    def release(self, name: str) -> None:
        """Release a savepoint, and those after it."""
        self._require_transaction()
        self._require_usable()
        del self._marks[self._find(name) :]

    def rollback_to(self, name: str) -> None:
        """Roll back to a savepoint, which stays; a failed transaction can go on from there."""
        self._require_transaction()
        place = self._find(name)
        length = self._marks[place][1]
        del self._marks[place + 1 :]
        if self._has_failed or length < len(self._log):
            self._rewind(length)

    def describe(self, query: exp.Query) -> tuple[Field, ...]:
        """Return the columns of a result; nothing is executed."""
        text = query_text(_unlocked(query), dialect=self.dialect)
        rows = self._statement(lambda: self._cursor.execute(f"DESCRIBE {text}").fetchall())
        return tuple(duckdb_field(str(row[0]), str(row[1])) for row in rows)

    def query(self, query: exp.Query, *, limit: int | None = None) -> ArrowTable:
        """Return the result of a query; 54000 when it has more than `limit` rows."""
        query = _unlocked(query)
        text = query_text(query, dialect=self.dialect)
        self._note(query)
        return self._statement(lambda: self._fetch(text, query, limit))

    def execute(self, statement: exp.Expr, *, touches: Sequence[Sequence[str]] = ()) -> int:
        """Run a write or DDL and return how many rows it changed."""
        text = statement_text(statement, dialect=self.dialect)

        def run() -> int:
            found = self._cursor.execute(text).fetchall()
            is_count = bool(found) and isinstance(found[0][0], int)
            return found[0][0] if is_count else 0

        return self._write(statement, text, touches, run)

    def execute_returning(
        self, statement: exp.Expr, *, touches: Sequence[Sequence[str]] = ()
    ) -> ArrowTable:
        """Run a write with RETURNING and return its rows."""
        text = statement_text(statement, dialect=self.dialect)

        def run() -> ArrowTable:
            result = self._cursor.execute(text)
            types = _described(result)
            table = bounded(result, limit=None, most=self._result_bytes, length=len(text))
            texts = [place for place, (_, kind) in enumerate(types) if needs_text(kind)]
            for place in texts:  # a write cannot run again with casts
                cells = [None if cell is None else str(cell) for cell in table[place].to_pylist()]
                table = table.set_column(place, types[place][0], pa.array(cells, pa.string()))
            return fitted(table, [duckdb_field(*item) for item in types])

        return self._write(statement, text, touches, run)

    def interrupt(self) -> None:
        """Make the running statement fail with 57014."""
        self._stop(self._cursor.interrupt)
        self._turn.wake()

    def close(self) -> None:
        """End the session and roll back an open transaction."""
        self.rollback()
        with contextlib.suppress(duckdb.Error):
            self._cursor.close()

    # --- statements -----------------------------------------------------------------------------

    def _statement(self, call: Callable[[], Answer]) -> Answer:
        """Run one statement, interruptibly; a failure fails the transaction, with a fixed error."""
        with self._stoppable():
            return self._told(call)

    def _told(self, call: Callable[[], Answer]) -> Answer:
        # Raised after the `except` block: inside it, Python would attach DuckDB's error.
        try:
            return call()
        except (duckdb.Error, pa.ArrowException) as error:
            failure = duckdb_failure(error)
        raise failure

    def _fetch(self, text: str, query: exp.Query, limit: int | None) -> ArrowTable:
        result = self._cursor.execute(text)
        types = _described(result)
        if any(needs_text(kind) for _, kind in types):
            text = statement_text(_as_text(query, types), dialect=self.dialect)
            result = self._cursor.execute(text)
        table = bounded(result, limit=limit, most=self._result_bytes, length=len(text))
        return fitted(table, [duckdb_field(*item) for item in types])

    def _write(
        self,
        statement: exp.Expr,
        text: str,
        touches: Sequence[Sequence[str]],
        run: Callable[[], Answer],
    ) -> Answer:
        if not self._is_open:
            return self._write_alone(statement, text, touches, run)
        if self._is_read_only:
            self.fail()
            raise failed("25006")

        def ordered() -> Answer:
            self._enter()
            self._note(statement)
            answer = run()
            self._log.append(text)
            self._touch(statement, touches)
            return answer

        return self._statement(ordered)

    def _write_alone(
        self,
        statement: exp.Expr,
        text: str,
        touches: Sequence[Sequence[str]],
        run: Callable[[], Answer],
    ) -> Answer:
        self.begin()
        try:
            answer = self._write(statement, text, touches, run)
        except BaseException:
            self.rollback()
            raise
        self.commit()
        return answer

    # --- transactions ---------------------------------------------------------------------------

    def _start(self) -> None:
        with self._commits.moment() as now:
            self._told(lambda: self._cursor.execute("BEGIN TRANSACTION"))
            self._snapshot = now

    def _keep(self) -> None:
        def commit() -> None:
            self._cursor.execute("COMMIT")

        if not self._is_writer:
            self._told(commit)
            return
        with self._commits.commit(self._written):
            self._told(commit)

    def _undo(self) -> None:
        with contextlib.suppress(duckdb.Error):  # DuckDB has rolled it back already
            self._cursor.execute("ROLLBACK")

    def _end(self) -> None:
        super()._end()
        self._is_read_only = False
        self._read.clear()
        self._log.clear()
        self._leave()

    def _enter(self) -> None:
        """Wait for the right to write, and renew the snapshot to include all earlier commits."""
        if self._is_writer:
            return
        self._turn.enter(self, timeout=self._patience, is_stopped=lambda: self._is_stopped)
        self._is_writer = True
        # The snapshot moves to now; nothing this transaction has read may have changed since.
        if self._commits.is_changed(self._read, since=self._snapshot):
            self._leave()
            raise failed("40001")
        self._undo()
        self._start()

    def _leave(self) -> None:
        self._is_writer, self._written = False, set()
        self._turn.leave(self)

    def _rewind(self, length: int) -> None:
        """Roll back everything and repeat the writes of the first `length` statements."""
        kept, self._log = self._log[:length], self._log[:length]
        self._has_failed = False

        def again() -> None:
            if self._is_writer:
                self._undo()
                self._start()
            else:
                self._enter()
            for text in kept:
                self._cursor.execute(text)

        self._statement(again)
        if not kept:
            self._leave()

    def _touch(self, statement: exp.Expr, touches: Sequence[Sequence[str]]) -> None:
        tables = written_tables(statement, touches)
        if tables is None or self._written is None:
            self._written = None
            return
        self._written |= {table for table in tables if table[0] != SCRATCH}

    def _note(self, tree: exp.Expr) -> None:
        if self._is_open:
            self._read |= physical_tables(tree)


def _described(result: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    return [(str(name), str(kind)) for name, kind, *_ in result.description or []]


def _unlocked(query: exp.Query) -> exp.Query:
    """Return a query without FOR UPDATE: writers are checked for conflicts in any case."""
    if not query.args.get("locks"):
        return query
    query = query.copy()
    query.set("locks", None)
    return query


def _as_text(query: exp.Query, types: Sequence[tuple[str, str]]) -> exp.Select:
    """Return a query in which DuckDB casts to text the types that clients do not have."""
    names = [f"c{place}" for place in range(len(types))]
    alias = exp.TableAlias(
        this=exp.to_identifier("q"), columns=[exp.to_identifier(name) for name in names]
    )
    wanted = [
        exp.cast(build.column(name, of="q"), "TEXT") if needs_text(kind) else build.column(name)
        for name, (_, kind) in zip(names, types, strict=True)
    ]
    return build.select(*wanted, source=exp.Subquery(this=query.copy(), alias=alias))
