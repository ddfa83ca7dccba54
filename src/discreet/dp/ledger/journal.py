"""The append-only entries: each one's hash covers the one before it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, bindparam, insert, select, update

from discreet.dp.budget import Budget, Price
from discreet.dp.ledger.schema import entry, head
from discreet.errors import LedgerFailed, WrongUsage

if TYPE_CHECKING:
    from discreet.dp.ledger.units import Units


# Statements are built once: building one takes longer than running it.
_LAST = select(head.c.sequence, head.c.hash).with_for_update()
_ADD = insert(entry)
_MOVE = (
    update(head)
    .where(head.c.sequence == bindparam("last_sequence"), head.c.hash == bindparam("last_hash"))
    .values(sequence=bindparam("new_sequence"), hash=bindparam("new_hash"))
)


@dataclass(frozen=True)
class Line:
    """What one entry says; `detail` is JSON."""

    at: str
    kind: str
    account: str | None
    key: str | None
    detail: str


@dataclass(frozen=True)
class Head:
    """The number and the hash of the last entry."""

    sequence: int
    hash: str


def take_head(connection: Connection) -> Head:
    """Return the last entry's number and hash; on a server, every other writer waits from here on."""
    row = connection.execute(_LAST).one_or_none()
    if row is None:
        raise LedgerFailed("The ledger has lost its head. Restore it from a backup.")
    return Head(row.sequence, row.hash)


def append(connection: Connection, last: Head, lines: list[Line]) -> None:
    """Write `lines` after `last` and make the last of them the head."""
    now = last
    rows: list[dict[str, Any]] = []
    for line in lines:
        now = Head(now.sequence + 1, chain(now.hash, now.sequence + 1, line))
        rows.append({"sequence": now.sequence, "hash": now.hash, **vars(line)})
    connection.execute(_ADD, rows)
    moved = connection.execute(
        _MOVE,
        {
            "last_sequence": last.sequence,
            "last_hash": last.hash,
            "new_sequence": now.sequence,
            "new_hash": now.hash,
        },
    )
    if moved.rowcount != 1:
        raise LedgerFailed("The ledger was changed by somebody else meanwhile. Ask again.")


def chain(previous: str, sequence: int, line: Line) -> str:
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
) -> Line:
    """Return the entry of one account's charge."""
    detail = {
        "question": question,
        "cells": sorted(cells) if cells else None,
        "price": [None if part is None else str(part) for part in astuple(price)],
        "cost": astuple(cost),
    }
    return Line(written_time(at), "charge", account, key, _json(detail))


def limit_line(at: datetime, *, account: str, budget: Budget) -> Line:
    """Return the entry of an account's first or changed budget."""
    detail = {
        "epsilon": str(budget.epsilon),
        "delta": str(budget.delta),
        "accounting": budget.accounting,
    }
    return Line(written_time(at), "limit", account, None, _json(detail))


def answer_line(key: str, at: datetime, *, answer: bytes) -> Line:
    """Return the entry of a stored answer."""
    digest = hashlib.sha256(answer).hexdigest()
    return Line(written_time(at), "answer", None, key, _json({"sha256": digest}))


def read_price(written: list[str | None]) -> Price:
    """Return the price that a charge holds."""
    epsilon, delta, rho, slip = (None if part is None else Fraction(part) for part in written)
    return Price(epsilon, delta or Fraction(0), rho, slip or Fraction(0))


def written_time(at: datetime) -> str:
    """Return `at` in UTC as text."""
    if at.tzinfo is None:
        raise WrongUsage("A time in the ledger needs a time zone. Give one, such as UTC.")
    return at.astimezone(UTC).isoformat()


def _json(detail: dict[str, Any]) -> str:
    return json.dumps(detail, sort_keys=True)
