"""Encrypted cells of a database that cannot decrypt them: they are decrypted in the gateway.

The rows that a statement needs are copied, still encrypted, into a DuckDB that only this session
can access; the statement runs there, so that no value and no key reaches the database.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from sqlglot import exp

from discreet.engines.databases.database import DatabaseConnection, EngineTraits, ResultField
from discreet.engines.duckdb.served import CATALOG, ServedDuckDB
from discreet.engines.engine import ArrowTable
from discreet.engines.render import drop_table
from discreet.errors import StatementFailed
from discreet.guard.access.authority import Authority, Relation, RelationColumn, Subject
from discreet.guard.integrity.create import engine_column_type
from discreet.guard.rewrite.bind import literal
from discreet.guard.rewrite.kinds import kind_named
from discreet.guard.rewrite.permitted import Source
from discreet.guard.vault.functions import EncryptionFunctions
from discreet.server.gateway.encrypted_columns import (
    TRAITS,
    encrypted_value_type,
    stored_relation,
)
from discreet.sql import build

MOST_ROWS = 10_000  # per write, since they are part of the statement
_BATCH = 1000
_NATIVE = ("uuid", "json", "interval")  # copied as texts


class OutOfEngine:
    """A session's own DuckDB in memory, with copies of tables for one statement at a time."""

    traits = TRAITS

    def __init__(self, functions: EncryptionFunctions) -> None:
        self._database = ServedDuckDB(None)
        functions.register(self._database.add_function)
        self._connection = self._database.connect()

    def authority(self, authority: Authority) -> Authority:
        """Return an authority in which tables refer to their copies."""
        relations = {
            key: replace(relation, physical=copy_name(relation)) if relation.physical else relation
            for key, relation in authority.relations.items()
        }
        return replace(authority, relations=relations)

    def source(self, decrypt: Callable[[Relation, RelationColumn], exp.Expr]) -> Source:
        """Return how copies are read; `decrypt` returns the value of an encrypted column."""

        def read(relation: Relation, _: Subject) -> exp.Query:
            if relation.multilevel:
                raise StatementFailed(
                    "0A000", "a statement cannot use labels and encrypted columns of this database"
                )
            columns = [
                build.alias_as(
                    _typed_column(column) if column.key is None else decrypt(relation, column),
                    column.name,
                )
                for column in relation.columns
            ]
            return build.select(*columns, source=build.table(*relation.physical))

        return read

    def describe(self, query: exp.Query, authority: Authority) -> tuple[ResultField, ...]:
        """Return the columns of a query over copies; nothing is copied."""
        for relation, _ in self._tables_to_copy(query, authority):
            self._import_copy(relation, None)
        return self._connection.describe(query)

    def query(
        self, query: exp.Query, authority: Authority, connection: DatabaseConnection, *, limit: int
    ) -> ArrowTable:
        """Copy the rows that a query reads, and return its result; `authority` is the tables'."""
        for relation, conditions in self._tables_to_copy(query, authority):
            columns = [build.column(column.name) for column in stored_relation(relation).columns]
            rows = build.select(*columns, source=build.table(*relation.physical))
            if conditions is not None:
                rows = rows.where(conditions)
            self._import_copy(relation, connection.query(rows, limit=limit))
        try:
            return self._connection.query(query, limit=limit)
        finally:
            for relation, _ in self._tables_to_copy(query, authority):
                self._drop(relation)

    def interrupt(self) -> None:
        """Interrupt the running statement."""
        self._connection.interrupt()

    def close(self) -> None:
        """Drop all copies."""
        self._connection.close()
        self._database.close()

    def _tables_to_copy(
        self, query: exp.Query, authority: Authority
    ) -> list[tuple[Relation, exp.Expr | None]]:
        """Return the tables whose copies a query reads, and a filter on the rows it can need."""
        known = {
            copy_name(relation): relation
            for relation in authority.relations.values()
            if relation.physical
        }
        found: dict[tuple[str, ...], list[exp.Expr | None]] = {}
        for table in query.find_all(exp.Table):
            names = tuple(part.name for part in table.parts)
            if names in known:
                select = table.parent_select
                where = select.args.get("where") if isinstance(select, exp.Select) else None
                is_source = isinstance(select, exp.Select) and not table.alias
                found.setdefault(names, []).append(where.this if where and is_source else None)
        return [
            (known[names], None if None in wheres else exp.or_(*(w.copy() for w in wheres if w)))
            for names, wheres in found.items()
        ]

    def _import_copy(self, relation: Relation, rows: ArrowTable | None) -> None:
        self._drop(relation)
        columns = stored_relation(relation).columns
        schema: Any = pa.schema([(column.name, _copied_kind(column)) for column in columns])
        table: Any = schema.empty_table() if rows is None else _cast_rows(rows, schema)
        self._database.import_table(copy_name(relation), table.to_reader())

    def _drop(self, relation: Relation) -> None:
        self._connection.execute(drop_table(build.table(*copy_name(relation))))


def literal_rows(rows: ArrowTable, columns: Sequence[RelationColumn], alias: str) -> exp.Subquery:
    """Return rows as a list of literals in a statement.

    Raises:
        StatementFailed: 54000, there are too many.
    """
    if rows.num_rows > MOST_ROWS:
        raise StatementFailed("54000", "too many rows with encrypted values are written at once")
    kinds = [kind_named(column.type) or "text" for column in columns]
    tuples = [
        exp.Tuple(
            expressions=[
                literal(cell, kind, traits=TRAITS) for cell, kind in zip(row, kinds, strict=True)
            ]
        )
        for row in zip(*(column.to_pylist() for column in rows.columns), strict=True)
    ]
    names = [exp.to_identifier(column.name, quoted=True) for column in columns]
    table_alias = exp.TableAlias(this=exp.to_identifier(alias, quoted=True), columns=names)
    if tuples:
        listed = exp.Values(expressions=tuples, alias=exp.TableAlias(this=exp.to_identifier("v")))
        inner: exp.Query = exp.select(exp.Star()).from_(listed)
    else:
        inner = exp.select(*(literal(None, kind, traits=TRAITS) for kind in kinds)).where(
            exp.false()
        )
    return exp.Subquery(this=inner, alias=table_alias)


def insert_all(connection: DatabaseConnection, relation: Relation, rows: ArrowTable) -> int:
    """Insert rows, as they are stored, into a table, in batches."""
    columns = relation.columns
    names = [exp.to_identifier(column.name, quoted=True) for column in columns]
    for start in range(0, rows.num_rows, _BATCH):
        batch = literal_rows(rows.slice(start, _BATCH), columns, "rows")
        insert = exp.Insert(
            this=exp.Schema(this=build.table(*relation.physical), expressions=names),
            expression=exp.select(exp.Star()).from_(batch),
        )
        connection.execute(insert, touches=[relation.physical])
    return rows.num_rows


def copy_name(relation: Relation) -> tuple[str, ...]:
    """Return the name of a table's copy."""
    # Names may hold dots: the length shows where the first one ends.
    return (CATALOG, "public", f"{len(relation.schema)}.{relation.schema}.{relation.name}")


def _typed_column(column: RelationColumn) -> exp.Expr:
    found = build.column(column.name)
    if kind_named(column.type) in _NATIVE:
        return exp.Cast(this=found, to=engine_column_type(column, TRAITS))
    return found


def _copied_kind(column: RelationColumn) -> Any:
    kind = kind_named(column.type)
    return pa.string() if kind is None or kind in _NATIVE else encrypted_value_type(column)


def _cast_rows(rows: ArrowTable, schema: Any) -> Any:
    try:
        return rows.cast(schema)
    except pa.ArrowException:
        raise StatementFailed("0A000", "a value of this table cannot be used here") from None


def without_encrypted_values(relation: Relation, traits: EngineTraits) -> exp.Query:
    """Return a table without the values of its encrypted columns, for statements that use none."""
    columns = [
        build.column(column.name)
        if column.key is None
        else build.alias_as(
            exp.Cast(this=exp.Null(), to=engine_column_type(column, traits)), column.name
        )
        for column in relation.columns
    ]
    return build.select(*columns, source=build.table(*relation.physical))
