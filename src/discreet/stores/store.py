"""Durable transactions on one store, in any location."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, Engine, PoolProxiedConnection
from sqlalchemy.exc import DBAPIError

from discreet.stores.faults import is_transient, translate_database_errors, unknown_commit_failure
from discreet.stores.plain import PlainConnection, StatementConnection
from discreet.stores.schema import StoreSchema
from discreet.stores.seal import OPTION, Seal, SealRecord, read_seal

MEMORY = ":memory:"  # as in SQLite
_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE = 0.5

T = TypeVar("T")


class StoreBackend(Protocol):
    """One kind of database: how to name it, open it and create a new store in it."""

    name: str
    patience: float  # seconds of retries after a lost connection

    def engine(self) -> Engine:
        """Return an engine whose connections write durably."""
        ...

    def prepare(self, engine: Engine) -> None:
        """Create the tables if missing; refuse a database that is not such a store."""
        ...

    def begin_plain(self, raw: Any) -> AbstractContextManager[object]:
        """Begin a write transaction on a connection of the driver, for the block."""
        ...

    def begin_appends(self, raw: Any) -> None:
        """Make a connection of the driver ready for `begin_plain`."""
        ...

    def begin_lookups(self, raw: Any) -> None:
        """Make each statement on a connection of the driver a transaction of its own."""
        ...

    def check(self, connection: Connection) -> None:
        """Refuse damage that the database itself can detect."""
        ...

    def scrub(self, connection: Connection) -> None:
        """Overwrite deleted data, as far as the database allows."""
        ...


class Store:
    """Transactions on one store; usable from threads, and in a process that was forked."""

    def __init__(self, place: StoreBackend, schema: StoreSchema) -> None:
        self._place, self._schema = place, schema
        self._seal: Seal | None = None
        self._open()
        with translate_database_errors(schema, self.name):
            place.prepare(self._engine)

    @property
    def name(self) -> str:
        """The store's location, without secrets."""
        return self._place.name

    def sealed(self) -> SealRecord:
        """Return the store's seal, unchecked."""
        return self.read(lambda connection: read_seal(connection, self._schema))

    def use_seal(self, seal: Seal) -> None:
        """Seal from now on under a key; the store itself checks its content."""
        self._seal = seal.bound(self._schema.noun, self.sealed().identity)

    @property
    def seal(self) -> Seal | None:
        """The seal of this store, None without a key."""
        return self._seal

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """Yield a connection whose statements each see the latest commits."""
        with translate_database_errors(self._schema, self.name), self._connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Generator[Connection]:
        """Yield a connection whose statements all see one snapshot."""
        with self.reading() as connection:
            if connection.dialect.name == "postgresql":
                yield connection.execution_options(isolation_level="REPEATABLE READ")
            else:
                yield connection  # SQLite's transactions do

    @contextmanager
    def writing(self) -> Generator[Connection]:
        """Yield a connection whose changes are committed durably together, or not at all."""
        with (
            translate_database_errors(self._schema, self.name),
            self._write_transaction() as connection,
        ):
            yield connection

    def read(self, work: Callable[[Connection], T]) -> T:
        """Return the result of `work`; after a lost connection it is retried for a while."""
        return self._retry_transient(lambda _: self._read_once(work))

    def write(self, work: Callable[[Connection], T]) -> T:
        """Return the result of `work` once its changes are durable.

        After a lost connection, `work` is retried for a while, even after a commit without a
        response: it must recognize by a key what it wrote before.

        Raises:
            DiscreetError: the store's own failure. When it says that the outcome is unknown, the
                changes must be treated as written.
        """
        return self._retry_transient(lambda attempt: self._write_once(work, attempt))

    def append(self, work: Callable[[StatementConnection], T]) -> T:
        """Return the result of `work` as `write` does, on a connection that is kept for it.

        SQLAlchemy only compiles the statements, once: for what is written with every statement.
        """
        return self._retry_transient(lambda attempt: self._append_once(work, attempt))

    def look_up(self, work: Callable[[StatementConnection], T]) -> T:
        """Return the result of `work` as `read` does, on connections that are kept for it.

        Each of its statements is a transaction of its own. For what is read with every statement.
        """
        return self._retry_transient(lambda _: self._look_up_once(work))

    def check(self) -> None:
        """Refuse damage that the database itself can detect."""
        with self.reading() as connection:
            self._place.check(connection)

    def scrub(self) -> None:
        """Overwrite deleted data, as far as the database allows."""
        with self.reading() as connection:
            self._place.scrub(connection)

    def close(self) -> None:
        """Close all connections."""
        engine = self._own_engine()
        with self._turn:
            self._drop_kept()
        self._drop_readers()
        engine.dispose()

    def _read_once(self, work: Callable[[Connection], T]) -> T:
        with self._connect() as connection:
            return work(connection)

    def _write_once(self, work: Callable[[Connection], T], attempt: _Attempt) -> T:
        with self._write_transaction() as connection:
            done = work(connection)
            attempt.commits = True
        return done

    def _append_once(self, work: Callable[[StatementConnection], T], attempt: _Attempt) -> T:
        engine = self._own_engine()
        with self._turn:
            try:
                if self._kept is None:
                    self._kept = engine.raw_connection()
                    self._place.begin_appends(self._kept.dbapi_connection)
                raw: Any = self._kept.dbapi_connection
                with self._place.begin_plain(raw):
                    options = {OPTION: self._seal}
                    done = work(PlainConnection(raw, engine.dialect, options))
                    attempt.commits = True
                    raw.commit()
            except engine.dialect.loaded_dbapi.Error as error:
                self._drop_kept()
                raise DBAPIError(None, None, error) from None
            except BaseException:
                self._drop_kept()
                raise
        return done

    def _look_up_once(self, work: Callable[[StatementConnection], T]) -> T:
        engine = self._own_engine()
        kept: PoolProxiedConnection | None = None
        try:
            kept = self._take_reader()
            plain = PlainConnection(kept.dbapi_connection, engine.dialect, {OPTION: self._seal})
            done = work(plain)
            plain.close()
        except BaseException as error:
            if kept is not None:
                kept.invalidate()
            if isinstance(error, engine.dialect.loaded_dbapi.Error):
                raise DBAPIError(None, None, error) from None
            raise
        self._readers.append(kept)
        return done

    def _take_reader(self) -> PoolProxiedConnection:
        try:
            return self._readers.pop()
        except IndexError:
            kept = self._own_engine().raw_connection()
            self._place.begin_lookups(kept.dbapi_connection)
            return kept

    def _drop_readers(self) -> None:
        while self._readers:
            with suppress(IndexError):  # another thread took the last one
                self._readers.pop().invalidate()

    def _drop_kept(self) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.invalidate()

    @contextmanager
    def _write_transaction(self) -> Generator[Connection]:
        self._own_engine()  # a forked process has its own queue
        # Threads take turns here: SQLite would make them poll, without an order.
        with self._turn, self._connect(writes=True) as connection, connection.begin():
            yield connection

    def _connect(self, *, writes: bool = False) -> Connection:
        options = {"writes": writes, OPTION: self._seal}
        return self._own_engine().connect().execution_options(**options)

    def _retry_transient(self, once: Callable[[_Attempt], T]) -> T:
        deadline = time.monotonic() + self._place.patience
        pause, attempt = _PAUSE_SECONDS, _Attempt()
        with translate_database_errors(self._schema, self.name):
            while True:
                try:
                    return once(attempt)
                except DBAPIError as error:
                    if not is_transient(error):
                        raise
                    if time.monotonic() + pause > deadline:
                        if attempt.commits:
                            raise unknown_commit_failure(self._schema, self.name) from None
                        raise
                # Connections to a server that was demoted still respond, but are read-only.
                self._own_engine().dispose()
                self._drop_readers()
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _open(self) -> None:
        self._process = os.getpid()
        self._turn = threading.Lock()
        self._kept: PoolProxiedConnection | None = None  # for `append`
        self._readers: list[PoolProxiedConnection] = []  # for `look_up`, those not in use
        self._engine = self._place.engine()

    def _own_engine(self) -> Engine:
        if self._process != os.getpid():
            # Sharing the parent's connection would mix both conversations, and closing it would end
            # the parent's: it is left alone.
            self._inherited = self._engine, self._kept, self._readers
            self._open()
        return self._engine


class _Attempt:
    """Whether any of the attempts reached its commit."""

    commits = False


def is_server(place: str | Path) -> bool:
    """Return whether a location is a PostgreSQL URL, not a file."""
    beginnings = ("postgresql:", "postgres:", "postgresql+")
    return isinstance(place, str) and place.startswith(beginnings)


def open_store(place: str | Path, schema: StoreSchema) -> Store:
    """Return the store at a path or a `postgresql://` URL; a missing one is created.

    `:memory:` ends with this process. A URL may name several hosts, as libpq's do: the
    primary is found.
    """
    if is_server(place):
        from discreet.stores.postgres import PostgresBackend

        return Store(PostgresBackend(str(place), schema), schema)
    from discreet.stores.sqlite import SqliteBackend, TemporarySqliteBackend

    if str(place) == MEMORY:
        return Store(TemporarySqliteBackend(schema), schema)
    return Store(SqliteBackend(Path(place).absolute(), schema), schema)
