"""The two transactions that write: reserve and commit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlalchemy import Connection, insert, select, update

from discreet.dp.budget import Budget
from discreet.dp.ledger import journal, schema, spending
from discreet.dp.ledger.charging import Charge, NoRoom
from discreet.dp.ledger.records import Reservation
from discreet.errors import LedgerFailed

if TYPE_CHECKING:
    from datetime import datetime

    from discreet.dp.budget import Price
    from discreet.dp.ledger.journal import Line


@dataclass(frozen=True)
class Order:
    """What is asked, when, at what price, and the text that says whether it was paid already."""

    key: str
    at: datetime
    question: str
    price: Price
    fingerprint: str


def reserve(connection: Connection, charges: list[Charge], order: Order) -> Reservation:
    """Charge every account and write it down, unless `order` was paid for before."""
    last = journal.take_head(connection)
    table = schema.reservation
    found = connection.execute(
        select(table.c.fingerprint, table.c.answer).where(table.c.key == order.key)
    ).one_or_none()
    if found and (found.answer is not None or found.fingerprint == order.fingerprint):
        answer = None if found.answer is None else bytes(found.answer)
        return Reservation(order.key, order.at, answer, is_new=False)
    lines = [line for charge in charges for line in _pay(connection, charge, order)]
    values = {"at": journal.written_time(order.at), "fingerprint": order.fingerprint}
    if found:
        # Somebody crashed who was to pay less or elsewhere; whoever answers now has paid in full.
        connection.execute(update(table).where(table.c.key == order.key).values(values))
    else:
        connection.execute(insert(table).values(key=order.key, answer=None, **values))
    journal.append(connection, last, lines)
    return Reservation(order.key, order.at, None, is_new=True)


def commit(connection: Connection, reservation: Reservation, answer: bytes) -> bytes:
    """Store `answer` if there is none yet, and return the stored one."""
    last = journal.take_head(connection)
    table = schema.reservation
    is_this = table.c.key == reservation.key
    stored = connection.execute(
        update(table).where(is_this, table.c.answer.is_(None)).values(answer=answer)
    )
    if stored.rowcount == 1:
        line = journal.answer_line(reservation.key, reservation.at, answer=answer)
        journal.append(connection, last, [line])
        return answer
    first = connection.scalar(select(table.c.answer).where(is_this))
    if first is None:
        raise LedgerFailed(
            "This reservation is not in the ledger, which was replaced or restored meanwhile. Nothing "
            "may be answered; ask again."
        )
    return bytes(first)


def _pay(connection: Connection, charge: Charge, order: Order) -> list[Line]:
    """Charge one account, and return the entries that say so."""
    name, budget, cells = charge.account.name, charge.account.budget, charge.account.cells
    lines: list[Line] = []
    if _settle_budget(connection, name, budget):
        lines.append(journal.limit_line(order.at, account=name, budget=budget))
    cells = spending.comparable(connection, name, cells)
    if not spending.charge(connection, name, cells, cost=charge.cost, limits=charge.limits):
        raise NoRoom(charge.account)
    lines.append(
        journal.charge_line(
            order.key,
            order.at,
            account=name,
            cells=cells,
            price=order.price,
            cost=charge.cost,
            question=order.question,
        )
    )
    return lines


def _settle_budget(connection: Connection, name: str, budget: Budget) -> bool:
    """Open the account or give it its new limit; return whether anything changed."""
    table = schema.account
    found = connection.execute(
        select(table.c.epsilon, table.c.delta, table.c.accounting).where(table.c.name == name)
    ).one_or_none()
    values = {
        "epsilon": str(budget.epsilon),
        "delta": str(budget.delta),
        "accounting": budget.accounting,
    }
    if found is None:
        connection.execute(insert(table).values(name=name, **values))
        spending.open_account(connection, name)
        return True
    known = Budget(Fraction(found.epsilon), Fraction(found.delta), found.accounting)
    if known == budget:
        return False
    connection.execute(update(table).where(table.c.name == name).values(values))
    return True
