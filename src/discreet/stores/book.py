"""One kind of book: its tables, its first row, and the words in which its failures are told."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, inspect, select, update

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection, MetaData, Table

    from discreet.errors import DiscreetError


@dataclass(frozen=True)
class Book:
    """What is the same for every place that a kind of book is kept in.

    `head` is a table of one row with the columns `id` and `format`; the row is also the lock that
    orders all writers on a server. `first` are its other columns in a new book.
    """

    noun: str  # such as `ledger`
    metadata: MetaData
    head: Table
    seal: Table  # made by `seal_table`
    format: int
    application: int  # tells the book from any other SQLite file, and from other books on a server
    failed: type[DiscreetError]
    without: str  # what does not happen while the book cannot be used
    restore: str  # what to do when it is damaged
    first: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    again: str = "try again"

    def create(self, connection: Connection) -> None:
        """Make the tables and the first row."""
        self.metadata.create_all(connection)
        connection.execute(insert(self.head).values(id=1, format=self.format, **self.first))
        self._begin_seal(connection)

    def upgrade(self, connection: Connection) -> None:
        """Make what an older format did not have, and say which format it is now."""
        self.metadata.create_all(connection)
        found = inspect(connection)
        for table in self.metadata.tables.values():
            there = {column["name"] for column in found.get_columns(table.name)}
            for column in table.columns:
                if (
                    column.name not in there
                ):  # all of them are texts, and empty where nothing was said
                    name = f"{table.name} ADD COLUMN {column.name}"
                    connection.exec_driver_sql(f"ALTER TABLE {name} TEXT NOT NULL DEFAULT ''")
        if connection.execute(select(self.seal.c.id)).first() is None:
            self._begin_seal(connection)
        connection.execute(update(self.head).values(format=self.format))

    def _begin_seal(self, connection: Connection) -> None:
        named = {"identity": secrets.token_hex(16), "state": "", "mac": ""}
        connection.execute(insert(self.seal).values(id=1, **named))

    def newer(self, place: str, written: int | None) -> DiscreetError:
        """Return the refusal of a book that this version cannot read."""
        return self.failed(
            f"The {self.noun} {place} was written by a newer discreet (format {written}, this one "
            f"knows {self.format}). Update discreet."
        )

    def tampered(self, how: str) -> DiscreetError:
        """Return the refusal of a book that is not as its server wrote it."""
        return self.failed(
            f"The {self.noun} is not as it was written: {how}. {self.without} Find out who changed it, "
            "and restore it from a backup."
        )

    def locked(self) -> DiscreetError:
        """Return the refusal of who would write without the key."""
        return self.failed(
            f"The {self.noun} is sealed with its server's key, and can be changed with that key only. "
            "Name its key file: --key-file FILE"
        )

    def unsealed(self) -> DiscreetError:
        """Return the refusal of a book that anybody may have written."""
        return self.failed(
            f"The {self.noun} is not sealed with the server's key, so that anybody may have written "
            f"it. {self.without} If you trust what it holds: discreet key accept DIR --reason TEXT"
        )

    def failure(self, place: str, meaning: str) -> DiscreetError:
        """Return the failure that says what happened and what does not happen without the book."""
        return self.failed(f"The {self.noun} {place} failed: {meaning}. {self.without}")
