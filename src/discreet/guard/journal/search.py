"""Search of entries by time, user, kind and decision."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from discreet.errors import JournalBroken
from discreet.guard.journal import chain
from discreet.guard.journal.event import Event, from_plain


@dataclass(frozen=True)
class JournalEntry:
    """An event with its number and its hash in the chain."""

    sequence: int
    hash: str
    event: Event
    body: str

    def to_plain(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"sequence": self.sequence, "hash": self.hash, **self.event.to_plain()}


@dataclass(frozen=True)
class EntryFilter:
    """A filter of entries; None matches everything. `table` is one that was read or written."""

    since: datetime | None = None
    until: datetime | None = None
    user: str | None = None
    kind: str | None = None
    decision: str | None = None
    table: str | None = None

    def matches(self, event: Event) -> bool:
        """Return whether an event matches."""
        return (
            (self.since is None or event.at >= self.since)
            and (self.until is None or event.at < self.until)
            and self.user in (None, event.user)
            and self.kind in (None, event.kind)
            and self.decision in (None, event.decision)
            and (self.table is None or self._names_table(event))
        )

    def _names_table(self, event: Event) -> bool:
        """Whether an event reads or writes the table, which may be named without its schema."""
        names = {*event.reads, *event.writes}
        return self.table in names or self.table in {name.rpartition(".")[2] for name in names}


@dataclass(frozen=True)
class LatestEntries:
    """The newest entries that match, newest first; `next` is where the search stopped, None at the start."""

    entries: tuple[JournalEntry, ...]
    next: int | None = None


def find_entries(connection: Connection, wanted: EntryFilter) -> Iterator[JournalEntry]:
    """Return the matching entries, in order."""
    for sequence, body, digest in chain.read_entries(connection):
        event = read_event(body, sequence)
        if wanted.matches(event):
            yield JournalEntry(sequence, digest, event, body)


def find_latest(
    connection: Connection, wanted: EntryFilter, *, most: int, before: int | None, scanned: int
) -> LatestEntries:
    """Return the newest entries before a number that match; of `scanned` entries, not more."""
    found: list[JournalEntry] = []
    for count, (sequence, body, digest) in enumerate(chain.read_backwards(connection, before), 1):
        event = read_event(body, sequence)
        if wanted.matches(event):
            found.append(JournalEntry(sequence, digest, event, body))
        if len(found) == most or count == scanned:
            return LatestEntries(tuple(found), sequence)
    return LatestEntries(tuple(found))


def read_event(body: str, sequence: int) -> Event:
    """Return the event of an entry.

    Raises:
        JournalBroken: the text is not a valid entry.
    """
    try:
        return from_plain(json.loads(body))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise JournalBroken(
            f"Entry {sequence} of the journal is not as it was written. Run: discreet journal verify"
        ) from None
