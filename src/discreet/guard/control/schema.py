"""The tables of a control store, the same in a file and on a server."""

from __future__ import annotations

import sqlite3

from sqlalchemy import BigInteger, Column, Integer, MetaData, Table, Text

from discreet.errors import StoreFailed
from discreet.stores import Book
from discreet.stores.seal import seal_table

metadata = MetaData()

_Number = BigInteger().with_variant(Integer, "sqlite")
_IS_STRICT = sqlite3.sqlite_version_info >= (3, 37)

# One row, which is also the lock that orders all writers on a server.
head = Table(
    "discreet_control",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("format", Integer, nullable=False),
    Column("version", _Number, nullable=False),
    sqlite_strict=_IS_STRICT,
)

# Every authority there ever was; `token` tells one's own change after a commit that nobody answered.
authority = Table(
    "discreet_authority",
    metadata,
    Column("version", _Number, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("changed_by", Text, nullable=False),
    Column("statement", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("token", Text, nullable=False),
    Column("mac", Text, nullable=False),
    sqlite_strict=_IS_STRICT,
)

document = Table(
    "discreet_document",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("body", Text, nullable=False),
    Column("token", Text, nullable=False),
    Column("mac", Text, nullable=False),
    sqlite_strict=_IS_STRICT,
)

BOOK = Book(
    noun="control store",
    metadata=metadata,
    head=head,
    seal=seal_table(metadata, "discreet_control_seal"),
    format=2,
    application=0x64_63_63_74,  # "dcct"
    failed=StoreFailed,
    without="Nothing is allowed without it.",
    restore="Restore it from a backup; do not start a new one for the same data.",
    first={"version": 0},
)
