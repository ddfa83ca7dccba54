"""A served Spark: tables are read-only, since the cluster has no transactions."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from sqlglot import exp

from discreet.engines.databases.database import (
    EngineQuery,
    EngineTraits,
    ResultField,
    cast_to_fields,
)
from discreet.engines.databases.failures import statement_failure, too_many_rows
from discreet.engines.databases.prepared import TreeQuery
from discreet.engines.databases.transaction_state import TransactionState
from discreet.engines.engine import ArrowTable
from discreet.engines.render import number_columns, query_text
from discreet.engines.spark.engine import Spark, call_spark, start_spark
from discreet.errors import Bug, DiscreetError, StatementFailed
from discreet.sql import build
from discreet.sql.types import FROM_SPARK

TRAITS = EngineTraits(
    "spark",
    is_postgresql=False,
    has_offset_fence=False,
    has_arrays=False,
    temporary_schema=(),
    row_id="",
)


class ServedSpark:
    """Tables of a Spark catalog, read-only."""

    name = "spark"
    traits = TRAITS
    is_writable = False
    prefix: tuple[str, ...] = ()
    embedded = None

    def __init__(self, engine: Spark | None = None, *, master: str | None = None) -> None:
        self._is_ours = engine is None
        self._engine = engine or start_spark(master)

    def connect(self) -> SparkConnection:
        """Return a connection for one session."""
        return SparkConnection(self._engine)

    def tables(self) -> list[tuple[str, ...]]:
        """Return the physical names of the tables, outermost part first."""
        catalog = self._engine.session.catalog
        return [
            (space.name, table.name)
            for space in catalog.listDatabases()
            for table in catalog.listTables(space.name)
            if not table.isTemporary
        ]

    def fields(self, names: Sequence[str]) -> tuple[ResultField, ...]:
        """Return the columns of a physical table."""
        query = build.select(exp.Star(), source=build.table(*names))
        return self.connect().describe(query)

    def reader(self) -> Spark:
        """Return an engine over the tables, for differentially private queries."""
        return Spark(self._engine.session)

    def version(self, names: Sequence[str]) -> str:
        """Return a new text each time: others may write these tables without notice."""
        del names
        return secrets.token_hex(8)

    def close(self) -> None:
        """End the session if it was started here."""
        if self._is_ours:
            self._engine.close()


class SparkConnection(TransactionState):
    """One read-only session; transactions are accepted, without a snapshot."""

    traits = TRAITS

    def __init__(self, engine: Spark) -> None:
        super().__init__()
        self._session = engine.session
        self._group = f"discreet-{secrets.token_hex(8)}"

    def begin(self, *, read_only: bool = False) -> None:
        """Start a transaction block of reads."""
        del read_only
        self._is_open = True

    def commit(self) -> None:
        """End the block."""
        self.rollback()

    def rollback(self) -> None:
        """End the block; there is nothing to roll back."""
        self._end_transaction()

    def savepoint(self, name: str) -> None:
        """Set a savepoint."""
        self._marks.append((name, 0))

    def release(self, name: str) -> None:
        """Release a savepoint, and those after it."""
        del self._marks[self._find(name) :]

    def rollback_to(self, name: str) -> None:
        """Clear the failed state of a block."""
        del self._marks[self._find(name) + 1 :]
        self._has_failed = False

    def lock_tables(self, names: Sequence[Sequence[str]], *, waits: bool) -> None:
        """Refuse: nothing is written here."""
        del names, waits
        raise StatementFailed("0A000", "spark is served for reading only")

    def describe(self, query: exp.Query) -> tuple[ResultField, ...]:
        """Return the columns of a result; nothing is executed."""
        text = query_text(query, dialect=self.traits.dialect)
        return self._translate_failures(
            lambda: tuple(_result_field(*item) for item in self._session.sql(text).dtypes)
        )

    def query(self, query: exp.Query, *, limit: int | None = None) -> ArrowTable:
        """Return the result of a query; 54000 when it has more than `limit` rows."""
        with self._allow_interrupt():
            fields = self.describe(query)
            text = query_text(_plain_query(query, fields), dialect=self.traits.dialect)
            table = self._translate_failures(lambda: self._fetch(text, limit))
            if limit is not None and table.num_rows > limit:
                raise too_many_rows(limit)
            return self._translate_failures(lambda: cast_to_fields(table, fields))

    def prepare(self, query: exp.Query) -> TreeQuery:
        """Return a query that `run` runs; its parameters are `$1` … `$n`, each the operand of a cast."""
        return TreeQuery(query, query_text(query, dialect=self.traits.dialect))

    def run(
        self, query: EngineQuery, values: Sequence[str | None] = (), *, limit: int | None = None
    ) -> ArrowTable:
        """Return the result of a prepared query with texts for its parameters, as `query` does."""
        if not isinstance(query, TreeQuery):
            raise Bug("A query was prepared by another engine.")
        return self.query(query.with_values(values), limit=limit)

    def _fetch(self, text: str, limit: int | None) -> ArrowTable:
        self._session.sparkContext.setJobGroup(self._group, "discreet", interruptOnCancel=True)
        frame = self._session.sql(text)
        return (frame if limit is None else frame.limit(limit + 1)).toArrow()

    def execute(self, statement: exp.Expr, *, touches: Sequence[Sequence[str]] = ()) -> int:
        """Refuse: nothing is written through Spark."""
        del statement, touches
        self.fail()
        raise statement_failure("0A000", "tables on Spark are read-only here")

    def execute_returning(
        self, statement: exp.Expr, *, touches: Sequence[Sequence[str]] = ()
    ) -> ArrowTable:
        """Refuse: nothing is written through Spark."""
        return self.execute(statement, touches=touches)

    def stage(self, rows: ArrowTable) -> exp.Table:
        """Refuse: nothing is written through Spark."""
        del rows
        self.execute(exp.Insert())
        return exp.Table()

    def interrupt(self) -> None:
        """Make the running statement fail with 57014."""
        self._stop(lambda: self._session.sparkContext.cancelJobGroup(self._group))

    def close(self) -> None:
        """End the session."""
        self.rollback()

    def _translate_failures(self, call: Callable[[], Any]) -> Any:
        try:
            return call_spark(call, self._statement_failure)
        except DiscreetError:
            self.fail()
            raise

    def _statement_failure(self, error: Exception) -> StatementFailed:
        if isinstance(error, AnalysisException):
            return statement_failure("42000", "Spark cannot run this statement")
        if isinstance(error, pa.ArrowException):
            return statement_failure("22003")
        return statement_failure("57014" if self._is_stopped else "XX000")


def _result_field(name: str, kind: str) -> ResultField:
    if kind.startswith("decimal("):
        precision, scale = kind[8:-1].split(",")
        return ResultField(name, "numeric", int(precision), int(scale))
    known = FROM_SPARK.get(kind.partition("(")[0], "text")
    return ResultField(name, "text" if known in ("varchar", "bpchar") else known)


def _plain_query(query: exp.Query, fields: Sequence[ResultField]) -> exp.Query:
    """Return a query with unique names; types that clients do not have are text."""
    inner, columns = number_columns(query, len(fields))
    wanted = [
        exp.cast(column, "TEXT") if field.type == "text" else column
        for column, field in zip(columns, fields, strict=True)
    ]
    return build.select(*wanted, source=inner)
