"""Small databases written as SQL: the same tables on every engine, with or without one person's rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bench.verify.loss import Side
from discreet.answer.catalog import Catalog, CatalogTable
from discreet.engines.duckdb import DuckDB
from discreet.policy.load import parse_policy
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from discreet.engines.engine import Engine, Table
    from discreet.policy.model import Policy

Row = tuple[str, ...]


@dataclass(frozen=True)
class SqlTable:
    """A table as SQL: the engine's own type of each column, and rows of literals that are cast to it."""

    columns: Mapping[str, str]
    rows: Sequence[Row]

    def without(self, leaves: Callable[[Mapping[str, str]], bool]) -> SqlTable:
        """Return the table without the rows for which `leaves` is true."""
        names = tuple(self.columns)
        kept = [row for row in self.rows if not leaves(dict(zip(names, row, strict=True)))]
        return replace(self, rows=kept)

    def query(self, quote: str = '"') -> str:
        """Return a SELECT of all rows, typed as declared, also where there is none."""
        selects = [", ".join(self._cells(row, quote)) for row in self.rows]
        nulls = ", ".join(self._cells(("NULL",) * len(self.columns), quote))
        return " UNION ALL ".join(
            [*(f"SELECT {cells}" for cells in selects), f"SELECT {nulls} WHERE 1 = 0"]
        )

    def _cells(self, row: Row, quote: str) -> list[str]:
        pairs = zip(row, self.columns.items(), strict=True)
        return [f"CAST({cell} AS {kind}) AS {quote}{name}{quote}" for cell, (name, kind) in pairs]


def on_duckdb(tables: Mapping[str, SqlTable], policy: str) -> Side:
    """Return the tables in a DuckDB of their own."""
    engine = DuckDB()
    engine._connection.execute("SET threads = 1")  # which is quicker on so few rows

    def create(name: str, table: SqlTable) -> Table:
        # Made first and filled then: a collation belongs to the column of a table.
        columns = ", ".join(f'"{column}" {kind}' for column, kind in table.columns.items())
        engine._connection.execute(f'CREATE TABLE "{name}" ({columns})')
        plain = SqlTable(
            {n: k.partition(" COLLATE ")[0] for n, k in table.columns.items()}, table.rows
        )
        engine._connection.execute(f'INSERT INTO "{name}" {plain.query()}')
        return engine.table(build.table(name), label=name)

    return _side(engine, tables, policy, create)


def on_postgres(url: str, tables: Mapping[str, SqlTable], policy: str) -> Side:
    """Return the tables as temporary ones of a session of their own."""
    from discreet.engines.postgres import PostgreSQL

    engine = PostgreSQL(url)

    def create(name: str, table: SqlTable) -> Table:
        columns = ", ".join(f'"{column}" {kind}' for column, kind in table.columns.items())
        plain = SqlTable(
            {n: k.partition(" COLLATE ")[0] for n, k in table.columns.items()}, table.rows
        )
        with engine._write_transaction() as cursor:
            cursor.execute(f'CREATE TEMP TABLE "{name}" ({columns})'.encode())
            cursor.execute(f'INSERT INTO "{name}" {plain.query()}'.encode())
        return engine.table(build.table("pg_temp", name), label=name)

    return _side(engine, tables, policy, create)


def on_spark(session_engine: Any, tables: Mapping[str, SqlTable], policy: str) -> Side:
    """Return the tables as views of a session that others may use, too."""

    def create(name: str, table: SqlTable) -> Table:
        frame = session_engine.session.sql(table.query(quote="`"))
        return session_engine.table(frame, label=name)

    return _side(session_engine, tables, policy, create)


def _side(
    engine: Engine,
    tables: Mapping[str, SqlTable],
    policy: str,
    create: Callable[[str, SqlTable], Table],
) -> Side:
    said: Policy = parse_policy(policy)
    held = {
        name: CatalogTable(name, create(name, table), said.tables.get(name), f"table:{name}", "1")
        for name, table in tables.items()
    }
    return Side(Catalog({name: lambda one=one: one for name, one in held.items()}), engine)
