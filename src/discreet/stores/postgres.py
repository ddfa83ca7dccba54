"""A store in a PostgreSQL database, shared by many machines, on the current primary."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, func, inspect, select

from discreet.errors import MissingExtra
from discreet.stores.hosts import parameters_of
from discreet.stores.primary import connect_primary
from discreet.stores.schema import StoreSchema

# Weaker than `on`: a commit is acknowledged before it is on the disk, or on the standby's.
_WEAK = ("off", "local", "remote_write")


class PostgresBackend:
    """A database whose commits wait for its disk; the head's row orders the writers."""

    patience = 20.0

    def __init__(self, url: str, schema: StoreSchema) -> None:
        self._schema = schema
        try:
            self._parameters = parameters_of(url)
        except ImportError as error:
            raise MissingExtra(what=f"A {schema.noun} on PostgreSQL", extra="postgres") from error
        except ValueError:
            raise schema.failed(
                f"The address of the {schema.noun} cannot be read. Write it as "
                "postgresql://user@host/database."
            ) from None
        self.name = f"in database '{self._parameters.get('dbname', '')}' on PostgreSQL"

    def engine(self) -> Engine:
        """Return an engine with isolation READ COMMITTED."""
        return create_engine(
            "postgresql+psycopg://",
            creator=self._connect,
            isolation_level="READ COMMITTED",
            max_overflow=-1,
            pool_pre_ping=True,
        )

    def prepare(self, engine: Engine) -> None:
        """Create the tables if missing; refuse a newer format."""
        head = self._schema.head
        with engine.begin() as connection:
            if not inspect(connection).has_table(head.name):
                self._create_tables(connection)
            written = connection.scalar(select(head.c.format))
        if written is None or written > self._schema.format:
            raise self._schema.newer(self.name, written)
        if written < self._schema.format:
            with engine.begin() as connection:
                connection.execute(select(func.pg_advisory_xact_lock(self._schema.application)))
                self._schema.upgrade(connection)

    @contextmanager
    def begin_plain(self, raw: Any) -> Generator[None]:
        """Begin a write transaction; its statements are sent together, up to one whose rows are read."""
        with raw.pipeline():
            yield

    def begin_appends(self, raw: Any) -> None:
        """Do nothing: a connection is ready as it is."""

    def begin_lookups(self, raw: Any) -> None:
        """Make each statement on a connection of the driver a transaction of its own."""
        raw.autocommit = True

    def check(self, connection: Connection) -> None:
        """Do nothing: the server checks its own pages when it reads them."""

    def scrub(self, connection: Connection) -> None:
        """Do nothing: deleted rows are removed by the server's next VACUUM."""

    def _create_tables(self, connection: Connection) -> None:
        connection.execute(select(func.pg_advisory_xact_lock(self._schema.application)))
        if not inspect(connection).has_table(self._schema.head.name):
            self._schema.create(connection)

    def _connect(self) -> Any:
        raw = connect_primary(self._parameters)
        try:
            self._prepare_connection(raw)
        except BaseException:
            raw.close()
            raise
        return raw

    def _prepare_connection(self, raw: Any) -> None:
        raw.autocommit = True  # for these statements
        with raw.cursor() as cursor:
            cursor.execute("SELECT current_setting('synchronous_commit')")
            if cursor.fetchone()[0] in _WEAK:
                cursor.execute("SET synchronous_commit = on")
            cursor.execute("SET lock_timeout = '30s'")
        raw.autocommit = False
