"""A served PostgreSQL: the server orders its writers; the gateway connects for all users."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from sqlglot import exp, parse_one

from discreet.engines.databases.database import EngineTraits, ResultField
from discreet.engines.databases.failures import statement_failure
from discreet.engines.engine import ArrowReader
from discreet.engines.postgres.connection import PostgresConnection
from discreet.engines.postgres.engine import PostgreSQL
from discreet.errors import SourceNotFound
from discreet.sql import build

Answer = TypeVar("Answer")

_TABLES = """
SELECT n.nspname::text AS schema, c.relname::text AS name
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND n.nspname <> 'information_schema' AND NOT starts_with(n.nspname::text, 'pg_')
ORDER BY 1, 2
"""
_KIND = """
SELECT pg_current_snapshot()::text AS moment, (
  SELECT max(c.relkind::text) FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
  WHERE n.nspname = 'schema' AND c.relname = 'name'
) AS kind
"""
# Which versions of which rows are visible: another writer's commit adds or removes some.
_VERSIONS = """
SELECT count(*)::text || '-' || coalesce(sum(hashtextextended(
  concat_ws('-', t.tableoid::text, t.ctid::text, t.xmin::text), 0)::numeric), 0)::text AS rows
FROM x AS t
"""


class ServedPostgres:
    """A PostgreSQL server behind the gateway; `url` may name several hosts.

    `result_bytes` is how much memory one result may take; 54000 beyond it.
    """

    name = "postgresql"
    traits = EngineTraits()
    is_writable = True
    prefix: tuple[str, ...] = ()
    embedded = None

    def __init__(self, url: str, *, result_bytes: int | None = None) -> None:
        self._url, self._result_bytes = url, result_bytes
        self._own = PostgresConnection(url)
        self._lock = threading.Lock()
        self._versions: dict[tuple[str, ...], tuple[str, str]] = {}

    def connect(self) -> PostgresConnection:
        """Return a connection for one session."""
        return PostgresConnection(self._url, result_bytes=self._result_bytes)

    def tables(self) -> list[tuple[str, ...]]:
        """Return the physical names of the tables, outermost part first."""
        query = _parse_query(_TABLES)
        found = self._with_connection(lambda own: own.query(query))
        return [(row["schema"], row["name"]) for row in found.to_pylist()]

    def fields(self, names: Sequence[str]) -> tuple[ResultField, ...]:
        """Return the columns of a physical table."""
        query = build.select(exp.Star(), source=build.table(*names))
        return self._with_connection(lambda own: own.describe(query))

    def reader(self) -> PostgreSQL:
        """Return an engine over committed data, for differentially private queries."""
        try:
            return PostgreSQL(self._url)
        except SourceNotFound:
            pass  # its text names the server
        raise statement_failure("08006", "the database cannot be reached")

    def version(self, names: Sequence[str]) -> str:
        """Return a text that changes whenever the content of a physical table may have changed.

        Others may write to the server, too, and its statistics lag behind. So the versions of all
        rows are read, unless no transaction wrote anything since the last time. A relation that is
        not a plain table has a new version each time.
        """
        key = tuple(names)

        def look(own: PostgresConnection) -> str:
            found = own.query(_relation_kind_query(key)).to_pylist()[0]
            moment, kind = found["moment"], found["kind"]
            if kind not in ("r", "p"):
                return secrets.token_hex(8)
            known = self._versions.get(key)
            if known is None or known[0] != moment:
                rows = own.query(_version_query(key)).to_pylist()[0]["rows"]
                # A commit in between changes the moment, so that this is not found again.
                self._versions[key] = known = (moment, rows)
            return known[1]

        return self._with_connection(look)

    def create_schema(self, name: str) -> None:
        """Create a schema, unless it exists."""
        schema = exp.Create(this=build.table(name), kind="SCHEMA", exists=True)
        self._with_connection(lambda own: own.execute(schema))

    def import_table(self, names: Sequence[str], batches: ArrowReader) -> int:
        """Create a table of Arrow data, whole or not at all, and return its number of rows."""
        with contextlib.closing(PostgreSQL(self._url)) as engine:
            return engine.save_rows(batches, build.table(*names), replace=False)

    def close(self) -> None:
        """Release the server."""
        with self._lock:
            self._own.close()

    def _with_connection(self, call: Callable[[PostgresConnection], Answer]) -> Answer:
        with self._lock:
            return call(self._own)


def _parse_query(text: str) -> exp.Query:
    tree = parse_one(text, dialect="postgres")
    return tree if isinstance(tree, exp.Query) else exp.select()


def _relation_kind_query(names: tuple[str, ...]) -> exp.Query:
    query = _parse_query(_KIND)
    wanted: dict[str, str] = dict(zip(("schema", "name"), names, strict=True))
    for literal in list(query.find_all(exp.Literal)):
        if literal.is_string:
            literal.replace(build.text(wanted[literal.name]))
    return query


def _version_query(names: tuple[str, ...]) -> exp.Query:
    query = _parse_query(_VERSIONS)
    for table in list(query.find_all(exp.Table)):
        table.replace(build.table(*names, alias="t"))
    return query
