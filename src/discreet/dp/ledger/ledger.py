"""The ledger: budget is reserved before data is read, and an answer is stored before it is shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from discreet.dp.budget import Price
from discreet.dp.ledger.charges import (
    InsufficientBudget,
    budget_exceeded,
    fingerprint_charges,
    make_charges,
)
from discreet.errors import LedgerFailed
from discreet.stores import AuthenticatedStore, StoreHead

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from discreet.dp.ledger.journal import LedgerHead
    from discreet.dp.ledger.records import (
        Account,
        LedgerEntry,
        LedgerSource,
        RemainingBudget,
        Reservation,
    )

T = TypeVar("T")


class Ledger(AuthenticatedStore):
    """A durable ledger of budgets, in an SQLite file or behind a `postgresql://` URL.

    Guarantee: at every instant, whatever the number of askers and whichever of them are killed, each
    part of the data has paid no more than the limit of each account it was charged to, if every
    answer is computed after `reserve` and shown after `commit`. Limits hold for questions that are
    chosen adaptively, since the ledger is a filter: it adds up epsilon and delta, or rho and slips
    (Whitehouse, Ramdas, Rogers & Wu 2023, Theorem 1).

    Raises:
        LedgerFailed: the place cannot be used, or what is there is no ledger of this version.
    """

    def __init__(self, place: str | Path) -> None:
        from discreet.dp.ledger.schema import SCHEMA

        super().__init__(place, SCHEMA)
        self._place = place
        self._secret: bytes | None = None
        self.writes = 0  # by this process
        if self.head().is_former and not self.is_sealed:
            self._store.write(self._verify_content)

    def head(self) -> LedgerHead:
        """Return the number and the hash of the last entry, and why it is closed, if it is."""
        from discreet.dp.ledger import journal

        return self._store.read(journal.read_head)

    def newest_head(self) -> StoreHead:
        """Return the ledger's identity with the number and the hash of its last entry."""
        last = self.head()
        return StoreHead(self.identity, last.sequence, last.hash)

    def includes(self, head: StoreHead) -> bool:
        """Return whether the ledger has this entry, and so all before it."""
        from discreet.dp.ledger import journal

        return head.identity == self.identity and self._store.read(
            lambda found: journal.is_known(found, head.sequence, head.hash)
        )

    def known_heads(self) -> dict[str, StoreHead]:
        """Return how far other stores were when the ledger was last updated, by name."""
        from discreet.dp.ledger import queries

        return self._store.read(queries.known_heads)

    def remember_heads(self, heads: Mapping[str, StoreHead]) -> None:
        """Keep how far other stores are, unless they are known to be further."""
        from discreet.dp.ledger import transactions

        known = self.known_heads()
        if not all(
            transactions.is_head_known(known.get(name), head) for name, head in heads.items()
        ):
            self._store.write(lambda connection: transactions.remember_heads(connection, heads))

    def forget_heads(self, names: Collection[str]) -> None:
        """Forget how far other stores were, since they count as the latest whatever they are."""
        from discreet.dp.ledger import transactions

        self._store.write(lambda connection: transactions.forget_heads(connection, names))

    def close_budget(self, reason: str, *, at: datetime) -> None:
        """Let every budget count as spent until `reopen`; what was answered stays answered."""
        from discreet.dp.ledger import transactions

        self._write(lambda connection: transactions.close_budget(connection, reason=reason, at=at))

    def reopen_budget(self, reason: str, *, at: datetime) -> None:
        """Let what is left of every budget be spent again."""
        from discreet.dp.ledger import transactions

        self._write(lambda connection: transactions.reopen_budget(connection, reason=reason, at=at))

    def reserve(
        self,
        accounts: Sequence[Account],
        price: Price,
        *,
        key: str,
        at: datetime,
        question: str,
        room: Price | None = None,
    ) -> Reservation:
        """Charge all accounts, or none, and return the right to answer.

        The same `key` again is not charged again: it returns the stored answer, or, if there is none
        because a process crashed or is still at work, the same reservation, as long as accounts, cells
        and price are the same. So `key` must distinguish whatever must be paid for separately: the
        question, the state of the data, and the analyst where analysts have budgets of their own.

        A new charge with `room` is refused unless so much is left after it, for what is charged next.

        Raises:
            BudgetExceeded: an account has too little left; nothing was charged.
            QuestionRefused: an account is kept in a currency in which `price` is None.
            LedgerFailed: the ledger could not be written. Nothing may be answered. A server that
                was lost is looked for again first; what it wrote unheard is recognized by `key`, and
                is spent if the server does not come back.
        """
        from discreet.dp.ledger import transactions

        charges = make_charges(accounts, price, room=room)
        order = transactions.ReservationRequest(
            key, at, question, price, fingerprint_charges(accounts, price)
        )
        try:
            return self._write(
                lambda connection: transactions.reserve_budget(connection, charges, order)
            )
        except InsufficientBudget as refused:
            (left,) = self.remaining([refused.account])
        raise budget_exceeded(price if room is None else price + room, left)

    def commit(self, reservation: Reservation, answer: bytes) -> bytes:
        """Store `answer`, and return the one that may be shown: the first that was stored.

        Raises:
            LedgerFailed: it could not be stored. Nothing may be answered.
        """
        from discreet.dp.ledger import transactions

        return self._write(
            lambda connection: transactions.commit_answer(connection, reservation, answer)
        )

    def find(self, key: str) -> bytes | None:
        """Return the answer that was stored under `key`, if there is one."""
        from discreet.dp.ledger import queries

        return self._store.read(lambda connection: queries.find_answer(connection, key))

    def pin(self, account: str, content: str) -> str:
        """Keep `content` for `account`, and return what is kept: the first that was pinned."""
        from discreet.dp.ledger import transactions

        return self._store.write(
            lambda connection: transactions.pin_content(connection, account, content)
        )

    def find_pin(self, account: str) -> str | None:
        """Return what was pinned for `account`, if anything was."""
        from discreet.dp.ledger import queries

        return self._store.read(lambda connection: queries.find_pin(connection, account))

    def remaining(self, accounts: Sequence[Account]) -> list[RemainingBudget]:
        """Return what each account has left where it has least among its `cells`.

        Limits are those of the budgets given; an account that was never charged has all of its own.
        """
        from discreet.dp.ledger import queries

        return self._store.look_up(
            lambda connection: [
                queries.remaining_budget(connection, account) for account in accounts
            ]
        )

    def accounts(self) -> list[Account]:
        """Return every account that was ever charged, with its latest budget, by name."""
        from discreet.dp.ledger import queries

        with self._store.reading() as connection:
            return queries.list_accounts(connection)

    def entries(self, account: str | None = None, *, limit: int = 100) -> list[LedgerEntry]:
        """Return the latest charges and changes of limits, the newest first."""
        from discreet.dp.ledger import queries

        with self._store.reading() as connection:
            return queries.list_entries(connection, account, limit=limit)

    @property
    def is_temporary(self) -> bool:
        """Whether the ledger ends with this process, so that it knows no other table."""
        from discreet.stores.store import MEMORY

        return str(self._place) == MEMORY

    def secret(self) -> bytes:
        """Return the key of the hashes by which tables are recognized; it is drawn with the first.

        Raises:
            LedgerFailed: the key is gone, so that no table can be recognized.
        """
        from discreet.dp.ledger import secret

        if self._secret is None:
            self._secret = secret.read_secret(self._store, self._place)
        return self._secret

    def sources(self) -> list[LedgerSource]:
        """Return every table that was asked about, by id."""
        from discreet.dp.ledger import sources

        return self._store.read(sources.list_sources)

    def source_labels(self) -> list[LedgerSource]:
        """Return every table that was asked about without its sketch, by id."""
        from discreet.dp.ledger import sources

        return self._store.read(sources.list_source_labels)

    def find_source(self, place: str) -> LedgerSource | None:
        """Return the table that was found at `place`, None if that place was never looked at."""
        from discreet.dp.ledger import sources

        return self._store.read(lambda connection: sources.find_source(connection, place))

    def add_source(
        self, source: LedgerSource, *, place: str | None, seen: frozenset[str] | None, at: datetime
    ) -> bool:
        """Add a table, unless others than those `seen` are there by now; return whether it was added.

        A caller that compared a table with all known ones names these by `seen`, so that two that add the same
        table at the same time do not give it two accounts.
        """
        from discreet.dp.ledger import sources

        return self._store.write(
            lambda connection: sources.add_source(connection, source, place=place, seen=seen, at=at)
        )

    def verify(self) -> int:
        """Check the chain of entries, and the spending and the answers against it; return their number.

        Raises:
            LedgerFailed: something was changed, lost or damaged; the message says what.
        """
        from discreet.dp.ledger import verification

        self._store.check()
        with self._store.snapshot() as connection:
            fault, count = verification.verify_ledger(connection)
        if fault:
            raise LedgerFailed(
                f"The ledger {self._store.name} does not agree with itself: {fault}. Restore it from "
                "a backup, and find out who changed it."
            )
        return count

    def _write(self, work: Callable[[Connection], T]) -> T:
        try:
            return self._store.write(work)
        finally:
            self.writes += 1

    def _has_no_content(self, connection: Connection) -> bool:
        from discreet.dp.ledger import journal

        return not journal.read_head(connection).sequence

    def _seal_content(self, connection: Connection) -> None:
        from discreet.dp.ledger import journal, migration

        migration.enter_kept(connection, journal.read_head(connection))
        journal.seal_head(connection, journal.read_head(connection))

    def _verify_content(self, connection: Connection) -> None:
        from discreet.dp.ledger import journal, migration

        migration.enter_kept(connection, journal.take_head(connection))
