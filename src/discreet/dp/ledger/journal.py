"""The append-only entries: each one's hash covers the one before it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from discreet.dp.budget import Budget, Price
from discreet.dp.ledger.schema import FORMAT, NO_HEADS, SCHEMA, entry, head
from discreet.dp.ledger.units import Units
from discreet.errors import LedgerFailed, WrongUsage
from discreet.stores.seal import renew_seal, require_seal, seal_of

_UNTIMED = ""  # the time of entries that no question made
# Statements are built once: building one takes longer than running it.
_HEAD = select(head.c.sequence, head.c.hash, head.c.closed, head.c.known_heads)
_LAST = _HEAD.with_for_update()
_KNOWN = select(entry.c.hash).where(entry.c.sequence == bindparam("this"))
_ADD = insert(entry)
_MOVE = (
    update(head)
    .where(head.c.sequence == bindparam("last_sequence"), head.c.hash == bindparam("last_hash"))
    .values(
        sequence=bindparam("new_sequence"),
        hash=bindparam("new_hash"),
        closed=bindparam("new_closed"),
        known_heads=bindparam("new_known_heads"),
    )
)


@dataclass(frozen=True)
class LedgerLine:
    """The content of one entry; `detail` is JSON."""

    at: str
    kind: str
    account: str | None
    key: str | None
    detail: str


@dataclass(frozen=True)
class LedgerHead:
    """The number and the hash of the last entry, why nothing may be spent, if so, and other stores' heads."""

    sequence: int
    hash: str
    closed: str = ""
    known_heads: str = NO_HEADS

    @property
    def is_former(self) -> bool:
        """Whether the ledger is one of format 3, in which drafts, sightings and key are no entries."""
        return not self.known_heads

    @property
    def state(self) -> str:
        """What is sealed."""
        entered = f"{self.sequence} {self.hash} {self.closed}"
        return entered if self.is_former else f"{FORMAT} {self.known_heads} {entered}"


def take_head(connection: Connection) -> LedgerHead:
    """Return the head; on a server, every other writer waits from here on.

    Raises:
        LedgerFailed: it is not the one that was sealed.
    """
    found = _make_head(connection.execute(_LAST).one_or_none())
    require_seal(connection, SCHEMA, found.state)
    return found


def read_head(connection: Connection) -> LedgerHead:
    """Return the head as it is there."""
    return _make_head(connection.execute(_HEAD).one_or_none())


def is_known(connection: Connection, sequence: int, digest: str) -> bool:
    """Return whether the ledger has this entry, and so all before it."""
    return sequence == 0 or connection.scalar(_KNOWN, {"this": sequence}) == digest


def _make_head(row: Any) -> LedgerHead:
    if row is None:
        raise LedgerFailed("The ledger has lost its head. Restore it from a backup.")
    return LedgerHead(row.sequence, row.hash, row.closed, row.known_heads)


def append_lines(
    connection: Connection, last: LedgerHead, lines: list[LedgerLine], *, closed: str | None = None
) -> None:
    """Write `lines` after `last` and make the last of them the head; `closed` replaces why it is closed."""
    now = last if closed is None else replace(last, closed=closed)
    rows: list[dict[str, Any]] = []
    for line in lines:
        digest = hash_line(now.hash, now.sequence + 1, line)
        now = replace(now, sequence=now.sequence + 1, hash=digest)
        rows.append({"sequence": now.sequence, "hash": now.hash, **vars(line)})
    connection.execute(_ADD, rows)
    move_head(connection, last, now)


def move_head(connection: Connection, last: LedgerHead, now: LedgerHead) -> None:
    """Replace the head, and seal it if the ledger has a key."""
    moved = connection.execute(
        _MOVE,
        {
            "last_sequence": last.sequence,
            "last_hash": last.hash,
            "new_sequence": now.sequence,
            "new_hash": now.hash,
            "new_closed": now.closed,
            "new_known_heads": now.known_heads,
        },
    )
    if moved.rowcount != 1:
        raise LedgerFailed("The ledger was changed by another process meanwhile. Ask again.")
    seal_head(connection, now)


def seal_head(connection: Connection, now: LedgerHead) -> None:
    """Seal the head, if the ledger has a key."""
    if seal_of(connection) is not None:
        renew_seal(connection, SCHEMA, now.state)


def hash_line(previous: str, sequence: int, line: LedgerLine) -> str:
    """Return the hash of an entry that follows the hash `previous`."""
    parts = (line.at, line.kind, line.account, line.key, line.detail)
    text = json.dumps([previous, sequence, *parts], ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def charge_line(
    key: str,
    at: datetime,
    *,
    account: str,
    cells: frozenset[str] | None,
    price: Price,
    cost: Units,
    question: str,
    fingerprint: str,
) -> LedgerLine:
    """Return the entry of one account's charge."""
    detail = {
        "question": question,
        "cells": sorted(cells) if cells else None,
        "price": [None if part is None else str(part) for part in astuple(price)],
        "cost": astuple(cost),
        "fingerprint": fingerprint,
    }
    return LedgerLine(format_utc_time(at), "charge", account, key, _to_json(detail))


def limit_line(at: datetime, *, account: str, budget: Budget) -> LedgerLine:
    """Return the entry of an account's first or changed budget."""
    detail = {
        "epsilon": str(budget.epsilon),
        "delta": str(budget.delta),
        "accounting": budget.accounting,
    }
    return LedgerLine(format_utc_time(at), "limit", account, None, _to_json(detail))


def closing_line(at: datetime, *, kind: str, reason: str) -> LedgerLine:
    """Return the entry that nothing may be spent from now on (`close`), or may again (`reopen`)."""
    return LedgerLine(format_utc_time(at), kind, None, None, _to_json({"reason": reason}))


def answer_line(key: str, at: datetime, *, answer: bytes) -> LedgerLine:
    """Return the entry of a stored answer."""
    digest = hashlib.sha256(answer).hexdigest()
    return LedgerLine(format_utc_time(at), "answer", None, key, _to_json({"sha256": digest}))


def draft_line(account: str, content: str) -> LedgerLine:
    """Return the entry of what was drafted once for an account."""
    digest = hashlib.sha256(content.encode()).hexdigest()
    return LedgerLine(_UNTIMED, "pin", account, None, _to_json({"sha256": digest}))


def sighting_line(place: str, source: str, *, at: datetime | None) -> LedgerLine:
    """Return the entry of where a source was found."""
    written = _UNTIMED if at is None else format_utc_time(at)
    return LedgerLine(written, "sighting", None, place, _to_json({"source": source}))


def secret_line(digest: str) -> LedgerLine:
    """Return the entry of the hash of the key under which rows are hashed."""
    return LedgerLine(_UNTIMED, "secret", None, None, _to_json({"hash": digest}))


def format_line() -> LedgerLine:
    """Return the entry that a ledger was brought to the present format."""
    return LedgerLine(_UNTIMED, "format", None, None, _to_json({"format": FORMAT}))


def parse_price(written: list[str | None]) -> Price:
    """Return the price that a charge holds."""
    epsilon, delta, rho, slip = (None if part is None else Fraction(part) for part in written)
    return Price(epsilon, delta or Fraction(0), rho, slip or Fraction(0))


def format_utc_time(at: datetime) -> str:
    """Return `at` in UTC as text."""
    if at.tzinfo is None:
        raise WrongUsage("A time in the ledger needs a time zone. Give one, such as UTC.")
    return at.astimezone(UTC).isoformat()


def _to_json(detail: dict[str, Any]) -> str:
    return json.dumps(detail, sort_keys=True)
