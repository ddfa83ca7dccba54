"""Whether a book is as its server wrote it: authenticated under a key that the book does not hold."""

from __future__ import annotations

import hashlib
import hmac
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, Integer, MetaData, Table, Text, bindparam, select, update

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from discreet.stores.book import Book

OPTION = "seal"  # of a connection: the seal of the store it belongs to


class Seal:
    """Computes message authentication codes (HMAC-SHA-256) under one key."""

    def __init__(self, key: bytes) -> None:
        self._key = bytes(key)

    def bound(self, *names: str) -> Seal:
        """Return the seal of one store: what it authenticates is worth nothing in another one."""
        return Seal(self._digest(("store", *names)))

    def mac(self, *parts: str) -> str:
        """Return the code of some texts, in hexadecimal digits."""
        return self._digest(("text", *parts)).hex()

    def number(self, *parts: str) -> int:
        """Return another code of them as a number, whose sums stand for sets of texts."""
        return int.from_bytes(self._digest(("member", *parts)), "big")

    def fits(self, mac: str, *parts: str) -> bool:
        """Return whether `mac` is the code of these texts."""
        return hmac.compare_digest(mac.encode(), self.mac(*parts).encode())

    def _digest(self, parts: tuple[str, ...]) -> bytes:
        encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
        framed = b"".join(len(part).to_bytes(8, "big") + part for part in encoded)
        return hmac.new(self._key, framed, hashlib.sha256).digest()


@dataclass(frozen=True)
class Sealed:
    """A store's name for itself, the state that was sealed last, and its code; empty without a key."""

    identity: str
    state: str
    mac: str


def seal_table(metadata: MetaData, name: str) -> Table:
    """Return the table of one row in which a book keeps its seal."""
    return Table(
        name,
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("identity", Text, nullable=False),
        Column("state", Text, nullable=False),
        Column("mac", Text, nullable=False),
        sqlite_strict=sqlite3.sqlite_version_info >= (3, 37),
    )


def read_seal(connection: Connection, book: Book) -> Sealed:
    """Return the seal of a book as it is there, unchecked."""
    table = book.seal
    row = connection.execute(select(table.c.identity, table.c.state, table.c.mac)).one_or_none()
    if row is None:
        raise book.tampered("its seal is missing")
    return Sealed(row.identity, row.state, row.mac)


def require_seal(connection: Connection, book: Book, state: str | None = None) -> Sealed:
    """Return the seal of a book if it fits what is there; before every write.

    `state` is what the book's head says now, None where only the seal tells.

    Raises:
        DiscreetError: the book's own failure: it was changed, or is written without its key.
    """
    found = read_seal(connection, book)
    seal = seal_of(connection)
    if seal is None:
        if found.mac:
            raise book.locked()
        return found
    if not found.mac:
        raise book.unsealed()
    if state is not None and state != found.state:
        raise book.tampered("its last entry is not the one that was sealed")
    if not seal.fits(found.mac, book.noun, found.state):
        raise book.tampered("its seal does not fit")
    return found


def renew_seal(connection: Connection, book: Book, state: str) -> None:
    """Write the state of a book down and, with a key, seal it; after every write."""
    seal = seal_of(connection)
    mac = "" if seal is None else seal.mac(book.noun, state)
    table = book.seal
    changed = update(table).values(state=bindparam("new_state"), mac=bindparam("new_mac"))
    connection.execute(changed, {"new_state": state, "new_mac": mac})


def seal_of(connection: Connection) -> Seal | None:
    """Return the seal that a connection was opened with."""
    found: Any = connection.get_execution_options().get(OPTION)
    return found
