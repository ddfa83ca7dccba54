"""One kind of book: its tables, its first row, and the words in which its failures are told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, update

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

    def upgrade(self, connection: Connection) -> None:
        """Make the tables that an older format did not have, and say which format it is now."""
        self.metadata.create_all(connection)
        connection.execute(update(self.head).values(format=self.format))

    def newer(self, place: str, written: int | None) -> DiscreetError:
        """Return the refusal of a book that this version cannot read."""
        return self.failed(
            f"The {self.noun} {place} was written by a newer discreet (format {written}, this one "
            f"knows {self.format}). Update discreet."
        )

    def failure(self, place: str, meaning: str) -> DiscreetError:
        """Return the failure that says what happened and what does not happen without the book."""
        return self.failed(f"The {self.noun} {place} failed: {meaning}. {self.without}")
