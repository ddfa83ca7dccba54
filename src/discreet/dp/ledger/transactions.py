"""The transactions that write: reserve, commit, and what is kept beside them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction

from sqlalchemy import Connection, bindparam, insert, select, update

from discreet.dp.budget import Budget, Price
from discreet.dp.ledger import journal, queries, schema, spending
from discreet.dp.ledger.charges import Charge, InsufficientBudget
from discreet.dp.ledger.journal import LedgerHead, LedgerLine
from discreet.dp.ledger.records import Reservation
from discreet.errors import BudgetExceeded, LedgerFailed
from discreet.stores import StoreHead

_reservation, _account = schema.reservation, schema.account
_IS_THIS = _reservation.c.key == bindparam("this")
_FIND = select(_reservation.c.fingerprint, _reservation.c.answer).where(_IS_THIS)
_RESERVE = insert(_reservation)
_RENEW = update(_reservation).where(_IS_THIS)
_STORE = _RENEW.where(_reservation.c.answer.is_(None)).values(answer=bindparam("stored"))
_STORED = select(_reservation.c.answer).where(_IS_THIS)
_IS_NAMED = _account.c.name == bindparam("this")
_BUDGET = select(_account.c.epsilon, _account.c.delta, _account.c.accounting).where(_IS_NAMED)


@dataclass(frozen=True)
class ReservationRequest:
    """The question, its time and price, and the text by which a paid question is recognized."""

    key: str
    at: datetime
    question: str
    price: Price
    fingerprint: str


def reserve_budget(
    connection: Connection, charges: list[Charge], order: ReservationRequest
) -> Reservation:
    """Charge every account and write it down, unless `order` was paid for before."""
    last = journal.take_head(connection)
    found = connection.execute(_FIND, {"this": order.key}).one_or_none()
    if last.closed and not (found and found.answer is not None):
        raise _closed_refusal(last.closed)
    if found and (found.answer is not None or found.fingerprint == order.fingerprint):
        answer = None if found.answer is None else bytes(found.answer)
        return Reservation(order.key, order.at, answer, is_new=False)
    lines = [line for charge in charges for line in _charge_account(connection, charge, order)]
    values = {"at": journal.format_utc_time(order.at), "fingerprint": order.fingerprint}
    if found:
        # A process crashed that was to pay less or elsewhere; this one has paid in full.
        connection.execute(_RENEW.values(values), {"this": order.key})
    else:
        connection.execute(_RESERVE, {"key": order.key, "answer": None, **values})
    journal.append_lines(connection, last, lines)
    return Reservation(order.key, order.at, None, is_new=True)


def commit_answer(connection: Connection, reservation: Reservation, answer: bytes) -> bytes:
    """Store `answer` if there is none yet, and return the stored one."""
    last = journal.take_head(connection)
    stored = connection.execute(_STORE, {"this": reservation.key, "stored": answer})
    if stored.rowcount == 1:
        line = journal.answer_line(reservation.key, reservation.at, answer=answer)
        journal.append_lines(connection, last, [line])
        return answer
    first = connection.scalar(_STORED, {"this": reservation.key})
    if first is None:
        raise LedgerFailed(
            "This reservation is not in the ledger, which was replaced or restored meanwhile. Nothing "
            "may be answered; ask again."
        )
    return bytes(first)


def pin_content(connection: Connection, account: str, content: str) -> str:
    """Store `content` for `account` if there is none yet, and return the stored one."""
    last = journal.take_head(connection)
    found = connection.scalar(select(schema.pin.c.content).where(schema.pin.c.account == account))
    if found is not None:
        return str(found)
    connection.execute(insert(schema.pin).values(account=account, content=content))
    journal.append_lines(connection, last, [journal.draft_line(account, content)])
    return content


def remember_heads(connection: Connection, heads: Mapping[str, StoreHead]) -> None:
    """Keep how far other stores are, unless they are known to be further."""
    last = journal.take_head(connection)
    known = queries.known_heads(connection)
    newer = {name: head for name, head in heads.items() if not is_head_known(known.get(name), head)}
    if newer:
        _keep_heads(connection, last, known | newer)


def forget_heads(connection: Connection, names: Collection[str]) -> None:
    """Forget how far other stores were."""
    last = journal.take_head(connection)
    known = queries.known_heads(connection)
    kept = {name: head for name, head in known.items() if name not in names}
    if kept != known:
        _keep_heads(connection, last, kept)


def is_head_known(known: StoreHead | None, head: StoreHead) -> bool:
    """Return whether a store is known to be as far as `head`."""
    return known is not None and known.is_at_least(head)


def _keep_heads(connection: Connection, last: LedgerHead, heads: Mapping[str, StoreHead]) -> None:
    """Replace all heads that are known of other stores."""
    written = json.dumps({name: heads[name].text for name in sorted(heads)})
    journal.move_head(connection, last, replace(last, known_heads=written))


def close_budget(connection: Connection, *, reason: str, at: datetime) -> None:
    """Let nothing be spent from now on; what was answered is answered again."""
    line = journal.closing_line(at, kind="close", reason=reason)
    journal.append_lines(connection, journal.take_head(connection), [line], closed=reason)
    # Earlier reservations may have been answered since: the same question pays again.
    connection.execute(
        update(_reservation).where(_reservation.c.answer.is_(None)).values(fingerprint="")
    )


def reopen_budget(connection: Connection, *, reason: str, at: datetime) -> None:
    """Let what is left be spent again."""
    line = journal.closing_line(at, kind="reopen", reason=reason)
    journal.append_lines(connection, journal.take_head(connection), [line], closed="")


def _closed_refusal(why: str) -> BudgetExceeded:
    return BudgetExceeded(
        f"The budget counts as spent: {why}. Nothing was read and nothing was spent. The custodian, who "
        "knows what was answered since, can say: discreet budget --reopen REASON"
    )


def _charge_account(
    connection: Connection, charge: Charge, order: ReservationRequest
) -> list[LedgerLine]:
    """Charge one account, and return the entries that say so."""
    name, budget, cells = charge.account.name, charge.account.budget, charge.account.cells
    lines: list[LedgerLine] = []
    if _settle_budget(connection, name, budget):
        lines.append(journal.limit_line(order.at, account=name, budget=budget))
    cells = spending.comparable_cells(connection, name, cells)
    if not spending.charge(connection, name, cells, cost=charge.cost, limits=charge.limits):
        raise InsufficientBudget(charge.account)
    lines.append(
        journal.charge_line(
            order.key,
            order.at,
            account=name,
            cells=cells,
            price=order.price,
            cost=charge.cost,
            question=order.question,
            fingerprint=order.fingerprint,
        )
    )
    return lines


def _settle_budget(connection: Connection, name: str, budget: Budget) -> bool:
    """Open the account or give it its new limit; return whether anything changed."""
    found = connection.execute(_BUDGET, {"this": name}).one_or_none()
    values = {
        "epsilon": str(budget.epsilon),
        "delta": str(budget.delta),
        "accounting": budget.accounting,
    }
    if found is None:
        connection.execute(insert(_account).values(name=name, **values))
        spending.open_account(connection, name)
        return True
    known = Budget(Fraction(found.epsilon), Fraction(found.delta), found.accounting)
    if known == budget:
        return False
    connection.execute(update(_account).where(_IS_NAMED).values(values), {"this": name})
    return True
