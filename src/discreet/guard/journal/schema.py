"""The tables of a journal, the same in a file and on a server."""

from __future__ import annotations

import sqlite3

from sqlalchemy import BigInteger, Column, Integer, MetaData, Table, Text

from discreet.errors import StoreFailed
from discreet.stores import Book
from discreet.stores.seal import seal_table

START = "0" * 64  # what stands for the hash before the first entry

metadata = MetaData()

_Number = BigInteger().with_variant(Integer, "sqlite")
_IS_STRICT = sqlite3.sqlite_version_info >= (3, 37)

# One row: the end of the journal, and its beginning after earlier entries were archived. It is also
# the lock that orders all writers on a server. Peaks are hashes in hex, one after the other.
head = Table(
    "discreet_journal",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("format", Integer, nullable=False),
    Column("sequence", _Number, nullable=False),
    Column("hash", Text, nullable=False),
    Column("peaks", Text, nullable=False),
    Column("first_sequence", _Number, nullable=False),
    Column("first_hash", Text, nullable=False),
    Column("first_peaks", Text, nullable=False),
    sqlite_strict=_IS_STRICT,
)

# Nothing but the body is looked at when entries are searched: all of it is under the hash.
entry = Table(
    "discreet_event",
    metadata,
    Column("sequence", _Number, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),
    Column("hash", Text, nullable=False),
    sqlite_strict=_IS_STRICT,
)

checkpoint = Table(
    "discreet_checkpoint",
    metadata,
    Column("size", _Number, primary_key=True, autoincrement=False),
    Column("note", Text, nullable=False),
    sqlite_strict=_IS_STRICT,
)

BOOK = Book(
    noun="journal",
    metadata=metadata,
    head=head,
    seal=seal_table(metadata, "discreet_journal_seal"),
    format=2,
    application=0x64_63_6A_6E,  # "dcjn"
    failed=StoreFailed,
    without="Nothing is answered that is not written down.",
    restore="Keep it for whoever investigates, and restore it from a backup.",
    first={
        "sequence": 0,
        "hash": START,
        "peaks": "",
        "first_sequence": 0,
        "first_hash": START,
        "first_peaks": "",
    },
)
