"""Reads from the ledger: answers, what is left, and the entries."""

from __future__ import annotations

import json
from datetime import datetime
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, Row, select

from discreet.dp.accounting.conversion import epsilon_of_rho
from discreet.dp.budget import Budget
from discreet.dp.ledger import journal, schema, spending
from discreet.dp.ledger.records import Account, LedgerEntry, RemainingBudget, SpentAmount, State
from discreet.dp.ledger.units import PER_DELTA, PER_EPSILON, PER_RHO, Units, limits_in_units
from discreet.stores import StoreHead
from discreet.stores.authenticated import read_store_head
from discreet.stores.plain import StatementConnection


def find_answer(connection: Connection, key: str) -> bytes | None:
    """Return the stored answer of `key`."""
    table = schema.reservation
    answer = connection.scalar(select(table.c.answer).where(table.c.key == key))
    return None if answer is None else bytes(answer)


def find_pin(connection: Connection, account: str) -> str | None:
    """Return what was pinned for `account`."""
    return connection.scalar(select(schema.pin.c.content).where(schema.pin.c.account == account))


def known_heads(connection: Connection) -> dict[str, StoreHead]:
    """Return how far other stores were when the ledger was last updated."""
    written = journal.read_head(connection).known_heads or schema.NO_HEADS
    return {name: read_store_head(text) for name, text in json.loads(written).items()}


def remaining_budget(connection: StatementConnection, account: Account) -> RemainingBudget:
    """Return what `account` has left where it has least."""
    limits = limits_in_units(account.budget)
    is_zcdp = account.budget.accounting == "zcdp"
    spent, cell = spending.most_spent(
        connection, account.name, account.cells, by="rho" if is_zcdp else "epsilon"
    )
    if is_zcdp:
        return _remaining_rho(account, spent, limits, cell)
    return RemainingBudget(
        name=account.name,
        accounting=account.budget.accounting,
        epsilon=_make_amount(spent.epsilon, limits.epsilon, PER_EPSILON),
        delta=_make_amount(spent.delta, limits.delta, PER_DELTA),
        rho=None,
        cell=cell,
    )


def list_accounts(connection: Connection) -> list[Account]:
    """Return all accounts by name."""
    rows = connection.execute(select(schema.account).order_by(schema.account.c.name))
    return [Account(row["name"], _read_budget(row), None) for row in rows.mappings()]


def list_entries(connection: Connection, account: str | None, *, limit: int) -> list[LedgerEntry]:
    """Return the latest charges and limits, the newest first."""
    table, answered = schema.entry, schema.reservation.c.answer.is_not(None).label("answered")
    query = (
        select(table, answered)
        .join(schema.reservation, table.c.key == schema.reservation.c.key, isouter=True)
        .where(table.c.kind.in_(("charge", "limit")))
        .order_by(table.c.sequence.desc())
        .limit(limit)
    )
    if account is not None:
        query = query.where(table.c.account == account)
    return [_read_entry(row) for row in connection.execute(query)]


def _remaining_rho(
    account: Account, spent: Units, limits: Units, cell: str | None
) -> RemainingBudget:
    rho = _make_amount(spent.rho, limits.rho, PER_RHO)
    epsilon = epsilon_of_rho(rho.spent, delta=account.budget.delta / 2)
    return RemainingBudget(
        name=account.name,
        accounting=account.budget.accounting,
        epsilon=SpentAmount(epsilon, account.budget.epsilon),
        delta=_make_amount(spent.slip, limits.slip, PER_DELTA),
        rho=rho,
        cell=cell,
    )


def _make_amount(spent: int, limit: int, per: int) -> SpentAmount:
    return SpentAmount(Fraction(spent, per), Fraction(limit, per))


def _read_entry(row: Row[Any]) -> LedgerEntry:
    detail = json.loads(row.detail)
    is_charge = row.kind == "charge"
    state: State = "limit"
    if is_charge:
        state = "committed" if row.answered else "reserved"
    cells = detail.get("cells")
    return LedgerEntry(
        sequence=row.sequence,
        at=datetime.fromisoformat(row.at),
        account=row.account,
        state=state,
        question=detail.get("question"),
        price=journal.parse_price(detail["price"]) if is_charge else None,
        cells=None if cells is None else frozenset(cells),
        budget=None if is_charge else _read_budget(detail),
    )


def _read_budget(values: Any) -> Budget:
    return Budget(
        epsilon=Fraction(values["epsilon"]),
        delta=Fraction(values["delta"]),
        accounting=values["accounting"],
    )
