"""PostgreSQL: queries run on the server; only results come back, as Arrow."""

from __future__ import annotations

import contextlib
import io
import json
import secrets
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pyarrow as pa
from pyarrow import csv
from sqlglot import exp

from discreet.engines.arrow import normalize_reader
from discreet.engines.engine import ArrowBatch, ArrowReader, ArrowTable, Column, Kind, Table
from discreet.engines.postgres import transit
from discreet.engines.postgres.failures import call_postgres
from discreet.engines.postgres.session import CSV, copy_statement, open_session, spool_copy
from discreet.engines.postgres.transit import WireField
from discreet.engines.render import analyze_table, drop_table, rename_table, render_sql
from discreet.errors import EngineFailed, MissingExtra, SourceNotFound
from discreet.sql import build
from discreet.stores.primary import EARLIER_PRIMARY

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
except ImportError as error:
    raise MissingExtra(what="PostgreSQL", extra="postgres") from error


Answer = TypeVar("Answer")

# `keep` and `load` override it when they write
_READ_ONLY = {"default_transaction_read_only": "on"}
_PLACE = b"""
SELECT s.system_identifier, d.oid, c.oid, position('1' in c.relpages::bit(32)::text)
FROM pg_control_system() AS s, pg_database AS d, pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE d.datname = current_database() AND c.relkind IN ('r', 'p', 'm', 'f', 'v')
  AND (n.nspname || '.' || c.relname = %s OR (n.nspname = 'public' AND c.relname = %s))
"""


class PostgreSQL:
    """A session on a PostgreSQL server that reads; only `save` writes lasting tables."""

    name = "postgresql"
    dialect = "postgres"
    has_fixed_time_zone = True
    orders_numbered_rows = False
    compares_decimals_exactly = True
    file_engine = part_writer = None

    def __init__(self, url: str) -> None:
        self._connection = _connect(url)
        self._count = 0

    def columns(self, relation: exp.Table) -> tuple[Column, ...]:
        """Return the columns of `relation` in their order."""
        return tuple(
            Column(field.name, field.kind)
            for field in self._describe_fields(build.select(exp.Star(), source=relation.copy()))
        )

    def run(self, query: exp.Query) -> ArrowTable:
        """Return the whole result: for results known to be small."""
        fields = self._describe_fields(query)
        with self._spool_result(query, fields) as spool:
            return call_postgres(lambda: transit.read_table(spool, fields))

    def stream(self, query: exp.Query) -> Iterator[ArrowBatch]:
        """Yield the result in order, batch by batch, in bounded memory.

        The result is spooled first, so that other queries can use the session meanwhile.
        """
        fields = self._describe_fields(query)
        with self._spool_result(query, fields) as spool:
            batches = transit.read_batches(spool, fields)
            while (batch := call_postgres(lambda: next(batches, None))) is not None:
                yield batch

    def keep(self, query: exp.Query) -> exp.Table:
        """Store the result for this session, spilling to disk if need be, and return its name."""
        relation = self._fresh_name("kept")
        self._write(_create("TABLE", relation, query.copy()))
        self._write(analyze_table(relation))
        return relation

    def drop(self, relation: exp.Table) -> None:
        """Drop what `keep` or `load` stored."""
        self._write(drop_table(relation))

    def load(self, batches: ArrowReader) -> exp.Table:
        """Store Arrow data for this session and return its name."""
        reader = normalize_reader(batches)
        relation = self._fresh_name("loaded")
        self._write(_create("TABLE", define_table(relation, reader)))

        def fill() -> None:
            with self._write_transaction() as cursor:
                copy_in(cursor, relation, reader)

        call_postgres(fill)
        self._write(analyze_table(relation))
        return relation

    def save(self, query: exp.Query, name: exp.Table, *, replace: bool) -> int:
        """Store the result as a permanent table, whole or not at all, and return its row count."""

        def fill(cursor: Any, beside: exp.Table) -> None:
            cursor.execute(
                _render_bytes(exp.Create(kind="TABLE", this=beside, expression=query.copy()))
            )

        return self._save_table(fill, name, replace=replace)

    def save_rows(self, batches: ArrowReader, name: exp.Table, *, replace: bool) -> int:
        """Store Arrow data as a permanent table, whole or not at all, and return its row count."""
        reader = normalize_reader(batches)

        def fill(cursor: Any, beside: exp.Table) -> None:
            cursor.execute(
                _render_bytes(exp.Create(kind="TABLE", this=define_table(beside, reader)))
            )
            copy_in(cursor, beside, reader)

        return self._save_table(fill, name, replace=replace)

    @property
    def is_lost(self) -> bool:
        """Whether the server is known to be gone, and with it all kept tables."""
        return self._connection.closed

    def interrupt(self) -> None:
        """Make the statement that runs in another thread fail."""
        with contextlib.suppress(psycopg.Error):
            self._connection.cancel_safe(timeout=5)

    def close(self) -> None:
        """End the session and drop its kept tables."""
        self._connection.close()

    def table(self, relation: exp.Table, *, label: str) -> Table:
        """Return `relation` as a table whose texts are ordered by their bytes.

        The order of a database depends on its locale; a column collated "C" passes its order on to
        everything that is computed from it, so that queries need not know.
        """
        fields = self._describe_fields(build.select(exp.Star(), source=relation.copy()))
        wanted = [build.alias_as(_plain_column(field), field.name) for field in fields]
        view = self._fresh_name("view")
        self._write(_create("VIEW", view, build.select(*wanted, source=relation.copy())))
        columns = tuple(Column(field.name, field.kind) for field in fields)
        return Table(engine=self, relation=view, columns=columns, label=label)

    @property
    def address(self) -> tuple[object, ...]:
        """The database and user of this session."""
        info = self._connection.info
        return info.host, info.port, info.dbname, info.user

    def tables(self) -> list[tuple[str, str]]:
        """Return schema and name of the tables and views that this user may read."""
        query = (
            exp.select("table_schema", "table_name")
            .from_("information_schema.tables")
            .where("LEFT(table_schema, 3) <> 'pg_' AND table_schema <> 'information_schema'")
            .order_by("table_schema", "table_name")
        )
        found = self.run(query)
        return [(row["table_schema"], row["table_name"]) for row in found.to_pylist()]

    def place(self, label: str) -> str | None:
        """Return an identifier of a table, independent of the user and the server's address.

        It consists of the cluster, the database, the table and its size to a factor of two: a table
        that grew has another identifier. None where the server does not provide it.
        """

        def find() -> list[Any]:
            with self._connection.cursor() as cursor:
                return cursor.execute(_PLACE, [label, label]).fetchall()

        try:
            found = call_postgres(find)
        except EngineFailed:
            return None
        return json.dumps(["postgresql", *map(str, found[0])]) if len(found) == 1 else None

    def _describe_fields(self, query: exp.Query) -> list[WireField]:
        described = build.select(exp.Star(), source=build.subquery(query.copy(), "q")).limit(0)
        text = _render_bytes(described)

        def describe() -> list[WireField]:
            with self._connection.cursor() as cursor:
                columns = cursor.execute(text).description or []
                categories = self._type_categories({column.type_code for column in columns})
                return [
                    transit.make_wire_field(
                        column.name,
                        column.type_code,
                        category=categories[column.type_code],
                        size=(column.precision, column.scale),
                    )
                    for column in columns
                ]

        return call_postgres(describe)

    def _type_categories(self, oids: set[int]) -> dict[int, str]:
        """Return PostgreSQL's category letter of each type, such as S for texts."""
        text = b"SELECT oid::int8, typcategory::text FROM pg_type WHERE oid = ANY(%s)"
        with self._connection.cursor() as cursor:
            return dict(cursor.execute(text, [sorted(oids)]).fetchall())

    def _spool_result(self, query: exp.Query, fields: list[WireField]) -> Any:
        text = _render_bytes(copy_statement(transit.build_transfer_query(query, fields)))
        return call_postgres(lambda: spool_copy(self._connection, text))

    def _save_table(
        self, fill: Callable[[Any, exp.Table], None], name: exp.Table, *, replace: bool
    ) -> int:
        beside = build.table(name.db, f"discreet_{secrets.token_hex(8)}")
        count = _render_bytes(build.select(build.count_star(), source=beside.copy()))

        def execute() -> int:
            # The old table stays until the end: the query may read it.
            with self._write_transaction() as cursor:
                fill(cursor, beside)
                if replace:
                    cursor.execute(_render_bytes(drop_table(name)))
                rows = cursor.execute(count).fetchone()[0]
                cursor.execute(_render_bytes(rename_table(beside, build.table(name.name))))
                return rows

        return call_postgres(execute)

    @contextmanager
    def _write_transaction(self) -> Generator[Any]:
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.execute(b"SET TRANSACTION READ WRITE")
            yield cursor

    def _write(self, statement: exp.Expr) -> None:
        text = _render_bytes(statement)

        def execute() -> None:
            with self._write_transaction() as cursor:
                cursor.execute(text)

        call_postgres(execute)

    def _fresh_name(self, hint: str) -> exp.Table:
        self._count += 1
        return build.table("pg_temp", f"discreet_{hint}_{self._count}")


def _connect(url: str) -> psycopg.Connection[Any]:
    try:
        return open_session(url, _READ_ONLY)
    except psycopg.Error as error:
        state = error.sqlstate or type(error).__name__
    except ValueError:
        state = "no URL"
    if state == EARLIER_PRIMARY:
        raise SourceNotFound(
            f"{_display_address(url)} is an earlier primary: another server was promoted since. Name that one."
        )
    raise SourceNotFound(
        f"Cannot connect to {_display_address(url)} ({state}). Check host, port, database and user; the "
        "password comes from PGPASSWORD, PGPASSFILE or the URL."
    )


def _display_address(url: str) -> str:
    """Return the address in `url` without its password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error:
        return "PostgreSQL"
    user = f" as {parts['user']}" if parts.get("user") else ""
    port = f":{parts['port']}" if parts.get("port") else ""
    host = parts.get("host") or "the default host"
    return f"PostgreSQL at {host}{port}, database '{parts.get('dbname') or 'default'}'{user}"


def define_table(relation: exp.Table, reader: ArrowReader) -> exp.Schema:
    """Return the definition of a table that Arrow data fit into."""
    columns = [transit.column_definition(field) for field in reader.schema]
    return exp.Schema(this=relation.copy(), expressions=columns)


def copy_in(cursor: Any, relation: exp.Table, reader: ArrowReader) -> None:
    """Send Arrow data into a table."""
    statement = exp.Copy(
        this=relation.copy(),
        kind=True,
        files=[exp.var("STDIN")],
        params=[*(each.copy() for each in CSV)],
    )
    options = csv.WriteOptions(include_header=False, quoting_style="all_valid")
    with cursor.copy(_render_bytes(statement)) as copy:
        for batch in reader:
            buffer = io.BytesIO()
            csv.write_csv(batch, buffer, write_options=options)
            copy.write(buffer.getvalue())


def _render_bytes(statement: exp.Expr) -> bytes:
    return render_sql(statement, dialect="postgres").encode()


def _plain_column(field: WireField) -> exp.Expr:
    column = build.column(field.name)
    if field.kind is Kind.INTEGER and field.type == pa.int64():
        return exp.cast(column, "BIGINT")  # an oid is no number to PostgreSQL's operators
    is_text = field.kind in (Kind.TEXT, Kind.OTHER)
    return exp.cast(column, "TEXT") if is_text else column


def _create(kind: str, target: exp.Expr, query: exp.Expr | None = None) -> exp.Create:
    temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
    return exp.Create(kind=kind, this=target.copy(), expression=query, properties=temporary)
