"""A mechanism of several steps on one table, such as a synthesis: one price, one entry of the ledger, one result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from discreet.answer.accounts import summarize_remaining
from discreet.answer.cancellation import CancelToken
from discreet.answer.catalog import CatalogTable, require_unit
from discreet.answer.coded_counts import CodedCounter, ColumnCode, counting_limit
from discreet.answer.domain_search import DomainSearches, PrivateDomain
from discreet.answer.perturb import ExactResults, run_queries
from discreet.answer.question_key import mechanism_key
from discreet.answer.released_format import FAILED
from discreet.answer.sources import scan_table
from discreet.answer.unexpected_errors import hide_unexpected_errors, pad_duration
from discreet.answer.unit_rows import UnitRows
from discreet.errors import DiscreetError, EngineFailed, QuestionRefused, StatementFailed

if TYPE_CHECKING:
    from discreet.answer.catalog import Catalog
    from discreet.answer.curator import Curator
    from discreet.answer.rows import Rows, TouchedTable
    from discreet.answer.table_family import TableFamily
    from discreet.dp.budget import Price
    from discreet.dp.ledger.records import Reservation

FoundDomains = Mapping[str, PrivateDomain]  # that were found, by column
ColumnChoice = Callable[[FoundDomains], Sequence[ColumnCode]]
# The columns of each of several tables, or what returns them by the domains that were found in each.
TableColumns = (
    Sequence[Sequence[ColumnCode]]
    | Callable[[Sequence[FoundDomains]], Sequence[Sequence[ColumnCode]]]
)


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
    """What a mechanism would be charged to and how far one unit's rows count; no row was read for it.

    `sensitivity` is how much one unit changes the counts of a marginal at most, in rows.
    """

    unit: str | None
    rows_per_unit: int
    remaining: Mapping[str, Any]
    cautions: tuple[str, ...]
    sensitivity: int


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
    curator: Curator,
    table: str | None,
    columns: Sequence[ColumnCode] | ColumnChoice,
    *,
    searches: DomainSearches | None = None,
) -> MechanismTerms:
    """Return the terms of a mechanism; nothing is spent or read."""
    held = find_protected_table(curator.catalog, table)
    rows = scan_table(held, held.name)
    limit = counting_limit(rows)
    _plan_counting(curator, [rows], _as_table_columns(columns), [(held, searches)])
    charged = curator.payments.predict_accounts(rows.touches, at=curator.clock())
    left = summarize_remaining(curator.ledger.remaining(charged.accounts))
    return MechanismTerms(
        held.unit, limit.rows, left, charged.cautions, sensitivity=limit.rows * limit.change
    )


def family_mechanism_terms(
    curator: Curator,
    family: TableFamily,
    columns: TableColumns,
    *,
    searches: Sequence[DomainSearches | None] = (),
) -> MechanismTerms:
    """Return the terms of a mechanism on all tables of a family; nothing is spent or read."""
    _family_run(curator, family, columns, searches)
    rows = [family.parent_rows(), *(family.child_rows(held) for held in family.children)]
    touches = [touch for one in rows for touch in one.touches]
    charged = curator.payments.predict_accounts(touches, at=curator.clock())
    left = summarize_remaining(curator.ledger.remaining(charged.accounts))
    limit = counting_limit(rows[0])
    return MechanismTerms(
        family.parent.unit,
        limit.rows,
        left,
        charged.cautions,
        sensitivity=limit.rows * limit.change,
    )


def release_mechanism(  # noqa: PLR0913 -- what is charged, and what is done
    curator: Curator,
    table: str | None,
    columns: Sequence[ColumnCode] | ColumnChoice,
    *,
    price: Price,
    request: str,
    question: str,
    mechanism: Callable[[CodedCounter], bytes],
    searches: DomainSearches | None = None,
    room: Price | None = None,
    stop: CancelToken | None = None,
) -> MechanismResult:
    """Charge `price`, and return what `mechanism` makes of counts of the coded rows.

    The same request on the same data returns the same bytes, and costs nothing again. It can be stopped
    before and between looks at the rows. From the first count on a failure is stored as such, and so is being
    stopped: noise that was drawn is not drawn again.

    Guarantee: that of `mechanism`, if `price` covers `searches` and all noisy looks that it takes at
    counts of which one unit changes each marginal by at most `CodedCounter.sensitivity`, and if nothing
    else it returns depends on counts.

    Args:
        curator: Whose table it is.
        table: Which table; by default the only one.
        columns: The columns with the codes of their cells, or what returns them when domains were found.
        price: What it costs.
        request: All that decides the result, in a canonical form.
        question: What the ledger shows to people.
        mechanism: What counts, adds noise, and returns what is released.
        searches: Domains that are found privately first; a part of the price.
        room: What must be left after a new charge, for a mechanism that follows.
        stop: Ends it from another thread.

    Raises:
        QuestionRefused: There is no bound on a person's rows; nothing was spent.
        BudgetExceeded: Too little is left; nothing was spent.
        StatementFailed: 57014, it was stopped; asked again, it is not charged again, but fails if it had counted.
    """
    with pad_duration(curator.quantum):
        held = find_protected_table(curator.catalog, table)
        rows = scan_table(held, held.name)
        stop = stop or CancelToken()
        run = _plan_counting(curator, [rows], _as_table_columns(columns), [(held, searches)], stop)
        order = _Order(price, request, question, room)
        return run.pay(order, lambda counters: mechanism(counters[0]), stop)


def release_family_mechanism(  # noqa: PLR0913 -- what is charged, and what is done
    curator: Curator,
    family: TableFamily,
    columns: TableColumns,
    *,
    price: Price,
    request: str,
    question: str,
    mechanism: Callable[[Sequence[CodedCounter]], bytes],
    searches: Sequence[DomainSearches | None] = (),
    room: Price | None = None,
    stop: CancelToken | None = None,
) -> MechanismResult:
    """Charge `price` to all tables of a family, and return what `mechanism` makes of their counts.

    As `release_mechanism`, with a counter of the parent's rows and one for each child table.

    Args:
        curator: Whose tables they are.
        family: The tables.
        columns: Of the parent, then of each child table: of its parent and of its own; or what returns them
            when domains were found.
        price: What it costs.
        request: All that decides the result, in a canonical form.
        question: What the ledger shows to people.
        mechanism: What counts, adds noise, and returns what is released.
        searches: Domains of each table that are found privately first; a part of the price.
        room: What must be left after a new charge, for a mechanism that follows.
        stop: Ends it from another thread.
    """
    with pad_duration(curator.quantum):
        stop = stop or CancelToken()
        run = _family_run(curator, family, columns, searches, stop)
        return run.pay(_Order(price, request, question, room), mechanism, stop)


def release_row_mechanism(
    curator: Curator,
    table: str | None,
    columns: Sequence[str],
    *,
    price: Price,
    request: str,
    question: str,
    mechanism: Callable[[UnitRows], bytes],
    stop: CancelToken | None = None,
) -> MechanismResult:
    """Charge `price`, and return what `mechanism` makes of rows with their units, as `release_mechanism` of counts.

    Guarantee: that of `mechanism`, if `price` covers all that it returns of rows, between tables that differ in
    all rows of one unit.

    Args:
        curator: Whose table it is.
        table: Which table; by default the only one.
        columns: The columns that it gets.
        price: What it costs.
        request: All that decides the result, in a canonical form.
        question: What the ledger shows to people.
        mechanism: What adds noise, and returns what is released; it calls `UnitRows.begin_release` before noise.
        stop: Ends it from another thread, until the rows are read.
    """
    with pad_duration(curator.quantum):
        held = find_protected_table(curator.catalog, table)
        rows = scan_table(held, held.name)
        sources = [UnitRows(rows, columns, curator.engine)]
        run = _MechanismRun(curator, rows.touches, lambda _: sources)
        order = _Order(price, request, question)
        return run.pay(order, lambda found: mechanism(found[0]), stop or CancelToken())


def _family_run(
    curator: Curator,
    family: TableFamily,
    columns: TableColumns,
    searches: Sequence[DomainSearches | None],
    stop: CancelToken | None = None,
) -> _MechanismRun[CodedCounter]:
    tables = (family.parent, *family.children)
    for held in tables:
        find_protected_table(curator.catalog, held.name)
    rows = [family.parent_rows(), *(family.child_rows(held) for held in family.children)]
    searched = list(zip(tables, searches, strict=True)) if searches else []
    return _plan_counting(curator, rows, columns, searched, stop)


@dataclass(frozen=True)
class _Order:
    """What is asked for, and what it costs."""

    price: Price
    request: str
    question: str
    room: Price | None = None


class _PlannedSearches:
    """Searches for domains of some tables, planned before anything is spent."""

    def __init__(self, searched: Sequence[tuple[CatalogTable, DomainSearches | None]]) -> None:
        self._searched = searched
        self._planned = [
            [] if searches is None else searches.plan(held) for held, searches in searched
        ]
        self.plans = [plan for plans in self._planned for plan in plans]

    def find(self, exact: Sequence[ExactResults]) -> list[FoundDomains]:
        """Return what is found in each table of what was counted, with noise."""
        counted = iter(exact)
        return [
            {} if searches is None else searches.read(held, plans, [*islice(counted, len(plans))])
            for (held, searches), plans in zip(self._searched, self._planned, strict=True)
        ]


def _as_table_columns(columns: Sequence[ColumnCode] | ColumnChoice) -> TableColumns:
    """Return the columns of one table as those of several."""
    if callable(columns):
        return lambda found: [columns(found[0])]
    return [columns]


def _plan_counting(
    curator: Curator,
    counted: Sequence[Rows],
    columns: TableColumns,
    searched: Sequence[tuple[CatalogTable, DomainSearches | None]],
    stop: CancelToken | None = None,
) -> _MechanismRun[CodedCounter]:
    """Return the run of a mechanism that counts coded rows until it is stopped; refuse rows without a limit."""
    for rows in counted:
        counting_limit(rows)

    def make_counters(found: Sequence[FoundDomains]) -> list[CodedCounter]:
        chosen = columns(found) if callable(columns) else columns
        payments, signal = curator.payments, stop or CancelToken()
        hold = partial(payments.hold_engine, signal)
        return [
            CodedCounter(rows, some, curator.engine, lock=payments.lock, hold=hold)
            for rows, some in zip(counted, chosen, strict=True)
        ]

    touches = [touch for rows in counted for touch in rows.touches]
    searches = _PlannedSearches(searched)
    return _MechanismRun(curator, touches, make_counters, searches, needs_domains=callable(columns))


def _make_failure(question: str, stop: CancelToken) -> DiscreetError:
    """Return the error for what was charged and is not tried again: it failed, or was stopped, after a look."""
    why = (
        "a second try could reveal the noise of the first. Ask with another epsilon, and with more time if it was "
        "a limit of time that stopped it."
    )
    if stop.is_set:
        return StatementFailed(
            "57014",
            "canceling statement due to user request",
            hint=f"'{question}' was charged, had drawn noise, and is not tried again: {why}",
        )
    return EngineFailed(
        f"'{question}' was charged, but failed or was stopped after noise was drawn, and is not tried again: {why}"
    )


class _RowSource(Protocol):
    """Rows of one table, read once inside the engine or from it."""

    has_counted: bool

    def store_rows(self) -> Any:
        """Do all that needs no noise, and can be stopped."""
        ...

    def close(self) -> None:
        """Drop the rows."""
        ...


Source = TypeVar("Source", bound=_RowSource)


class _MechanismRun(Generic[Source]):
    """One run: searches for domains, then rows, then the mechanism."""

    def __init__(
        self,
        curator: Curator,
        touches: Sequence[TouchedTable],
        make_sources: Callable[[Sequence[FoundDomains]], list[Source]],
        searches: _PlannedSearches | None = None,
        *,
        needs_domains: bool = False,
    ) -> None:
        self._curator, self._touches = curator, touches
        self._searches = searches or _PlannedSearches([])
        self._make_sources = make_sources
        self._has_searched = False
        self._sources: list[Source] = [] if needs_domains else make_sources([])

    def pay(
        self, order: _Order, mechanism: Callable[[Sequence[Source]], bytes], stop: CancelToken
    ) -> MechanismResult:
        """Charge what was ordered, and return what the ledger keeps of it."""
        curator, price = self._curator, order.price
        payments, at = curator.payments, curator.clock()
        charged = payments.find_accounts(self._touches, at=at, stop=stop)
        key = mechanism_key(
            order.request, price, self._touches, charged.accounts, analyst=curator.analyst
        )
        reservation = payments.reserve(
            self._touches,
            charged.accounts,
            price,
            key=key,
            at=at,
            question=order.question,
            room=order.room,
        )
        packed = reservation.answer
        if packed is None:
            packed = self._release(mechanism, reservation, stop)
        if packed == FAILED:
            raise _make_failure(order.question, stop)
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

    def _release(
        self,
        mechanism: Callable[[Sequence[Source]], bytes],
        reservation: Reservation,
        stop: CancelToken,
    ) -> bytes:
        try:
            exact = self._read_rows(stop)
            return self._curator.payments.commit(
                reservation,
                lambda: hide_unexpected_errors(lambda: mechanism(self._code_rows(exact))),
                has_drawn=lambda: (
                    self._has_searched or any(one.has_counted for one in self._sources)
                ),
            )
        except DiscreetError:
            stop.check()  # the engine calls it a failure of its own
            raise
        finally:
            for source in self._sources:
                source.close()

    def _read_rows(self, stop: CancelToken) -> list[ExactResults]:
        """Do all that needs no noise, and can be stopped."""
        engine = self._curator.engine

        def read() -> list[ExactResults]:
            for source in self._sources:
                source.store_rows()
            return [run_queries(plan, engine) for plan in self._searches.plans]

        with self._curator.payments.hold_engine(stop):
            try:
                exact = hide_unexpected_errors(read)
            except DiscreetError:
                stop.check()
                raise
        stop.check()
        return exact

    def _code_rows(self, exact: Sequence[ExactResults]) -> list[Source]:
        """Find domains, and return the rows that are coded by them."""
        self._has_searched = bool(exact)
        if not self._sources:
            self._sources = self._make_sources(self._searches.find(exact))
        return self._sources
