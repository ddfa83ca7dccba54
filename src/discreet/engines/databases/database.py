"""The protocol of a served database: what a session can do, and how failures are reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from discreet.engines.engine import ArrowTable, Engine
from discreet.sql.types import arrow_type, decimal_type

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True)
class ResultField:
    """A column of a result; `type` is PostgreSQL's name of it, such as `int8` or `numeric`.

    Types that clients know: bool int2 int4 int8 float4 float8 numeric text varchar bytea date time
    timestamp timestamptz interval uuid json. Any other type is reported as text.
    """

    name: str
    type: str
    precision: int | None = None  # of numeric
    scale: int | None = None
    table: int = 0  # the OID of the relation that it is a column of, for clients that write back
    place: int = 0  # among the columns of that relation, from 1


def field_arrow_type(field: ResultField) -> Any:
    """Return the Arrow type of a column; None when it stays as the engine returned it."""
    if field.type == "numeric":
        if field.precision is None:
            return None
        return decimal_type(field.precision, field.scale or 0)
    if field.type == "interval" or field.type.endswith("[]"):
        return None
    return arrow_type(field.type) or pa.string()


def cast_to_fields(table: ArrowTable, fields: Sequence[ResultField]) -> ArrowTable:
    """Return `table` with the names and types of `fields`, by position."""
    columns: list[Any] = []
    for column, stated in zip(table.columns, fields, strict=True):
        wanted = field_arrow_type(stated)
        # Unsafe only truncates to microseconds.
        is_fine = pa.types.is_timestamp(column.type)
        same = wanted is None or column.type == wanted
        columns.append(column if same else column.cast(wanted, safe=not is_fine))
    return pa.Table.from_arrays(columns, names=[stated.name for stated in fields])


@dataclass(frozen=True)
class EngineTraits:
    """How an engine departs from PostgreSQL, whose SQL clients write. The defaults are PostgreSQL.

    The guard asks for traits, never for the name of an engine: what declares them can be served.

    Attributes:
        dialect: sqlglot's name of its SQL dialect.
        is_postgresql: Division, LIKE, substring, casts and sums mean what they mean in PostgreSQL. If
            not, they are rewritten to.
        has_default_escape: A backslash escapes in LIKE, without an ESCAPE clause.
        read_literal: Takes the text of a literal and PostgreSQL's name of its type, and returns the text
            that the engine reads in the same way; `StatementFailed` for one that PostgreSQL refuses.
            None: the engine reads literals as PostgreSQL does.
        text_patterns: Regular expressions by type: a text that is cast to the type must match, and its first
            group is cast. Texts that PostgreSQL refuses match none. No pattern: the engine refuses them.
        has_offset_fence: No condition outside of a subquery with OFFSET is computed inside of it.
        computes_hidden_rows: It may compute an expression for rows that a condition removes; its
            function TRY makes failures NULL. An engine has a fence or TRY: else an error would reveal
            hidden rows.
        has_letter_types: It stores varchar(n), char(n) and numeric without precision as PostgreSQL
            does. If not, lengths become checks, and such a numeric has ten digits after the point.
        enforces_foreign_keys: Also when a row and what refers to it change in one transaction.
        compares_keys_early: An UPDATE compares new unique keys with old ones that it has not yet
            replaced, and ON CONFLICT may change a row twice.
        has_arrays: It has arrays of one dimension, as PostgreSQL or as DuckDB.
        temporary_schema: What precedes the name of a temporary table.
        row_id: The name of a row's location.
    """

    dialect: str = "postgres"
    is_postgresql: bool = True
    has_default_escape: bool = True
    read_literal: Callable[[str, str], str] | None = None
    text_patterns: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    has_offset_fence: bool = True
    computes_hidden_rows: bool = False
    has_letter_types: bool = True
    enforces_foreign_keys: bool = True
    compares_keys_early: bool = False
    has_arrays: bool = True
    temporary_schema: tuple[str, ...] = ("pg_temp",)
    row_id: str = "ctid"


class EngineQuery(Protocol):
    """A query that an engine has checked and written in its own SQL: it runs with other values each time.

    It belongs to a database, not to one of its connections.
    """

    @property
    def text(self) -> str:
        """It in the engine's SQL."""
        ...


class DatabaseConnection(Protocol):
    """One session's connection. Trees are sqlglot trees without parameters, except those of `prepare`.

    Every failure is a `StatementFailed` with PostgreSQL's SQLSTATE and a fixed text: an engine's own
    message is never passed on. Methods run in a worker thread; `interrupt` may run in another.
    After a failure inside a transaction only `rollback` and `rollback_to` work: everything else
    fails with 25P02.
    """

    @property
    def traits(self) -> EngineTraits:
        """How its SQL departs from PostgreSQL's."""
        ...

    @property
    def in_transaction(self) -> bool:
        """Whether `begin` was called and neither `commit` nor `rollback` since."""
        ...

    def begin(self, *, read_only: bool = False) -> None:
        """Start a transaction: it sees one snapshot, and is committed whole or not at all."""
        ...

    def commit(self) -> None:
        """Commit the transaction.

        Raises:
            StatementFailed: 40001, another transaction committed first; this one is rolled back.
        """
        ...

    def rollback(self) -> None:
        """Roll back the transaction; has no effect outside one."""
        ...

    def savepoint(self, name: str) -> None:
        """Set a savepoint."""
        ...

    def release(self, name: str) -> None:
        """Release a savepoint, and those after it."""
        ...

    def rollback_to(self, name: str) -> None:
        """Roll back to a savepoint, which stays; a failed transaction can go on from there."""
        ...

    def describe(self, query: exp.Query) -> tuple[ResultField, ...]:
        """Return the columns of a result; nothing is executed."""
        ...

    def query(self, query: exp.Query, *, limit: int | None = None) -> ArrowTable:
        """Return the result of a query; 54000 when it has more than `limit` rows."""
        ...

    def prepare(self, query: exp.Query) -> EngineQuery:
        """Return a query that `run` runs; its parameters are `$1` … `$n`, each the operand of a cast."""
        ...

    def run(
        self, query: EngineQuery, values: Sequence[str | None] = (), *, limit: int | None = None
    ) -> ArrowTable:
        """Return the result of a prepared query with texts for its parameters, as `query` does."""
        ...

    def execute(self, statement: exp.Expr, *, touches: Sequence[Sequence[str]] = ()) -> int:
        """Run a write or DDL and return how many rows it changed.

        `touches` are the physical tables it writes, which order the writers. Outside `begin` the
        statement is a transaction of its own.
        """
        ...

    def execute_returning(
        self, statement: exp.Expr, *, touches: Sequence[Sequence[str]] = ()
    ) -> ArrowTable:
        """Run a write with RETURNING as `execute` does, and return its rows."""
        ...

    def stage(self, rows: ArrowTable) -> exp.Table:
        """Make rows of texts a temporary table of the open transaction, and return its name."""
        ...

    def lock_tables(self, names: Sequence[Sequence[str]], *, waits: bool) -> None:
        """Keep other transactions from writing tables until this one ends; 55P03 if it has to wait and may not."""
        ...

    def fail(self) -> None:
        """Mark the open transaction as failed, such as after a trigger's refusal."""
        ...

    def interrupt(self) -> None:
        """Make the running statement fail with 57014."""
        ...

    def close(self) -> None:
        """End the session and roll back an open transaction."""
        ...


class EmbeddedDatabase(Protocol):
    """A database that runs inside the server: it calls functions in Python, and is copied here."""

    seals_spill: bool  # whether what it writes beside its file is encrypted

    def add_function(
        self, name: str, function: Callable[..., Any], *, returns: str, is_pure: bool
    ) -> None:
        """Create a function over any number of Arrow columns that all sessions can call."""
        ...

    def backup(self, target: Path, *, beside: Callable[[], None] | None = None) -> None:
        """Write a consistent copy of its file; `beside` copies files that must match it."""
        ...


class Database(Protocol):
    """A database that is served."""

    name: str  # duckdb, postgresql, spark
    traits: EngineTraits
    is_writable: bool
    prefix: tuple[str, ...]  # what precedes schema and name in a physical name

    @property
    def embedded(self) -> EmbeddedDatabase | None:
        """This database, if it runs inside the server; None for a database server of its own."""
        ...

    def connect(self) -> DatabaseConnection:
        """Return a connection for one session."""
        ...

    def tables(self) -> list[tuple[str, ...]]:
        """Return the physical names of the tables, outermost part first."""
        ...

    def fields(self, names: Sequence[str]) -> tuple[ResultField, ...]:
        """Return the columns of a physical table."""
        ...

    def reader(self) -> Engine:
        """Return an engine over committed data, for differentially private queries."""
        ...

    def version(self, names: Sequence[str]) -> str:
        """Return a text that changes whenever the content of a physical table may have changed."""
        ...

    def close(self) -> None:
        """Release the database."""
        ...
