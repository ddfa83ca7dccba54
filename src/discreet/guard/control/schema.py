"""The tables of a control store, the same in a file and on a server."""

from __future__ import annotations

from sqlalchemy import Column, MetaData, Table, Text

from discreet.errors import StoreFailed
from discreet.stores.schema import IS_STRICT, StoreSchema, WholeNumber, head_table

metadata = MetaData()


# One row, which is also the lock that orders all writers on a server.
head = head_table(
    metadata,
    "discreet_control",
    Column("version", WholeNumber, nullable=False),
)

# Every version of the authority; `token` identifies a change after a commit without a response.
authority = Table(
    "discreet_authority",
    metadata,
    Column("version", WholeNumber, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("changed_by", Text, nullable=False),
    Column("statement", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("token", Text, nullable=False),
    Column("mac", Text, nullable=False),
    sqlite_strict=IS_STRICT,
)

document = Table(
    "discreet_document",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("body", Text, nullable=False),
    Column("token", Text, nullable=False),
    Column("mac", Text, nullable=False),
    sqlite_strict=IS_STRICT,
)

SCHEMA = StoreSchema(
    noun="control store",
    head=head,
    format=2,
    application=0x64_63_63_74,  # "dcct"
    failed=StoreFailed,
    without="Nothing is allowed without it.",
    restore="Restore it from a backup; do not start a new one for the same data.",
    first={"version": 0},
)
