"""A mechanism of several steps on one table, such as a synthesis: one price, one entry of the ledger, one result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.answer.accounts import summarize_remaining
from discreet.answer.cancellation import CancelToken
from discreet.answer.catalog import CatalogTable, require_unit
from discreet.answer.coded_counts import CodedCounter, ColumnCode
from discreet.answer.question_key import mechanism_key
from discreet.answer.released_format import FAILED
from discreet.answer.sources import scan_table
from discreet.answer.unexpected_errors import hide_unexpected_errors, pad_duration
from discreet.errors import DiscreetError, EngineFailed, QuestionRefused

if TYPE_CHECKING:
    from discreet.answer.catalog import Catalog
    from discreet.answer.curator import Curator
    from discreet.dp.budget import Price
    from discreet.dp.ledger.records import Reservation


@dataclass(frozen=True)
class MechanismResult:
    """What a mechanism released, and what it cost this time.

    `cached` means that it was released before: then it is the same, and nothing was spent.
    """

    content: bytes
    spent: Mapping[str, float]
    remaining: Mapping[str, Any]
    cached: bool
    cautions: tuple[str, ...]


@dataclass(frozen=True)
class MechanismTerms:
    """What a mechanism would be charged to and how far one unit's rows count; no row was read for it."""

    unit: str | None
    rows_per_unit: int
    remaining: Mapping[str, Any]
    cautions: tuple[str, ...]


def find_protected_table(catalog: Catalog, table: str | None) -> CatalogTable:
    """Return a table of people, by default the one that the source is.

    Raises:
        WrongUsage: The source has several tables.
        QuestionRefused: The table is public.
        UndeclaredUnit: A person may have several rows of it, and the policy does not say which.
    """
    held = catalog.find_named(table)
    if held.is_public:
        raise QuestionRefused(
            f"Table '{held.name}' is public in the policy: it needs no protection, and none is paid for."
        )
    require_unit(held)
    return held


def mechanism_terms(
    curator: Curator, table: str | None, columns: Sequence[ColumnCode]
) -> MechanismTerms:
    """Return the terms of a mechanism; nothing is spent or read."""
    held = find_protected_table(curator.catalog, table)
    rows = scan_table(held, held.name)
    counter = CodedCounter(rows, columns, curator.engine)
    charged = curator.payments.predict_accounts(rows.touches, at=curator.clock())
    left = summarize_remaining(curator.ledger.remaining(charged.accounts))
    return MechanismTerms(held.unit, counter.limit.rows, left, charged.cautions)


def release_mechanism(
    curator: Curator,
    table: str | None,
    columns: Sequence[ColumnCode],
    *,
    price: Price,
    request: str,
    question: str,
    mechanism: Callable[[CodedCounter], bytes],
    stop: CancelToken | None = None,
) -> MechanismResult:
    """Charge `price`, and return what `mechanism` makes of counts of the coded rows.

    The same request on the same data returns the same bytes, and costs nothing again. It can be stopped
    until the rows are coded. From the first count on a failure is stored as such: noise that was drawn
    is not drawn again.

    Guarantee: that of `mechanism`, if `price` covers all noisy looks that it takes at counts of which one
    unit changes each marginal by at most `CodedCounter.sensitivity`, and if nothing else it returns
    depends on counts.

    Args:
        curator: Whose table it is.
        table: Which table; by default the only one.
        columns: The columns, with the codes of their cells.
        price: What it costs.
        request: All that decides the result, in a canonical form.
        question: What the ledger shows to people.
        mechanism: What counts, adds noise, and returns what is released.
        stop: Ends it from another thread.

    Raises:
        QuestionRefused: There is no bound on a person's rows; nothing was spent.
        BudgetExceeded: Too little is left; nothing was spent.
        StatementFailed: 57014, it was stopped; asked again, it is not charged again.
    """
    stop = stop or CancelToken()
    payments = curator.payments
    with pad_duration(curator.quantum):
        held = find_protected_table(curator.catalog, table)
        rows = scan_table(held, held.name)
        counter = CodedCounter(rows, columns, curator.engine, lock=payments.lock)
        at = curator.clock()
        charged = payments.find_accounts(rows.touches, at=at, stop=stop)
        key = mechanism_key(request, price, rows.touches, charged.accounts, analyst=curator.analyst)
        reservation = payments.reserve(
            rows.touches, charged.accounts, price, key=key, at=at, question=question
        )
        packed = reservation.answer
        if packed is None:
            packed = _run_mechanism(curator, counter, mechanism, reservation, stop)
        if packed == FAILED:
            raise EngineFailed(
                f"'{question}' was charged, but failed after noise was drawn, and is not tried again: a "
                "second try could reveal the noise of the first. Ask with another epsilon."
            )
        paid = price if reservation.is_new else None
        return MechanismResult(
            content=packed,
            spent={
                "epsilon": float(paid.epsilon or 0) if paid else 0.0,
                "delta": float(paid.delta) if paid else 0.0,
            },
            remaining=summarize_remaining(curator.ledger.remaining(charged.accounts)),
            cached=reservation.answer is not None,
            cautions=charged.cautions,
        )


def _run_mechanism(
    curator: Curator,
    counter: CodedCounter,
    mechanism: Callable[[CodedCounter], bytes],
    reservation: Reservation,
    stop: CancelToken,
) -> bytes:
    try:
        with curator.payments.hold_engine(stop):
            try:
                hide_unexpected_errors(counter.store_rows)
            except DiscreetError:
                stop.check()
                raise
        stop.check()
        return curator.payments.commit(
            reservation,
            lambda: hide_unexpected_errors(lambda: mechanism(counter)),
            has_drawn=lambda: counter.has_counted,
        )
    finally:
        counter.close()
