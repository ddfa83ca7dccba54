"""A store in an SQLite file: one writer at a time, durable before a call returns."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import OperationalError

from discreet.stores.faults import NamedSqliteError, store_failure
from discreet.stores.schema import StoreSchema
from discreet.writing import require_private

_WAIT_SECONDS = 30
_PAUSE_SECONDS = 0.002
_TRIES = 200
_AT_ONCE = "PRAGMA busy_timeout=0"
_WAIT = f"PRAGMA busy_timeout={1000 * _WAIT_SECONDS}"
_CHECKED_BYTES = 64 << 20  # larger files are checked by `verify`, not whenever they are opened


class SqliteBackend:
    """A file with mode 0600, in WAL mode, written through to the disk at every commit."""

    patience = 0.0  # a file is not retried

    def __init__(self, path: Path, schema: StoreSchema) -> None:
        self._path, self._schema = path, schema
        self.name = str(path)

    def engine(self) -> Engine:
        """Return an engine whose write transactions start with BEGIN IMMEDIATE."""
        url = URL.create("sqlite", database=str(self._path))
        # Every thread of a server may read at once.
        engine = create_engine(url, connect_args={"timeout": _WAIT_SECONDS}, max_overflow=-1)
        event.listen(engine, "connect", _prepare_connection)
        event.listen(engine, "begin", _begin_transaction)
        return engine

    def prepare(self, engine: Engine) -> None:
        """Create file and tables if missing; refuse a file that is not such a store."""
        try:
            self._create_file()
            written = self._read_format()
        except sqlite3.Error as error:
            raise store_failure(self._schema, self.name, error) from None
        self._refuse_others()
        if written == self._schema.format:
            return
        writing = engine.connect().execution_options(writes=True)
        with writing as connection, connection.begin():
            if written is None:
                self._create_tables(connection)
            else:
                self._schema.upgrade(connection)
                connection.exec_driver_sql(f"PRAGMA user_version={self._schema.format}")

    @contextmanager
    def begin_plain(self, raw: Any) -> Generator[None]:
        """Begin a write transaction on a connection of the driver, for the block."""
        try:
            raw.execute("BEGIN IMMEDIATE")  # nearly always, the writers of this process are alone
        except sqlite3.OperationalError as error:
            if not _is_busy(error):
                raise
            _begin_immediate(raw)
            raw.execute(_AT_ONCE)
        yield

    def begin_appends(self, raw: Any) -> None:
        """Make a connection of the driver ready for `begin_plain`."""
        raw.execute(_AT_ONCE)

    def begin_lookups(self, raw: Any) -> None:
        """Do nothing: only BEGIN starts a longer transaction."""

    def check(self, connection: Connection) -> None:
        """Refuse a file whose pages contradict each other."""
        if connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar() != "ok":
            raise store_failure(self._schema, self.name, NamedSqliteError("SQLITE_CORRUPT"))

    def scrub(self, connection: Connection) -> None:
        """Empty the write-ahead log; deleted rows are overwritten in the file itself."""
        raw: Any = connection.connection.dbapi_connection
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _create_file(self) -> None:
        try:
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            if self._path.is_file() and not self._path.stat().st_size:
                self._path.chmod(0o600)  # it is still empty
            return
        except OSError:
            raise store_failure(
                self._schema, self.name, NamedSqliteError("SQLITE_CANTOPEN")
            ) from None
        # Without this the file name could be lost in a power failure.
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _refuse_others(self) -> None:
        # SQLite gives its logs the file's mode.
        for ending in ("", "-wal", "-shm"):
            require_private(self._path.with_name(self._path.name + ending))

    def _read_format(self) -> int | None:
        """Return the format of the store, None if the file is empty; refuse a file of another kind."""
        with closing(
            sqlite3.connect(self._path, isolation_level=None, timeout=_WAIT_SECONDS)
        ) as raw:
            # In one transaction: another process may be creating the tables.
            raw.execute("BEGIN")
            application = raw.execute("PRAGMA application_id").fetchone()[0]
            written = raw.execute("PRAGMA user_version").fetchone()[0]
            has_tables = raw.execute("SELECT 1 FROM sqlite_master").fetchone() is not None
            raw.execute("COMMIT")
            if application == self._schema.application:
                self._refuse_newer(written)
                if self._path.stat().st_size <= _CHECKED_BYTES:
                    self._refuse_damage(raw)
                return written
            if application or written or has_tables:
                raise self._schema.failed(
                    f"{self.name} is another program's database, not a {self._schema.noun}. Name "
                    "another file."
                )
            self._write_ahead(raw)
            return None

    def _refuse_newer(self, written: int) -> None:
        if written > self._schema.format:
            raise self._schema.newer(self.name, written)

    def _refuse_damage(self, raw: sqlite3.Connection) -> None:
        if raw.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise store_failure(self._schema, self.name, NamedSqliteError("SQLITE_CORRUPT"))

    def _write_ahead(self, raw: sqlite3.Connection) -> None:
        # Several processes may do this at once, and SQLite does not wait for this one pragma.
        for attempt in range(_TRIES):
            try:
                mode = raw.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            except sqlite3.OperationalError as error:
                if attempt == _TRIES - 1 or not _is_busy(error):
                    raise
                time.sleep(_WAIT_SECONDS / _TRIES)
                continue
            if mode == "wal":
                return
            raise self._schema.failed(
                f"The {self._schema.noun} {self.name} cannot be kept on this file system, which has no shared "
                "memory. Use a local disk, or a PostgreSQL URL."
            )

    def _create_tables(self, connection: Connection) -> None:
        written = connection.exec_driver_sql("PRAGMA application_id").scalar()
        if written == self._schema.application:
            return  # another process did it first
        self._schema.create(connection)
        connection.exec_driver_sql(f"PRAGMA application_id={self._schema.application}")
        connection.exec_driver_sql(f"PRAGMA user_version={self._schema.format}")


class TemporarySqliteBackend(SqliteBackend):
    """A store for one process, in a folder that is deleted with it."""

    def __init__(self, schema: StoreSchema) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="discreet-store-")
        super().__init__(Path(self._folder.name) / "store.sqlite", schema)
        self.name = "in memory"

    def engine(self) -> Engine:
        """Return an engine that does not wait for the disk."""
        engine = super().engine()
        event.listen(engine, "connect", _without_waiting)
        return engine


def _without_waiting(raw: Any, _record: Any) -> None:
    raw.execute("PRAGMA synchronous=OFF")


def _prepare_connection(raw: Any, _record: Any) -> None:
    raw.isolation_level = None  # `_begin_transaction` starts transactions, not Python
    for pragma in ("synchronous=FULL", "fullfsync=ON", "secure_delete=ON", "trusted_schema=OFF"):
        raw.execute(f"PRAGMA {pragma}")


def _begin_transaction(connection: Connection) -> None:
    if connection.get_execution_options().get("writes", False):
        raw: Any = connection.connection.dbapi_connection
        try:
            _begin_immediate(raw)
        except sqlite3.Error as error:
            raise OperationalError(None, None, error) from None
    else:
        connection.exec_driver_sql("BEGIN")


def _begin_immediate(raw: Any) -> None:
    # SQLite waits longer and longer between its attempts, so newcomers would overtake waiting ones.
    raw.execute(_AT_ONCE)
    for _ in range(int(_WAIT_SECONDS / _PAUSE_SECONDS)):
        try:
            raw.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if not _is_busy(error):
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            break
    else:
        raw.execute("BEGIN IMMEDIATE")
    raw.execute(_WAIT)


def _is_busy(error: BaseException) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
