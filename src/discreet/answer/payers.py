"""Which accounts a plan is charged to, each table recognized once for all questions of a curator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from discreet.answer.accounts import accounts_of, with_known_budgets
from discreet.answer.identity import Identity, find_identity, foretold_identity, remember
from discreet.answer.withholding import withheld

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from datetime import datetime

    from discreet.answer.catalog import Held
    from discreet.answer.plan import Plan
    from discreet.dp.ledger.book import Ledger
    from discreet.dp.ledger.records import Account
    from discreet.policy.model import Policy

    Turn = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True)
class Charged:
    """The accounts that pay for a question, and what its asker should know about them."""

    accounts: list[Account]
    cautions: tuple[str, ...]


class Asker(Protocol):
    """Whose questions are charged: the curator."""

    ledger: Ledger
    policy: Policy | None
    analyst: str | None


class Payers:
    """Finds who pays for the questions of one asker."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self._found: dict[str, Identity] = {}
        self._remembered: set[str] = set()

    def find(self, plan: Plan, *, at: datetime, turn: Turn) -> Charged:
        """Return who pays; a table without an id may have to be read, while `turn` holds its engine."""
        ledger = self._asker.ledger
        for held in _touched(plan):
            if held.origin is None:
                self._found[held.account] = Identity((held.account,))
            elif held.account not in self._found:
                with turn():
                    found = withheld(lambda held=held: find_identity(held, ledger, at=at))
                self._found[held.account] = found
        return self._charged(plan, self._found, at)

    def foretell(self, plan: Plan, *, at: datetime) -> Charged:
        """Return who would pay, as far as that is known without reading a row."""
        ledger = self._asker.ledger
        found = {held.account: foretold_identity(held, ledger) for held in _touched(plan)}
        return self._charged(plan, found, at)

    def remember(self, plan: Plan, *, at: datetime, turn: Turn) -> None:
        """Let the ledger recognize the tables of a policy without that policy, once each."""
        ledger = self._asker.ledger
        for held in _touched(plan):
            if held.origin is None or held.id is None or held.account in self._remembered:
                continue
            mine = self._found[held.account]
            with turn():
                withheld(lambda held=held, mine=mine: remember(held, ledger, mine, at=at))
            self._remembered.add(held.account)

    def _charged(self, plan: Plan, found: Mapping[str, Identity], at: datetime) -> Charged:
        mine = {held.account: found[held.account] for held in _touched(plan)}
        asker = self._asker
        accounts = accounts_of(plan, asker.policy, analyst=asker.analyst, at=at, identities=mine)
        return Charged(
            with_known_budgets(accounts, asker.ledger, mine.values()),
            tuple(caution for identity in mine.values() for caution in identity.cautions),
        )


def _touched(plan: Plan) -> list[Held]:
    """Return the protected tables that a plan reads, each once."""
    touches = (touch for leaf in plan.leaves for touch in leaf.leaf.rows.touches)
    return list({touch.held.account: touch.held for touch in touches}.values())
