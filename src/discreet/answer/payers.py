"""Which accounts a plan is charged to, each table recognized once for all questions of a curator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from discreet.answer.accounts import charged_accounts, with_known_budgets
from discreet.answer.identity import TableIdentity, expected_identity, find_identity, remember_id
from discreet.answer.unexpected_errors import hide_unexpected_errors
from discreet.dp.ledger.ledger import Ledger
from discreet.dp.ledger.records import Account
from discreet.policy.model import Policy

if TYPE_CHECKING:
    from discreet.answer.catalog import CatalogTable
    from discreet.answer.plan import Plan


Turn = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True)
class ChargedAccounts:
    """The accounts that pay for a question, and the cautions about them."""

    accounts: list[Account]
    cautions: tuple[str, ...]


class ChargeContext(Protocol):
    """Whose questions are charged: the curator."""

    ledger: Ledger
    policy: Policy | None
    analyst: str | None


class AccountFinder:
    """Finds the accounts that pay for the questions of one analyst."""

    def __init__(self, asker: ChargeContext) -> None:
        self._asker = asker
        self._found: dict[str, TableIdentity] = {}
        self._remembered: set[str] = set()

    def find(self, plan: Plan, *, at: datetime, turn: Turn) -> ChargedAccounts:
        """Return the accounts that pay; reads a table that is not known yet while `turn` holds its engine."""
        ledger = self._asker.ledger
        for held in _touched_tables(plan):
            if held.origin is None:
                self._found[held.account] = TableIdentity((held.account,))
            elif held.account not in self._found:
                with turn():
                    found = hide_unexpected_errors(
                        lambda held=held: find_identity(held, ledger, at=at)
                    )
                self._found[held.account] = found
        return self._charge_accounts(plan, self._found, at)

    def predict(self, plan: Plan, *, at: datetime) -> ChargedAccounts:
        """Return the accounts that would pay, as far as they are known without reading a row."""
        ledger = self._asker.ledger
        found = {held.account: expected_identity(held, ledger) for held in _touched_tables(plan)}
        return self._charge_accounts(plan, found, at)

    def remember(self, plan: Plan, *, at: datetime) -> None:
        """Let the ledger know the ids of tables that were paid for, once each."""
        for held in _touched_tables(plan):
            if held.account not in self._remembered:
                remember_id(held, self._asker.ledger, self._found[held.account].source, at=at)
                self._remembered.add(held.account)

    def _charge_accounts(
        self, plan: Plan, found: Mapping[str, TableIdentity], at: datetime
    ) -> ChargedAccounts:
        mine = {held.account: found[held.account] for held in _touched_tables(plan)}
        asker = self._asker
        accounts = charged_accounts(
            plan, asker.policy, analyst=asker.analyst, at=at, identities=mine
        )
        return ChargedAccounts(
            with_known_budgets(accounts, asker.ledger, mine.values()),
            tuple(caution for identity in mine.values() for caution in identity.cautions),
        )


def _touched_tables(plan: Plan) -> list[CatalogTable]:
    """Return the protected tables that a plan reads, each once."""
    touches = (touch for leaf in plan.private_queries for touch in leaf.private_query.rows.touches)
    return list({touch.held.account: touch.held for touch in touches}.values())
