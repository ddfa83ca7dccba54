"""A session's connection to a served DuckDB: serializable transactions, savepoints, fixed errors."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import duckdb
import pyarrow as pa
from sqlglot import exp

from discreet.engines.databases.database import (
    EngineQuery,
    EngineTraits,
    ResultField,
    cast_to_fields,
)
from discreet.engines.databases.failures import statement_failure
from discreet.engines.databases.transaction_state import TransactionState
from discreet.engines.duckdb.failures import call_duckdb, duckdb_failure
from discreet.engines.duckdb.results import (
    duckdb_field,
    fetch_bounded,
    needs_text,
    open_batches,
    read_bounded,
)
from discreet.engines.duckdb.text_casts import TEXT_PATTERNS
from discreet.engines.duckdb.writers import (
    CommitClock,
    Names,
    WriterQueue,
    fold_name_parts,
    physical_tables,
    written_tables,
)
from discreet.engines.engine import ArrowSchema, ArrowTable
from discreet.engines.render import number_columns, query_text, statement_text
from discreet.errors import Bug
from discreet.sql import build
from discreet.sql.decode import duckdb_literal

Answer = TypeVar("Answer")

TEMPORARY_CATALOG = "temp"  # DuckDB's catalog of this connection's own tables
TRAITS = EngineTraits(
    "duckdb",
    is_postgresql=False,
    has_default_escape=False,
    read_literal=duckdb_literal,
    text_patterns=TEXT_PATTERNS,
    has_offset_fence=False,
    computes_hidden_rows=True,
    has_letter_types=False,
    enforces_foreign_keys=False,
    compares_keys_early=True,
    temporary_schema=(TEMPORARY_CATALOG, "main"),
    row_id="rowid",
)


@dataclass(frozen=True)
class StagedRows:
    """Rows that a transaction reads under a name."""

    name: str
    rows: ArrowTable


@dataclass(frozen=True)
class ResultShape:
    """How the result of a query was read the last time: with which casts, and as which columns."""

    statement: duckdb.Statement
    schema: ArrowSchema
    fields: tuple[ResultField, ...]
    is_final: bool  # whether DuckDB's columns are what the caller gets


@dataclass(eq=False)
class DuckDBQuery:
    """A query that DuckDB has parsed, the tables that it reads, and the shape of its last result."""

    tree: exp.Query
    text: str
    statement: duckdb.Statement
    tables: frozenset[Names]
    shape: ResultShape | None = None


class DuckDBConnection(TransactionState):
    """One session on a shared DuckDB.

    Writes are kept as text until the transaction ends: DuckDB has no savepoints, so rolling back to
    one means rolling back everything and repeating the earlier writes. Trees are deterministic, and
    the connection holds the right to write meanwhile, so this gives the same rows.
    """

    traits = TRAITS

    def __init__(
        self,
        cursor: duckdb.DuckDBPyConnection,
        *,
        turn: WriterQueue,
        commits: CommitClock,
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
        self._log: list[str | StagedRows] = []
        self._staged = 0

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
            raise statement_failure("25P02")
        try:
            self._commit_transaction()
        except BaseException:
            self._roll_back()
            raise
        finally:
            self._end_transaction()

    def rollback(self) -> None:
        """Roll back the transaction; has no effect outside one."""
        if not self._is_open:
            return
        try:
            self._roll_back()
        finally:
            self._end_transaction()

    def fail(self) -> None:
        """Mark the transaction as failed: only a rollback is possible."""
        super().fail()
        if self._has_failed and not self._marks:  # nothing of it can be kept: others need not wait
            self._roll_back()
            self._end_writing()

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
            self._replay_log(length)

    def describe(self, query: exp.Query) -> tuple[ResultField, ...]:
        """Return the columns of a result; nothing is executed."""
        text = query_text(_remove_row_locks(query), dialect=self.traits.dialect)
        rows = self._run_statement(lambda: self._cursor.execute(f"DESCRIBE {text}").fetchall())
        return tuple(duckdb_field(str(row[0]), str(row[1])) for row in rows)

    def query(self, query: exp.Query, *, limit: int | None = None) -> ArrowTable:
        """Return the result of a query; 54000 when it has more than `limit` rows."""
        return self.run(self.prepare(query), limit=limit)

    def prepare(self, query: exp.Query) -> DuckDBQuery:
        """Return a query that `run` runs; its parameters are `$1` … `$n`, each the operand of a cast."""
        query = _remove_row_locks(query)
        text = query_text(query, dialect=self.traits.dialect)
        statement = self._run_statement(lambda: self._parse(text))
        return DuckDBQuery(query, text, statement, frozenset(physical_tables(query)))

    def run(
        self, query: EngineQuery, values: Sequence[str | None] = (), *, limit: int | None = None
    ) -> ArrowTable:
        """Return the result of a prepared query with texts for its parameters, as `query` does."""
        if not isinstance(query, DuckDBQuery):
            raise Bug("A query was prepared by another engine.")
        if self._is_open:
            self._read |= query.tables
        return self._run_statement(lambda: self._fetch(query, list(values), limit))

    def execute(self, statement: exp.Expr, *, touches: Sequence[Sequence[str]] = ()) -> int:
        """Run a write or DDL and return how many rows it changed."""
        text = statement_text(statement, dialect=self.traits.dialect)

        def run() -> int:
            found = self._cursor.execute(text).fetchall()
            is_count = bool(found) and isinstance(found[0][0], int)
            return found[0][0] if is_count else 0

        return self._write(statement, text, touches, run)

    def execute_returning(
        self, statement: exp.Expr, *, touches: Sequence[Sequence[str]] = ()
    ) -> ArrowTable:
        """Run a write with RETURNING and return its rows."""
        text = statement_text(statement, dialect=self.traits.dialect)

        def run() -> ArrowTable:
            result = self._cursor.execute(text)
            types = _describe_columns(result)
            table = fetch_bounded(result, limit=None, most=self._result_bytes, length=len(text))
            texts = [place for place, (_, kind) in enumerate(types) if needs_text(kind)]
            for place in texts:  # a write cannot run again with casts
                cells = [None if cell is None else str(cell) for cell in table[place].to_pylist()]
                table = table.set_column(place, types[place][0], pa.array(cells, pa.string()))
            return cast_to_fields(table, [duckdb_field(*item) for item in types])

        return self._write(statement, text, touches, run)

    def stage(self, rows: ArrowTable) -> exp.Table:
        """Make rows of texts a temporary table of the open transaction, and return its name."""
        self._require_transaction()
        self._staged += 1
        staged = StagedRows(f"discreet_staged_{self._staged}", rows)

        def register() -> None:
            self._begin_writing()
            self._repeat_entry(staged)
            self._log.append(staged)

        self._run_statement(register)
        return build.table(*self.traits.temporary_schema, staged.name)

    def lock_tables(self, names: Sequence[Sequence[str]], *, waits: bool) -> None:
        """Keep other transactions from writing until this one ends: there is one writer at a time."""
        self._require_transaction()
        if self._is_read_only:
            self.fail()
            raise statement_failure("25006")
        self._run_statement(lambda: self._begin_writing(self._patience if waits else 0.0))
        self._read |= {fold_name_parts(name) for name in names}

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

    def _run_statement(self, call: Callable[[], Answer]) -> Answer:
        """Run one statement, interruptibly; a failure fails the transaction, with a fixed error."""
        with self._allow_interrupt():
            return call_duckdb(call, duckdb_failure)

    def _parse(self, text: str) -> duckdb.Statement:
        statements = self._cursor.extract_statements(text)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise statement_failure("0A000")
        return statements[0]

    def _fetch(self, query: DuckDBQuery, values: list[str | None], limit: int | None) -> ArrowTable:
        shape, length, most = query.shape, len(query.text), self._result_bytes
        if shape is not None:
            result = self._cursor.execute(shape.statement, values)
            reader = open_batches(result, limit=limit, length=length)
            if reader.schema.equals(shape.schema):
                table = read_bounded(reader, limit=limit, most=most)
                return table if shape.is_final else cast_to_fields(table, shape.fields)
            reader.close()  # the type of a column may depend on a value, as that of ROUND does
        statement = query.statement
        result = self._cursor.execute(statement, values)
        types = _describe_columns(result)
        if any(needs_text(kind) for _, kind in types):
            text = statement_text(_as_text(query.tree, types), dialect=self.traits.dialect)
            statement = self._parse(text)
            result = self._cursor.execute(statement, values)
        table = fetch_bounded(result, limit=limit, most=most, length=length)
        fields = tuple(duckdb_field(*item) for item in types)
        found = cast_to_fields(table, fields)
        query.shape = ResultShape(
            statement, table.schema, fields, found.schema.equals(table.schema)
        )
        return found

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
            raise statement_failure("25006")

        def ordered() -> Answer:
            self._begin_writing()
            self._record_read_tables(statement)
            answer = run()
            self._log.append(text)
            self._record_written_tables(statement, touches)
            return answer

        return self._run_statement(ordered)

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
        with self._commits.hold_clock() as now:
            call_duckdb(lambda: self._cursor.execute("BEGIN TRANSACTION"), duckdb_failure)
            self._snapshot = now

    def _commit_transaction(self) -> None:
        def commit() -> None:
            self._cursor.execute("COMMIT")

        if not self._is_writer:
            call_duckdb(commit, duckdb_failure)
            return
        with self._commits.commit(self._written):
            call_duckdb(commit, duckdb_failure)

    def _roll_back(self) -> None:
        with contextlib.suppress(duckdb.Error):  # DuckDB has rolled it back already
            self._cursor.execute("ROLLBACK")

    def _end_transaction(self) -> None:
        super()._end_transaction()
        for entry in self._log:
            if isinstance(entry, StagedRows):
                with contextlib.suppress(duckdb.Error):
                    self._cursor.unregister(entry.name)
        self._is_read_only = False
        self._read.clear()
        self._log.clear()
        self._end_writing()

    def _begin_writing(self, patience: float | None = None) -> None:
        """Wait for the right to write, and renew the snapshot to include all earlier commits."""
        if self._is_writer:
            return
        timeout = self._patience if patience is None else patience
        self._turn.acquire(self, timeout=timeout, is_stopped=lambda: self._is_stopped)
        self._is_writer = True
        # The snapshot moves to now; nothing this transaction has read may have changed since.
        if self._commits.is_changed(self._read, since=self._snapshot):
            self._end_writing()
            raise statement_failure("40001")
        self._roll_back()
        self._start()

    def _end_writing(self) -> None:
        self._is_writer, self._written = False, set()
        self._turn.release(self)

    def _replay_log(self, length: int) -> None:
        """Roll back everything and repeat the writes of the first `length` statements."""
        kept, self._log = self._log[:length], self._log[:length]
        self._has_failed = False

        def again() -> None:
            if self._is_writer:
                self._roll_back()
                self._start()
            else:
                self._begin_writing()
            for entry in kept:
                self._repeat_entry(entry)

        self._run_statement(again)
        if not kept:
            self._end_writing()

    def _repeat_entry(self, entry: str | StagedRows) -> None:
        if isinstance(entry, str):
            self._cursor.execute(entry)
        else:  # a view of the connection, which ends with its transaction
            self._cursor.register(entry.name, entry.rows)

    def _record_written_tables(self, statement: exp.Expr, touches: Sequence[Sequence[str]]) -> None:
        tables = written_tables(statement, touches)
        if tables is None or self._written is None:
            self._written = None
            return
        self._written |= {table for table in tables if table[0] != TEMPORARY_CATALOG}

    def _record_read_tables(self, tree: exp.Expr) -> None:
        if self._is_open:
            self._read |= physical_tables(tree)


def _describe_columns(result: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    return [(str(name), str(kind)) for name, kind, *_ in result.description or []]


def _remove_row_locks(query: exp.Query) -> exp.Query:
    """Return a query without FOR UPDATE: writers are checked for conflicts in any case."""
    if not query.args.get("locks"):
        return query
    query = query.copy()
    query.set("locks", None)
    return query


def _as_text(query: exp.Query, types: Sequence[tuple[str, str]]) -> exp.Select:
    """Return a query in which DuckDB casts to text the types that clients do not have."""
    inner, columns = number_columns(query, len(types))
    wanted = [
        exp.cast(column, "TEXT") if needs_text(kind) else column
        for column, (_, kind) in zip(columns, types, strict=True)
    ]
    return build.select(*wanted, source=inner)
