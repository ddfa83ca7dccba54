"""The tables of a ledger, the same in a file and on a server."""

from __future__ import annotations

from sqlalchemy import Column, Integer, LargeBinary, MetaData, Table, Text

from discreet.errors import LedgerFailed
from discreet.stores.schema import IS_STRICT, StoreSchema, WholeNumber, head_table

FORMAT = 4  # 1 had no sources, 2 no seal, 3 drafts, sightings and key outside the chain
APPLICATION = 0x64_63_72_74  # "dcrt": distinguishes a ledger from any other SQLite file
EVERYTHING_ELSE = ""  # the row of all parts that no question has named yet
START = "0" * 64
NO_HEADS = "{}"

metadata = MetaData()


# One row, which is also the lock that orders all writers on a server.
head = head_table(
    metadata,
    "discreet_ledger",
    Column("sequence", WholeNumber, nullable=False),
    Column("hash", Text, nullable=False),
    Column("closed", Text, nullable=False),  # why nothing may be spent, empty when it may
    # How far other stores were when the ledger was last updated, as JSON; empty in a ledger of format 3.
    Column("known_heads", Text, nullable=False),
)

account = Table(
    "discreet_account",
    metadata,
    Column("name", Text, primary_key=True),
    Column("epsilon", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("accounting", Text, nullable=False),
    sqlite_strict=IS_STRICT,
)

# `cell` is EVERYTHING_ELSE, or the cell's name after an equals sign.
spending = Table(
    "discreet_spending",
    metadata,
    Column("account", Text, primary_key=True),
    Column("cell", Text, primary_key=True),
    Column("epsilon", WholeNumber, nullable=False),
    Column("delta", WholeNumber, nullable=False),
    Column("rho", WholeNumber, nullable=False),
    Column("slip", WholeNumber, nullable=False),
    sqlite_strict=IS_STRICT,
)

reservation = Table(
    "discreet_reservation",
    metadata,
    Column("key", Text, primary_key=True),
    Column("at", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("answer", LargeBinary, nullable=True),
    sqlite_strict=IS_STRICT,
)

entry = Table(
    "discreet_entry",
    metadata,
    Column("sequence", WholeNumber, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("account", Text, nullable=True, index=True),
    Column("key", Text, nullable=True),
    Column("detail", Text, nullable=False),
    Column("hash", Text, nullable=False),
    sqlite_strict=IS_STRICT,
)

# Tables that were asked about: what recognizes them under another name, and which accounts pay.
source = Table(
    "discreet_source",
    metadata,
    Column("id", Text, primary_key=True),
    Column("accounts", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("declared", Integer, nullable=False),
    Column("sketch", LargeBinary, nullable=False),
    sqlite_strict=IS_STRICT,
)

# Where a source was found, so that it need not be read again while nothing changes there.
sighting = Table(
    "discreet_sighting",
    metadata,
    Column("place", Text, primary_key=True),
    Column("source", Text, nullable=False),
    sqlite_strict=IS_STRICT,
)

# One row: the key of all sketches, or, for a file, only the hash of the key that lies beside it.
secret = Table(
    "discreet_secret",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("hash", Text, nullable=False),
    Column("key", Text, nullable=True),
    sqlite_strict=IS_STRICT,
)

# What was drafted once for an account and holds from then on.
pin = Table(
    "discreet_pin",
    metadata,
    Column("account", Text, primary_key=True),
    Column("content", Text, nullable=False),
    sqlite_strict=IS_STRICT,
)

SCHEMA = StoreSchema(
    noun="ledger",
    head=head,
    format=FORMAT,
    application=APPLICATION,
    failed=LedgerFailed,
    without="No question is answered without it.",
    restore="Restore it from a backup, and count as spent whatever was answered since; do not start a "
    "new ledger for the same data.",
    first={"sequence": 0, "hash": START, "closed": "", "known_heads": NO_HEADS},
    again="ask again",
)
