"""A session's connection to a served PostgreSQL: serializable, reconnecting, with fixed errors."""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlglot import exp

from discreet.engines.databases.database import EngineQuery, EngineTraits, ResultField
from discreet.engines.databases.failures import statement_failure, too_many_rows
from discreet.engines.databases.prepared import TreeQuery
from discreet.engines.databases.transaction_state import TransactionState
from discreet.engines.engine import ArrowTable
from discreet.engines.postgres.engine import copy_in, define_table
from discreet.engines.postgres.failures import call_postgres, client_state, postgres_failure
from discreet.engines.postgres.session import copy_statement, open_session, spool_copy
from discreet.engines.postgres.transit import (
    build_transfer_query,
    postgres_field,
    read_reported,
    reported_wire,
)
from discreet.engines.render import drop_table, query_text, statement_text
from discreet.errors import Bug, MissingExtra, StatementFailed
from discreet.sql import build

try:
    import psycopg
    from psycopg.pq import DiagnosticField, ExecStatus
except ImportError as error:
    raise MissingExtra(what="PostgreSQL", extra="postgres") from error


Answer = TypeVar("Answer")

_ATTEMPTS = 8  # of one statement that is a transaction of its own
_RETRIED = ("40001", "40P01")
_SETTINGS = {
    "intervalstyle": "postgres",
    "standard_conforming_strings": "on",
    "search_path": "pg_catalog",  # every table is named with its schema
    "default_transaction_isolation": "serializable",
}


def _open_connection(url: str) -> psycopg.Connection[Any]:
    try:
        return open_session(url, _SETTINGS)
    except (psycopg.Error, ValueError):
        pass
    raise statement_failure("08006", "the database cannot be reached")


@dataclass(frozen=True)
class TextTemplate:
    """A statement with marks in place of literals, such as COPY, which takes no parameters."""

    parts: tuple[str, ...]  # the texts between marks
    places: tuple[int, ...]  # which value each mark stands for

    @staticmethod
    def make_marks(count: int) -> tuple[str, ...]:
        """Return texts that no statement holds: each is the value of one parameter."""
        name = secrets.token_hex(16)
        return tuple(f"{name} {place}" for place in range(count))

    @classmethod
    def of_text(cls, text: str, marks: Sequence[str]) -> TextTemplate:
        """Return the template of a statement whose literals are marks."""
        literals = [_write_literal(mark) for mark in marks]
        if not literals:
            return cls((text,), ())
        found = re.split(f"({'|'.join(map(re.escape, literals))})", text)
        return cls(tuple(found[::2]), tuple(literals.index(mark) for mark in found[1::2]))

    def with_values(self, values: Sequence[str | None]) -> bytes:
        """Return the statement with literals."""
        found = [self.parts[0]]
        for place, part in zip(self.places, self.parts[1:], strict=True):
            found += (_write_literal(values[place]), part)
        return "".join(found).encode()


def _write_literal(value: str | None) -> str:
    literal = exp.Null() if value is None else build.text(value)
    return literal.sql(dialect=PostgresConnection.traits.dialect)


@dataclass(frozen=True)
class CopyShape:
    """How the rows of a query are sent: as which columns, by which statement."""

    fields: tuple[ResultField, ...]
    text: TextTemplate


@dataclass(eq=False)
class PostgresQuery:
    """A query that is written in PostgreSQL's SQL once, for each limit of its rows."""

    source: TreeQuery
    shapes: dict[int | None, CopyShape] = field(default_factory=dict[int | None, CopyShape])

    @property
    def text(self) -> str:
        """It in PostgreSQL's SQL."""
        return self.source.text


class PostgresConnection(TransactionState):
    """One session on a PostgreSQL server; a broken connection is renewed between transactions."""

    traits = EngineTraits()

    def __init__(self, url: str, *, result_bytes: int | None = None) -> None:
        super().__init__()
        self._url, self._result_bytes = url, result_bytes
        self._connection = _open_connection(url)
        self._staged: list[exp.Table] = []

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
            call_postgres(lambda: self._send(b"COMMIT"), postgres_failure)
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
        text = query_text(query, dialect=self.traits.dialect).encode()
        return self._run_statement(lambda: self._describe_result(text), is_repeatable=True)

    def query(self, query: exp.Query, *, limit: int | None = None) -> ArrowTable:
        """Return the result of a query; 54000 when it has more than `limit` rows."""
        return self.run(self.prepare(query), limit=limit)

    def prepare(self, query: exp.Query) -> PostgresQuery:
        """Return a query that `run` runs; its parameters are `$1` … `$n`, each the operand of a cast."""
        return PostgresQuery(TreeQuery(query, query_text(query, dialect=self.traits.dialect)))

    def run(
        self, query: EngineQuery, values: Sequence[str | None] = (), *, limit: int | None = None
    ) -> ArrowTable:
        """Return the result of a prepared query with texts for its parameters, as `query` does."""
        if not isinstance(query, PostgresQuery):
            raise Bug("A query was prepared by another engine.")

        def run() -> ArrowTable:
            shape = query.shapes.get(limit)
            if shape is None:
                shape = query.shapes[limit] = self._shape_copy(query.source, values, limit)
            text = shape.text.with_values(values)
            with spool_copy(self._connection, text, most=self._result_bytes) as spool:
                return read_reported(spool, shape.fields)

        table = self._run_with_retry(run, is_repeatable=True)
        if limit is not None and table.num_rows > limit:
            self.fail()
            raise too_many_rows(limit)
        return table

    def _shape_copy(
        self, query: TreeQuery, values: Sequence[str | None], limit: int | None
    ) -> CopyShape:
        """Return how the rows of a query are sent, whatever the values of its parameters."""
        bound = query.with_values(values)
        fields = self._describe_result(query_text(bound, dialect=self.traits.dialect).encode())
        marks = TextTemplate.make_marks(len(values))
        wanted = build_transfer_query(
            query.with_values(marks), [reported_wire(field) for field in fields]
        )
        text = self._copy_text(wanted if limit is None else wanted.limit(limit + 1), fields)
        return CopyShape(fields, TextTemplate.of_text(text, marks))

    def execute(self, statement: exp.Expr, *, touches: Sequence[Sequence[str]] = ()) -> int:
        """Run a write or DDL and return how many rows it changed."""
        del touches  # PostgreSQL detects conflicting writers itself
        text = statement_text(statement, dialect=self.traits.dialect).encode()
        return self._run_with_retry(lambda: self._send(text))

    def execute_returning(
        self, statement: exp.Expr, *, touches: Sequence[Sequence[str]] = ()
    ) -> ArrowTable:
        """Run a write with RETURNING and return its rows."""
        del touches
        text = statement_text(statement, dialect=self.traits.dialect).encode()
        written = exp.CTE(this=statement.copy(), alias=exp.TableAlias(this=exp.to_identifier("w")))

        def run() -> ArrowTable:
            fields = self._describe_result(text)
            source = build.select(exp.Star(), source=exp.to_table("w"))
            rows = build_transfer_query(source, [reported_wire(field) for field in fields])
            rows.set("with_", exp.With(expressions=[written.copy()]))
            return self._copy_result(rows, fields)

        return self._run_with_retry(run)

    def stage(self, rows: ArrowTable) -> exp.Table:
        """Make rows of texts a temporary table of the open transaction, and return its name."""
        self._require_transaction()
        name = build.table(*self.traits.temporary_schema, f"discreet_staged_{len(self._staged)}")
        reader = rows.to_reader()
        self.execute(exp.Create(this=define_table(name, reader), kind="TABLE"))
        self._staged.append(name)

        def send() -> None:
            with self._connection.cursor() as cursor:
                copy_in(cursor, name, reader)

        self._run_statement(send)
        return name

    def lock_tables(self, names: Sequence[Sequence[str]], *, waits: bool) -> None:
        """Keep other transactions from writing tables until this one ends."""
        self._require_transaction()
        listed = b", ".join(b".".join(map(_quote_identifier, name)) for name in names)
        text = b"LOCK TABLE " + listed + b" IN SHARE ROW EXCLUSIVE MODE"
        self._run_statement(lambda: self._send(text if waits else text + b" NOWAIT"))

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
                return call_postgres(call, postgres_failure)
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
                raise statement_failure(client_state(state.decode()))
        return tuple(
            postgres_field(
                (result.fname(place) or b"").decode(), result.ftype(place), result.fmod(place)
            )
            for place in range(result.nfields)
        )

    def _copy_text(self, wanted: exp.Select, fields: Sequence[ResultField]) -> str:
        if not fields:
            raise statement_failure("0A000", "a result needs at least one column")
        return statement_text(copy_statement(wanted), dialect=self.traits.dialect)

    def _copy_result(self, wanted: exp.Select, fields: Sequence[ResultField]) -> ArrowTable:
        text = self._copy_text(wanted, fields).encode()
        with spool_copy(self._connection, text, most=self._result_bytes) as spool:
            return read_reported(spool, fields)

    # --- the connection -------------------------------------------------------------------------

    def _again_if_lost(self, call: Callable[[], Answer]) -> Answer:
        """Run a call that changes nothing; repeat it once if the connection was lost."""
        self._renew_if_lost()
        try:
            return call_postgres(call, postgres_failure)
        except StatementFailed:
            if not self._connection.closed:
                raise
        self._renew_if_lost()
        return call_postgres(call, postgres_failure)

    def _renew_if_lost(self) -> None:
        if self._connection.closed:
            self._connection = _open_connection(self._url)

    def _end_transaction(self) -> None:
        super()._end_transaction()
        staged, self._staged = self._staged, []
        for name in staged:
            with contextlib.suppress(psycopg.Error):
                text = statement_text(drop_table(name), dialect=self.traits.dialect)
                self._send(text.encode())

    def _roll_back(self) -> None:
        with contextlib.suppress(psycopg.Error):
            self._send(b"ROLLBACK")


def _quote_identifier(name: str) -> bytes:
    return exp.to_identifier(name, quoted=True).sql(dialect="postgres").encode()
