"""The tables of a journal, the same in a file and on a server."""

from __future__ import annotations

from sqlalchemy import Column, MetaData, Table, Text

from discreet.errors import StoreFailed
from discreet.stores.schema import IS_STRICT, StoreSchema, WholeNumber, head_table

START = "0" * 64  # in place of the hash before the first entry

metadata = MetaData()


# One row: the end of the journal, and its beginning after earlier entries were archived. It is also
# the lock that orders all writers on a server. Peaks are hashes in hex, one after the other.
head = head_table(
    metadata,
    "discreet_journal",
    Column("sequence", WholeNumber, nullable=False),
    Column("hash", Text, nullable=False),
    Column("peaks", Text, nullable=False),
    Column("first_sequence", WholeNumber, nullable=False),
    Column("first_hash", Text, nullable=False),
    Column("first_peaks", Text, nullable=False),
)

# Searches use only the body: all of it is covered by the hash.
entry = Table(
    "discreet_event",
    metadata,
    Column("sequence", WholeNumber, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),
    Column("hash", Text, nullable=False),
    sqlite_strict=IS_STRICT,
)

checkpoint = Table(
    "discreet_checkpoint",
    metadata,
    Column("size", WholeNumber, primary_key=True, autoincrement=False),
    Column("note", Text, nullable=False),
    sqlite_strict=IS_STRICT,
)

SCHEMA = StoreSchema(
    noun="journal",
    head=head,
    format=2,
    application=0x64_63_6A_6E,  # "dcjn"
    failed=StoreFailed,
    without="Nothing is answered that is not written down.",
    restore="Keep it for the investigation, and restore it from a backup.",
    first={
        "sequence": 0,
        "hash": START,
        "peaks": "",
        "first_sequence": 0,
        "first_hash": START,
        "first_peaks": "",
    },
)
