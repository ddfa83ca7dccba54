"""Where a ledger is kept: an SQLite file or a PostgreSQL database, opened so that nothing gets lost."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sqlalchemy.engine import make_url

from discreet.dp.ledger.faults import translated

if TYPE_CHECKING:
    from collections.abc import Generator

    from sqlalchemy import Connection, Engine

MEMORY = ":memory:"  # what SQLite calls it, too


class Place(Protocol):
    """One kind of database: how to name it, open it and make a new ledger in it."""

    name: str

    def engine(self) -> Engine:
        """Return an engine whose connections write durably."""
        ...

    def prepare(self, engine: Engine) -> None:
        """Make the tables if there are none; refuse what is no ledger."""
        ...

    def check(self, connection: Connection) -> None:
        """Refuse damage that the database itself can find."""
        ...


class Store:
    """Transactions on one ledger; usable from threads, and in a process that was forked."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._open()
        with translated(self.name):
            place.prepare(self._engine)

    @property
    def name(self) -> str:
        """Where the ledger is, without secrets."""
        return self._place.name

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """Give a connection that sees one moment."""
        with translated(self.name), self._own_engine().connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Generator[Connection]:
        """Give a connection whose changes are kept all together, durably, or not at all."""
        engine = self._own_engine()
        # Threads take turns here: SQLite would let them wait by polling, without an order.
        with (
            self._turn,
            translated(self.name),
            engine.connect().execution_options(writes=True) as connection,
            connection.begin(),
        ):
            yield connection

    def check(self) -> None:
        """Refuse damage that the database itself can find."""
        with self.reading() as connection:
            self._place.check(connection)

    def close(self) -> None:
        """Close all connections."""
        self._own_engine().dispose()

    def _open(self) -> None:
        self._process = os.getpid()
        self._turn = threading.Lock()
        self._engine = self._place.engine()

    def _own_engine(self) -> Engine:
        if self._process != os.getpid():
            # A connection shared with the parent would mix both conversations, and closing it would
            # end the parent's: it is left alone.
            self._inherited = self._engine
            self._open()
        return self._engine


def open_store(place: str | Path) -> Store:
    """Return the store at a path or a `postgresql://` URL; a new one is made if there is none.

    `:memory:` is one that ends with this process.
    """
    if isinstance(place, str) and place.startswith(("postgresql:", "postgres:", "postgresql+")):
        from discreet.dp.ledger.server import Server

        return Store(Server(make_url(place)))
    from discreet.dp.ledger.file import File, Passing

    if str(place) == MEMORY:
        return Store(Passing())
    return Store(File(Path(place).absolute()))
