"""A session's connection to a served PostgreSQL: serializable, reconnecting, with fixed errors."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from sqlglot import exp

from discreet.engines.databases.database import ResultField
from discreet.engines.databases.failures import statement_failure, too_many_bytes, too_many_rows
from discreet.engines.databases.postgres_rows import (
    build_transfer_query,
    postgres_field,
    read_table,
)
from discreet.engines.databases.sql_text import query_text, statement_text
from discreet.engines.databases.transaction_state import TransactionState
from discreet.engines.engine import ArrowTable
from discreet.errors import MissingExtra, StatementFailed
from discreet.sql import build
from discreet.stores.hosts import parameters_of
from discreet.stores.primary import connect_primary

try:
    import psycopg
    from psycopg.pq import DiagnosticField, ExecStatus
except ImportError as error:
    raise MissingExtra(what="PostgreSQL", extra="postgres") from error


Answer = TypeVar("Answer")

_SPOOL_BYTES = 32 << 20
_ATTEMPTS = 8  # of one statement that is a transaction of its own
_RETRIED = ("40001", "40P01")
_SETTINGS = {
    "client_encoding": "UTF8",
    "datestyle": "ISO",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
    "timezone": "UTC",
    "standard_conforming_strings": "on",
    "search_path": "pg_catalog",  # every table is named with its schema
    "default_transaction_isolation": "serializable",
}
# Errors that concern the gateway's own account are not reported to the client.
_OURS = {"42501": "XX000", "28000": "08006", "28P01": "08006", "3D000": "08006"}


def open_session(url: str) -> psycopg.Connection[Any]:
    """Return a connection to the primary, with the settings that generated SQL relies on."""
    options = " ".join(f"-c {name}={value}" for name, value in _SETTINGS.items())
    try:
        return connect_primary({**parameters_of(url), "options": options}, autocommit=True)
    except (psycopg.Error, ValueError):
        pass
    raise statement_failure("08006", "the database cannot be reached")


class PostgresConnection(TransactionState):
    """One session on a PostgreSQL server; a broken connection is renewed between transactions."""

    dialect = "postgres"

    def __init__(self, url: str, *, result_bytes: int | None = None) -> None:
        super().__init__()
        self._url, self._result_bytes = url, result_bytes
        self._connection = open_session(url)

    def begin(self, *, read_only: bool = False) -> None:
        """Start a transaction: it sees one snapshot, and is committed whole or not at all."""
        self._require_closed()
        mode = b" READ ONLY" if read_only else b""
        self._again_if_lost(lambda: self._send(b"BEGIN ISOLATION LEVEL SERIALIZABLE" + mode))
        self._is_open = True

    def commit(self) -> None:
        """Commit the transaction."""
        if not self._is_open:
            return
        if self._has_failed:
            self.rollback()
            raise statement_failure("25P02")
        try:
            self._translate_failures(lambda: self._send(b"COMMIT"))
        except StatementFailed:
            self._roll_back()
            if self._connection.closed:
                raise statement_failure("08007") from None
            raise
        finally:
            self._end_transaction()

    def rollback(self) -> None:
        """Roll back the transaction; has no effect outside one."""
        if self._is_open:
            self._roll_back()
            self._end_transaction()

    def savepoint(self, name: str) -> None:
        """Set a savepoint."""
        self._require_transaction()
        self._run_statement(lambda: self._send(b"SAVEPOINT " + _quote_identifier(name)))
        self._marks.append((name, 0))

    def release(self, name: str) -> None:
        """Release a savepoint, and those after it."""
        self._require_transaction()
        place = self._find(name)
        self._run_statement(lambda: self._send(b"RELEASE SAVEPOINT " + _quote_identifier(name)))
        del self._marks[place:]

    def rollback_to(self, name: str) -> None:
        """Roll back to a savepoint, which stays; a failed transaction can go on from there."""
        self._require_transaction()
        place = self._find(name)
        self._has_failed = False
        self._run_statement(lambda: self._send(b"ROLLBACK TO SAVEPOINT " + _quote_identifier(name)))
        del self._marks[place + 1 :]

    def describe(self, query: exp.Query) -> tuple[ResultField, ...]:
        """Return the columns of a result; nothing is executed."""
        text = query_text(query, dialect=self.dialect).encode()
        return self._run_statement(lambda: self._describe_result(text), is_repeatable=True)

    def query(self, query: exp.Query, *, limit: int | None = None) -> ArrowTable:
        """Return the result of a query; 54000 when it has more than `limit` rows."""
        text = query_text(query, dialect=self.dialect).encode()

        def run() -> ArrowTable:
            fields = self._describe_result(text)
            wanted = build_transfer_query(query.copy(), fields)
            return self._copy_result(wanted if limit is None else wanted.limit(limit + 1), fields)

        table = self._run_with_retry(run, is_repeatable=True)
        if limit is not None and table.num_rows > limit:
            self.fail()
            raise too_many_rows(limit)
        return table

    def execute(self, statement: exp.Expr, *, touches: Sequence[Sequence[str]] = ()) -> int:
        """Run a write or DDL and return how many rows it changed."""
        del touches  # PostgreSQL detects conflicting writers itself
        text = statement_text(statement, dialect=self.dialect).encode()
        return self._run_with_retry(lambda: self._send(text))

    def execute_returning(
        self, statement: exp.Expr, *, touches: Sequence[Sequence[str]] = ()
    ) -> ArrowTable:
        """Run a write with RETURNING and return its rows."""
        del touches
        text = statement_text(statement, dialect=self.dialect).encode()
        written = exp.CTE(this=statement.copy(), alias=exp.TableAlias(this=exp.to_identifier("w")))

        def run() -> ArrowTable:
            fields = self._describe_result(text)
            rows = build_transfer_query(build.select(exp.Star(), source=exp.to_table("w")), fields)
            rows.set("with_", exp.With(expressions=[written.copy()]))
            return self._copy_result(rows, fields)

        return self._run_with_retry(run)

    def interrupt(self) -> None:
        """Make the running statement fail with 57014."""
        with contextlib.suppress(psycopg.Error):
            self._stop(lambda: self._connection.cancel_safe(timeout=5))

    def close(self) -> None:
        """End the session and roll back an open transaction."""
        self.rollback()
        with contextlib.suppress(psycopg.Error):
            self._connection.close()

    # --- statements -----------------------------------------------------------------------------

    def _run_statement(self, call: Callable[[], Answer], *, is_repeatable: bool = False) -> Answer:
        """Run one statement, interruptibly; a failure fails the transaction, with a fixed error."""
        with self._allow_interrupt():
            if self._is_open or not is_repeatable:
                return self._translate_failures(call)
            return self._again_if_lost(call)

    def _run_with_retry(self, run: Callable[[], Answer], *, is_repeatable: bool = False) -> Answer:
        """Run one statement; outside a transaction, repeat it after a serialization failure."""
        if self._is_open:
            return self._run_statement(run)
        for attempt in range(_ATTEMPTS):
            self._renew_if_lost()
            try:
                return self._run_statement(run, is_repeatable=is_repeatable)
            except StatementFailed as error:
                if error.sqlstate not in _RETRIED or attempt == _ATTEMPTS - 1:
                    raise
            time.sleep(0.002 * 2**attempt)
        raise statement_failure("40001")

    def _send(self, text: bytes) -> int:
        with self._connection.cursor() as cursor:
            cursor.execute(text)
            return max(cursor.rowcount, 0)

    def _describe_result(self, text: bytes) -> tuple[ResultField, ...]:
        server = self._connection.pgconn
        for result in (server.prepare(b"", text), server.describe_prepared(b"")):
            if result.status != ExecStatus.COMMAND_OK:
                state = result.error_field(DiagnosticField.SQLSTATE)
                if state is None:
                    raise psycopg.OperationalError
                raise statement_failure(_OURS.get(state.decode(), state.decode()))
        return tuple(
            postgres_field(
                (result.fname(place) or b"").decode(), result.ftype(place), result.fmod(place)
            )
            for place in range(result.nfields)
        )

    def _copy_result(self, wanted: exp.Select, fields: Sequence[ResultField]) -> ArrowTable:
        if not fields:
            raise statement_failure("0A000", "a result needs at least one column")
        copy = exp.Copy(
            this=exp.Subquery(this=wanted),
            kind=False,
            files=[exp.var("STDOUT")],
            params=[
                exp.CopyParameter(this=exp.var("FORMAT"), expression=exp.var("csv")),
                exp.CopyParameter(this=exp.var("FORCE_QUOTE"), expression=exp.Star()),
            ],
        )
        text = statement_text(copy, dialect=self.dialect).encode()
        with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as spool:
            with self._connection.cursor() as cursor, cursor.copy(text) as blocks:
                for block in blocks:
                    spool.write(block)
                    if self._result_bytes is not None and spool.tell() > self._result_bytes:
                        raise too_many_bytes(self._result_bytes)
            spool.seek(0)
            return read_table(spool, fields)

    def _translate_failures(self, call: Callable[[], Answer]) -> Answer:
        # Raised after the `except` block: inside it, Python would attach the server's error.
        try:
            return call()
        except psycopg.Error as error:
            failure = _translate_error(error)
        except pa.ArrowException:
            failure = statement_failure("22003")
        raise failure

    # --- the connection -------------------------------------------------------------------------

    def _again_if_lost(self, call: Callable[[], Answer]) -> Answer:
        """Run a call that changes nothing; repeat it once if the connection was lost."""
        self._renew_if_lost()
        try:
            return self._translate_failures(call)
        except StatementFailed:
            if not self._connection.closed:
                raise
        self._renew_if_lost()
        return self._translate_failures(call)

    def _renew_if_lost(self) -> None:
        if self._connection.closed:
            self._connection = open_session(self._url)

    def _roll_back(self) -> None:
        with contextlib.suppress(psycopg.Error):
            self._send(b"ROLLBACK")


def _translate_error(error: psycopg.Error) -> StatementFailed:
    """Return the failure to report for the server's error: it may hold names, never values."""
    if error.sqlstate is None:
        return statement_failure("08006")
    state = _OURS.get(error.sqlstate, error.sqlstate)
    table, column = error.diag.table_name, error.diag.column_name
    if state == "23502" and table and column:
        return statement_failure(
            state,
            f'null value in column "{column}" of relation "{table}" violates not-null constraint',
        )
    if state == "23514" and table:
        return statement_failure(state, f'new row for relation "{table}" violates check constraint')
    return statement_failure(state)


def _quote_identifier(name: str) -> bytes:
    return exp.to_identifier(name, quoted=True).sql(dialect="postgres").encode()
