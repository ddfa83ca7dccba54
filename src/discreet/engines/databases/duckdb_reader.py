"""An engine over a served DuckDB: it reads committed data and keeps its own tables in memory."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from collections.abc import Callable

import duckdb
from sqlglot import exp

from discreet.engines.duckdb import DuckDB, call_duckdb


class DuckDBReader(DuckDB):
    """DuckDB within an instance that is locked already; kept tables never reach the served file."""

    def __init__(self, connect: Callable[[], duckdb.DuckDBPyConnection]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="discreet-", ignore_cleanup_errors=True)
        self._connect = connect
        self._connection = call_duckdb(connect)
        self._registered: dict[str, object] = {}
        self._deferred: dict[str, Callable[[], None]] = {}
        self._looks_at_rows = False
        self._count = 0
        self.attached: dict[str, str] = {}
        # Readers share one catalog in memory: each has its own schema there.
        self._schema = exp.Table(
            this=exp.to_identifier(f"reader_{secrets.token_hex(8)}", quoted=True),
            db=exp.to_identifier("memory", quoted=True),
        )
        self.execute(exp.Create(this=self._schema.copy(), kind="SCHEMA"))
        self._use_schema(self._connection)

    def lock_external_access(self) -> None:
        """Do nothing: the instance has no access to files, network or settings already."""

    def close(self) -> None:
        """Drop the kept tables; the served database stays open."""
        names = self._schema.sql(dialect=self.dialect)
        with contextlib.suppress(duckdb.Error):
            self._connection.execute("USE memory.main")
            self._connection.execute(f"DROP SCHEMA IF EXISTS {names} CASCADE")
        with contextlib.suppress(duckdb.Error):
            self._connection.close()
        self._folder.cleanup()

    def _open_cursor(self) -> duckdb.DuckDBPyConnection:
        cursor = call_duckdb(self._connect)
        self._use_schema(cursor)
        for name, data in self._registered.items():
            call_duckdb(lambda name=name, data=data: cursor.register(name, data))
        return cursor

    def _use_schema(self, connection: duckdb.DuckDBPyConnection) -> None:
        names = self._schema.sql(dialect=self.dialect)
        call_duckdb(lambda: connection.execute(f"USE {names}"))
