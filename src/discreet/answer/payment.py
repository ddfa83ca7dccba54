"""How what depends on data is released: charged first, then computed, and stored before it is shown."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from discreet.answer.accounts import charged_accounts, with_known_budgets
from discreet.answer.cancellation import CancelToken
from discreet.answer.identity import TableIdentity, expected_identity, find_identity, remember_id
from discreet.answer.measurements import release_measurement, run_measurement
from discreet.answer.released_format import FAILED, pack_released
from discreet.answer.unexpected_errors import hide_unexpected_errors
from discreet.dp.budget import Price
from discreet.dp.ledger.ledger import Ledger
from discreet.dp.ledger.records import Account, Reservation
from discreet.dp.noise import system_noise
from discreet.errors import DiscreetError
from discreet.policy.model import Policy

if TYPE_CHECKING:
    from discreet.answer.catalog import CatalogTable
    from discreet.answer.plan import Plan
    from discreet.answer.rows import TouchedTable
    from discreet.answer.workload import WorkloadPlan


@dataclass(frozen=True)
class ChargedAccounts:
    """The accounts that pay for a question, and the cautions about them."""

    accounts: list[Account]
    cautions: tuple[str, ...]


class ChargeContext(Protocol):
    """Whose questions are charged, and what runs them: the curator."""

    engine: Any
    ledger: Ledger
    policy: Policy | None
    analyst: str | None


class Payments:
    """What the questions of one analyst are charged to, and what is released for it.

    Each table is recognized once for all questions.
    """

    def __init__(self, asker: ChargeContext) -> None:
        self._asker = asker
        self._found: dict[str, TableIdentity] = {}
        self._remembered: set[str] = set()
        self.lock = threading.Lock()  # the engine's, which may be held for long

    def hold_engine(self, stop: CancelToken) -> AbstractContextManager[None]:
        """Wait for the engine, and let `stop` interrupt what it does meanwhile."""
        return stop.turn(self.lock, self._asker.engine)

    def find_accounts(
        self, touches: Iterable[TouchedTable], *, at: datetime, stop: CancelToken
    ) -> ChargedAccounts:
        """Return the accounts that pay; a table that is not known yet is read."""
        listed, ledger = list(touches), self._asker.ledger
        for held in _touched_tables(listed):
            if held.origin is None:
                self._found[held.account] = TableIdentity((held.account,))
            elif held.account not in self._found:
                with self.hold_engine(stop):
                    found = hide_unexpected_errors(
                        lambda held=held: find_identity(held, ledger, at=at)
                    )
                self._found[held.account] = found
        return self._charge_accounts(listed, self._found, at)

    def predict_accounts(self, touches: Iterable[TouchedTable], *, at: datetime) -> ChargedAccounts:
        """Return the accounts that would pay, as far as they are known without reading a row."""
        listed, ledger = list(touches), self._asker.ledger
        found = {held.account: expected_identity(held, ledger) for held in _touched_tables(listed)}
        return self._charge_accounts(listed, found, at)

    def reserve(
        self,
        touches: Iterable[TouchedTable],
        accounts: Sequence[Account],
        price: Price,
        *,
        key: str,
        at: datetime,
        question: str,
        room: Price | None = None,
    ) -> Reservation:
        """Charge all `accounts`, or none; the ledger then knows the ids of the tables.

        A new charge is refused unless `room` is left after it.

        Raises:
            BudgetExceeded: Too little is left; nothing was spent.
        """
        ledger = self._asker.ledger
        reservation = ledger.reserve(accounts, price, key=key, at=at, question=question, room=room)
        for held in _touched_tables(touches):
            if held.account not in self._remembered:
                remember_id(held, ledger, self._found[held.account].source, at=at)
                self._remembered.add(held.account)
        return reservation

    def release_plan(
        self,
        plan: Plan | WorkloadPlan,
        reservation: Reservation,
        stop: CancelToken,
        *,
        consistent: bool,
    ) -> bytes:
        """Return the released tables that the ledger keeps: those that were stored first.

        The queries can be stopped, and asked again they return the same. Noise cannot.
        """
        engine = self._asker.engine
        with self.hold_engine(stop):
            try:
                exact = hide_unexpected_errors(
                    lambda: [run_measurement(leaf, engine) for leaf in plan.private_queries]
                )
            except DiscreetError:
                stop.check()
                raise

        def draw() -> bytes:
            source = system_noise()
            return pack_released(
                {
                    leaf.private_query.name: release_measurement(
                        leaf, found, noise=source, kind=plan.noise, consistent=consistent
                    )
                    for leaf, found in zip(plan.private_queries, exact, strict=True)
                }
            )

        return self.commit(reservation, draw)

    def commit(
        self,
        reservation: Reservation,
        draw: Callable[[], bytes],
        *,
        has_drawn: Callable[[], bool] = lambda: True,
    ) -> bytes:
        """Store what `draw` returns, and return what the ledger keeps: what was stored first.

        From the first random number until the ledger has all of them nothing is interrupted, and a
        failure is kept in their place: otherwise time or failure would reveal something about noise
        that is drawn again later. Before, as `has_drawn` says, a failure is raised: asked again, it is
        not charged again.
        """
        ledger = self._asker.ledger
        try:
            packed = draw()
        except Exception:  # its message may quote data
            if not has_drawn():
                raise
            packed = FAILED
        except BaseException:
            if has_drawn():
                ledger.commit(reservation, FAILED)
            raise
        return ledger.commit(reservation, packed)

    def _charge_accounts(
        self, touches: Sequence[TouchedTable], found: Mapping[str, TableIdentity], at: datetime
    ) -> ChargedAccounts:
        mine = {held.account: found[held.account] for held in _touched_tables(touches)}
        asker = self._asker
        accounts = charged_accounts(
            touches, asker.policy, analyst=asker.analyst, at=at, identities=mine
        )
        return ChargedAccounts(
            with_known_budgets(accounts, asker.ledger, mine.values()),
            tuple(caution for identity in mine.values() for caution in identity.cautions),
        )


def _touched_tables(touches: Iterable[TouchedTable]) -> list[CatalogTable]:
    """Return the protected tables that are read, each once."""
    return list({touch.held.account: touch.held for touch in touches}.values())
