"""The chain of entries: each one's hash covers its text and the hash before it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from discreet.errors import StoreFailed
from discreet.guard.journal.merkle import Frontier, FrontierBuilder, leaf_hash
from discreet.guard.journal.schema import SCHEMA, START, entry, head
from discreet.stores.plain import StatementConnection
from discreet.stores.seal import renew_seal, require_seal, seal_of

# Statements are built once: building one takes longer than running it.
_HEAD = select(head)
_TAKE = _HEAD.with_for_update()
_ADD = insert(entry)
_MOVE = update(head).values(
    sequence=bindparam("new_sequence"), hash=bindparam("new_hash"), peaks=bindparam("new_peaks")
)
_FOUND = select(entry.c.hash).where(entry.c.sequence == bindparam("this"))
_HASH_LENGTH = 64


@dataclass(frozen=True)
class ChainState:
    """The journal up to one entry: the last hash of the chain, and the tree's frontier."""

    hash: str = START
    frontier: Frontier = field(default_factory=Frontier)

    @property
    def size(self) -> int:
        """How many entries there are up to here."""
        return self.frontier.size

    @cached_property
    def peaks(self) -> str:
        """The peaks of the frontier, as written."""
        return written_peaks(self.frontier)

    def to_plain(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"size": self.size, "hash": self.hash, "peaks": self.peaks}


@dataclass(frozen=True)
class ChainEnds:
    """The start and the end of the stored entries."""

    first: ChainState
    last: ChainState

    @property
    def sealed(self) -> str:
        """The sealed text of a journal."""
        return " ".join(
            f"{state.size} {state.hash} {state.peaks}" for state in (self.first, self.last)
        )


class ChainBuilder:
    """A state while many entries are appended to it."""

    def __init__(self, start: ChainState) -> None:
        self._growing = FrontierBuilder(start.frontier)
        self.hash = start.hash

    @property
    def size(self) -> int:
        """How many entries there are up to here."""
        return self._growing.size

    def append(self, body: str) -> None:
        """Append one entry."""
        data = body.encode()
        self.hash = chain_hash(self.hash, data)
        self._growing.append(leaf_hash(data))

    def root(self) -> bytes:
        """Return the root of the tree so far."""
        return self._growing.frontier().root()

    def state(self) -> ChainState:
        """Return the state reached."""
        return ChainState(self.hash, self._growing.frontier())


def chain_hash(previous: str, body: bytes) -> str:
    """Return the hash of an entry that follows the hash `previous`."""
    return hashlib.sha256(bytes.fromhex(previous) + body).hexdigest()


def ends(connection: Connection) -> ChainEnds:
    """Return the current start and end of the journal."""
    return _read_ends(connection.execute(_HEAD).one_or_none())


def take_ends(connection: StatementConnection) -> ChainEnds:
    """Return the same; on a server, other writers wait from here on.

    Raises:
        StoreFailed: they do not match the seal.
    """
    found = _read_ends(connection.execute(_TAKE).one_or_none())
    require_seal(connection, SCHEMA, found.sealed)
    return found


def append_entries(
    connection: StatementConnection, there: ChainEnds, bodies: Sequence[str]
) -> tuple[ChainState, list[dict[str, Any]]]:
    """Append entries; return the new end and what was written."""
    walk = ChainBuilder(there.last)
    rows: list[dict[str, Any]] = []
    for body in bodies:
        walk.append(body)
        rows.append({"sequence": walk.size, "body": body, "hash": walk.hash})
    connection.execute(_ADD, rows)
    now = walk.state()
    connection.execute(
        _MOVE,
        {
            "new_sequence": now.size,
            "new_hash": now.hash,
            "new_peaks": now.peaks,
        },
    )
    seal_ends(connection, ChainEnds(there.first, now))
    return now, rows


def seal_ends(connection: StatementConnection, now: ChainEnds) -> None:
    """Seal the current start and end of the journal, if it has a key."""
    if seal_of(connection) is not None:
        renew_seal(connection, SCHEMA, now.sealed)


def is_written(connection: StatementConnection, row: Mapping[str, Any]) -> bool:
    """Return whether an entry exists: its hash covers it and everything before."""
    return connection.scalar(_FOUND, {"this": row["sequence"]}) == row["hash"]


def read_entries(
    connection: Connection, *, after: int = 0, until: int | None = None
) -> Iterator[tuple[int, str, str]]:
    """Return number, text and hash of the entries from after `after` on, in order."""
    found = select(entry.c.sequence, entry.c.body, entry.c.hash).where(entry.c.sequence > after)
    if until is not None:
        found = found.where(entry.c.sequence <= until)
    rows = connection.execution_options(yield_per=2000).execute(found.order_by(entry.c.sequence))
    for row in rows:
        yield row[0], row[1], row[2]


def read_backwards(
    connection: Connection, before: int | None = None
) -> Iterator[tuple[int, str, str]]:
    """Return number, text and hash of the entries before `before`, or of all, the newest first."""
    found = select(entry.c.sequence, entry.c.body, entry.c.hash)
    if before is not None:
        found = found.where(entry.c.sequence < before)
    newest_first = found.order_by(entry.c.sequence.desc())
    for row in connection.execution_options(yield_per=500).execute(newest_first):
        yield row[0], row[1], row[2]


def written_peaks(frontier: Frontier) -> str:
    """Return the peaks in hex."""
    return b"".join(frontier.peaks).hex()


def read_frontier(size: int, peaks: str) -> Frontier:
    """Return the frontier of `size` entries.

    Raises:
        ValueError: these are not its peaks.
    """
    parts = [peaks[at : at + _HASH_LENGTH] for at in range(0, len(peaks), _HASH_LENGTH)]
    if len(parts) != size.bit_count() or any(len(part) != _HASH_LENGTH for part in parts):
        raise ValueError
    return Frontier(size, tuple(bytes.fromhex(part) for part in parts))


@lru_cache(maxsize=16)  # the start of a journal changes only when entries are archived
def _read_state(digest: str, size: int, peaks: str) -> ChainState:
    return ChainState(digest, read_frontier(size, peaks))


def _read_ends(row: Any) -> ChainEnds:
    try:
        return ChainEnds(
            _read_state(row.first_hash, row.first_sequence, row.first_peaks),
            _read_state(row.hash, row.sequence, row.peaks),
        )
    except (AttributeError, ValueError):
        raise StoreFailed(
            "The journal has lost its head. Keep it for the investigation, and restore it from a "
            "backup."
        ) from None
