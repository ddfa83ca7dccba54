"""Whether a ledger agrees with itself: hashes, and spending, limits and answers replayed from entries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, select

from discreet.dp.ledger import journal, schema, sources
from discreet.dp.ledger.schema import EVERYTHING_ELSE
from discreet.dp.ledger.spending import cell_row_name
from discreet.dp.ledger.units import NOTHING, Units
from discreet.stores.seal import require_seal, seal_of


@dataclass
class _Replay:
    """What the tables must hold after the entries that were read so far."""

    spent: dict[tuple[str, str], Units] = field(default_factory=dict[tuple[str, str], Units])
    budgets: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    answers: dict[str, str] = field(default_factory=dict[str, str])
    keys: set[str] = field(default_factory=set[str])
    # By which orders reservations are recognized; None where an earlier version did not enter it.
    orders: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    sources: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    pins: dict[str, str] = field(default_factory=dict[str, str])
    sightings: dict[str, str] = field(default_factory=dict[str, str])
    secret: str | None = None
    closed: str = ""

    def follow(self, line: journal.LedgerLine) -> None:
        detail = json.loads(line.detail)
        if line.kind == "limit" and line.account is not None:
            self.budgets[line.account] = detail
            self.spent.setdefault((line.account, EVERYTHING_ELSE), NOTHING)
        elif line.kind == "answer" and line.key is not None:
            self.answers[line.key] = detail["sha256"]
        elif line.kind == "source" and line.key is not None:
            self.sources[line.key] = detail
        elif line.kind in ("close", "reopen"):
            self._close_or_reopen(detail["reason"] if line.kind == "close" else "")
        elif line.kind == "pin" and line.account is not None:
            self.pins[line.account] = detail["sha256"]
        elif line.kind == "sighting" and line.key is not None:
            self.sightings[line.key] = detail["source"]
        elif line.kind == "secret":
            self.secret = detail["hash"]
        elif line.account is not None and line.key is not None:
            self.keys.add(line.key)
            self.orders[line.key] = detail.get("fingerprint")
            self._charge_account(line.account, detail["cells"], Units(*detail["cost"]))

    def _close_or_reopen(self, reason: str) -> None:
        self.closed = reason
        if reason:  # what was not answered by then is paid for again
            self.orders = {key: None if order is None else "" for key, order in self.orders.items()}

    def _charge_account(self, account: str, cells: list[str] | None, cost: Units) -> None:
        rest = self.spent[account, EVERYTHING_ELSE]
        if cells is None:
            for row in [row for row in self.spent if row[0] == account]:
                self.spent[row] += cost
            return
        for cell in cells:
            row = (account, cell_row_name(cell))
            self.spent[row] = self.spent.get(row, rest) + cost


def verify_ledger(connection: Connection) -> tuple[str | None, int]:
    """Return what is wrong, if anything, and how many entries there are."""
    last = journal.read_head(connection)
    if seal_of(connection) is not None:
        require_seal(connection, schema.SCHEMA, last.state)
    replay = _Replay()
    now = journal.LedgerHead(0, schema.START)
    for sequence, digest, line in _read_lines(connection):
        now = journal.LedgerHead(
            now.sequence + 1, journal.hash_line(now.hash, now.sequence + 1, line)
        )
        if (sequence, digest) != (now.sequence, now.hash):
            return f"entry {sequence} was changed, or one before it is missing", now.sequence
        replay.follow(line)
    if (now.sequence, now.hash) != (last.sequence, last.hash):
        return "its last entries are missing", now.sequence
    if last.closed != replay.closed:
        return "whether it may be spent from is not what was entered", now.sequence
    fault = _compare(connection, replay)
    if fault is None and not last.is_former:
        fault = _compare_kept(connection, replay)
    return fault, now.sequence


def _read_lines(connection: Connection) -> Iterator[tuple[int, str, journal.LedgerLine]]:
    table = schema.entry
    for row in connection.execute(select(table).order_by(table.c.sequence)):
        line = journal.LedgerLine(row.at, row.kind, row.account, row.key, row.detail)
        yield row.sequence, row.hash, line


def _compare(connection: Connection, replay: _Replay) -> str | None:
    rows = connection.execute(select(schema.spending))
    spent = {
        (row.account, row.cell): Units(row.epsilon, row.delta, row.rho, row.slip) for row in rows
    }
    if spent != replay.spent:
        return "what was spent is not the sum of the charges"
    budgets = {
        row.name: {"epsilon": row.epsilon, "delta": row.delta, "accounting": row.accounting}
        for row in connection.execute(select(schema.account))
    }
    if budgets != replay.budgets:
        return "a limit is not the one that was entered"
    reservations = connection.execute(select(schema.reservation)).all()
    answers: dict[str, str | None] = {
        row.key: None if row.answer is None else hashlib.sha256(row.answer).hexdigest()
        for row in reservations
    }
    if set(answers) != replay.keys:
        return "a reservation is missing or was never charged"
    if {key: digest for key, digest in answers.items() if digest} != replay.answers:
        return "an answer is missing or was changed"
    for row in reservations:
        if row.answer is None and replay.orders[row.key] not in (None, row.fingerprint):
            return "what a reservation paid for is not what was entered"
    if {
        found.id: sources.describe_source(found) for found in sources.list_sources(connection)
    } != replay.sources:
        return "a table that was asked about is missing or was changed"
    return None


def _compare_kept(connection: Connection, replay: _Replay) -> str | None:
    """Return what is wrong with drafts, sightings and the key, if anything is."""
    pins = {
        row.account: hashlib.sha256(row.content.encode()).hexdigest()
        for row in connection.execute(select(schema.pin))
    }
    if pins != replay.pins:
        return "what was drafted for a table (discreet_pin) is missing or was changed"
    sightings = {row.place: row.source for row in connection.execute(select(schema.sighting))}
    if sightings != replay.sightings:
        return "where a table was found (discreet_sighting) is missing or was changed"
    secret = connection.execute(select(schema.secret)).one_or_none()
    if (None if secret is None else secret.hash) != replay.secret or _is_another_key(secret):
        return "the key of its samples (discreet_secret) is missing or was changed"
    return None


def _is_another_key(secret: Row[Any] | None) -> bool:
    if secret is None or secret.key is None:
        return False
    try:
        return hashlib.sha256(bytes.fromhex(secret.key)).hexdigest() != secret.hash
    except ValueError:
        return True
