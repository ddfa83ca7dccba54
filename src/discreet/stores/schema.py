"""The schema of one kind of store: its tables, its format, and the messages of its failures."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Integer,
    MetaData,
    Table,
    Text,
    insert,
    inspect,
    select,
    update,
)

from discreet.errors import DiscreetError

WholeNumber = BigInteger().with_variant(Integer, "sqlite")
# Where SQLite can, it refuses anything but the declared types.
IS_STRICT = sqlite3.sqlite_version_info >= (3, 37)


def head_table(metadata: MetaData, name: str, *columns: Column[Any]) -> Table:
    """Return the table of a store's head, which has one row, and create that of its seal."""
    Table(
        f"{name}_seal",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("identity", Text, nullable=False),
        Column("state", Text, nullable=False),
        Column("mac", Text, nullable=False),
        sqlite_strict=IS_STRICT,
    )
    return Table(
        name,
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("format", Integer, nullable=False),
        *columns,
        sqlite_strict=IS_STRICT,
    )


@dataclass(frozen=True)
class StoreSchema:
    """The properties of a kind of store, the same in every location.

    The one row of `head`, made by `head_table`, is also the lock that orders all writers on a server.
    `first` are its other columns in a new store.
    """

    noun: str  # such as `ledger`
    head: Table
    format: int
    application: int  # identifies this kind of store among SQLite files, and on a server
    failed: type[DiscreetError]
    without: str  # the consequence while the store cannot be used
    restore: str  # what to do when it is damaged
    first: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    again: str = "try again"

    @property
    def metadata(self) -> MetaData:
        """All tables of the store."""
        return self.head.metadata

    @property
    def seal(self) -> Table:
        """The table of one row in which the store keeps its seal."""
        return self.metadata.tables[f"{self.head.name}_seal"]

    def create(self, connection: Connection) -> None:
        """Create the tables and the first row."""
        self.metadata.create_all(connection)
        connection.execute(insert(self.head).values(id=1, format=self.format, **self.first))
        self._begin_seal(connection)

    def upgrade(self, connection: Connection) -> None:
        """Add what an older format lacks, and set the current format."""
        self.metadata.create_all(connection)
        found = inspect(connection)
        for table in self.metadata.tables.values():
            there = {column["name"] for column in found.get_columns(table.name)}
            for column in table.columns:
                if column.name not in there:  # all of them are texts, and empty at first
                    name = f"{table.name} ADD COLUMN {column.name}"
                    connection.exec_driver_sql(f"ALTER TABLE {name} TEXT NOT NULL DEFAULT ''")
        if connection.execute(select(self.seal.c.id)).first() is None:
            self._begin_seal(connection)
        connection.execute(update(self.head).values(format=self.format))

    def _begin_seal(self, connection: Connection) -> None:
        named = {"identity": secrets.token_hex(16), "state": "", "mac": ""}
        connection.execute(insert(self.seal).values(id=1, **named))

    def newer(self, place: str, written: int | None) -> DiscreetError:
        """Return the error for a store of a newer format."""
        return self.failed(
            f"The {self.noun} {place} was written by a newer discreet (format {written}, this one "
            f"knows {self.format}). Update discreet."
        )

    def tampered(self, how: str) -> DiscreetError:
        """Return the error for a store that was changed."""
        return self.failed(
            f"The {self.noun} is not as it was written: {how}. {self.without} Find out who changed it, "
            "and restore it from a backup."
        )

    def locked(self) -> DiscreetError:
        """Return the error for a write without the key."""
        return self.failed(
            f"The {self.noun} is sealed with its server's key, and can be changed with that key only. "
            "Name its key file: --key-file FILE"
        )

    def unsealed(self) -> DiscreetError:
        """Return the error for an unsealed store, which may have been changed."""
        return self.failed(
            f"The {self.noun} is not sealed with the server's key, so it may have been changed. "
            f"{self.without} If you trust what it holds: discreet key accept DIR --reason TEXT"
        )

    def failure(self, place: str, meaning: str) -> DiscreetError:
        """Return the failure with its meaning and its consequence."""
        return self.failed(f"The {self.noun} {place} failed: {meaning}. {self.without}")
