"""A ledger in a PostgreSQL database, shared by many machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, create_engine, event, func, insert, inspect, select

from discreet.dp.ledger import schema
from discreet.errors import LedgerFailed, MissingExtra

if TYPE_CHECKING:
    from sqlalchemy import URL

_CREATING = 0x64_63_72_74  # the advisory lock under which tables are made


class Server:
    """A database whose commits wait for its disk; the head's row orders the writers."""

    def __init__(self, url: URL) -> None:
        self._url = url.set(drivername="postgresql+psycopg")
        self.name = f"in database '{url.database or ''}' on PostgreSQL"

    def engine(self) -> Engine:
        """Return an engine whose statements each see what was committed before them."""
        try:
            engine = create_engine(
                self._url, isolation_level="READ COMMITTED", max_overflow=-1, pool_pre_ping=True
            )
        except ImportError as error:
            raise MissingExtra(what="A ledger on PostgreSQL", extra="postgres") from error
        event.listen(engine, "connect", _prepare_connection)
        return engine

    def prepare(self, engine: Engine) -> None:
        """Make the tables if there are none; refuse a newer format."""
        with engine.begin() as connection:
            if not inspect(connection).has_table(schema.head.name):
                _create_tables(connection)
            written = connection.scalar(select(schema.head.c.format))
        if written is None or written > schema.FORMAT:
            raise LedgerFailed(
                f"The ledger {self.name} was written by a newer discreet (format {written}, this one "
                f"knows {schema.FORMAT}). Update discreet."
            )

    def check(self, connection: Connection) -> None:
        """Find nothing: the server checks its own pages when it reads them."""


def _prepare_connection(raw: Any, _record: Any) -> None:
    with raw.cursor() as cursor:
        cursor.execute("SET synchronous_commit = on")
        cursor.execute("SET lock_timeout = '30s'")
    raw.commit()


def _create_tables(connection: Connection) -> None:
    connection.execute(select(func.pg_advisory_xact_lock(_CREATING)))
    schema.metadata.create_all(connection)
    if connection.scalar(select(schema.head.c.id)) is None:
        connection.execute(
            insert(schema.head).values(id=1, format=schema.FORMAT, sequence=0, hash=schema.START)
        )
