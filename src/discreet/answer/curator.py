"""The curator: reserve, look, add noise, commit, compute, tell — in this order and no other."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from discreet.answer import cautions
from discreet.answer.accounts import require_room, told_remaining
from discreet.answer.answer import Answer, make_answer
from discreet.answer.cutting import CUT_SHARE
from discreet.answer.explain import explain
from discreet.answer.finish import finish, rehearse, shape
from discreet.answer.keying import key_of
from discreet.answer.ledgers import open_ledger
from discreet.answer.payers import Payers
from discreet.answer.perturb import release, run_queries
from discreet.answer.plan import make_plan
from discreet.answer.released import pack_released, unpack_released
from discreet.answer.resolve import resolve
from discreet.answer.schemas import Pins
from discreet.answer.searching import (
    SEARCH_SHARE,
    bounds_key,
    make_search,
    read_bounds,
    resolve_searching,
    with_searches,
)
from discreet.answer.statement import DIALECT, parse
from discreet.answer.stopping import Stop
from discreet.answer.tables import open_catalog
from discreet.answer.withholding import withheld
from discreet.dp.accounting.exact import to_fraction
from discreet.dp.noise import system_noise
from discreet.engines.duckdb import DuckDB
from discreet.errors import DiscreetError, EngineFailed, InvalidBudget, InvalidQuestion
from discreet.policy.load import load_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from decimal import Decimal
    from fractions import Fraction

    from sqlglot import exp

    from discreet.answer.explain import Explanation
    from discreet.answer.perturb import Released
    from discreet.answer.plan import Noise, Plan
    from discreet.answer.question import Question
    from discreet.answer.searching import Column as Place
    from discreet.answer.searching import Range as Bounds
    from discreet.answer.searching import Search
    from discreet.answer.tables import Reading
    from discreet.dp.ledger.book import Ledger
    from discreet.dp.ledger.records import Reservation
    from discreet.engines.engine import ArrowSchema
    from discreet.policy.model import Policy

    Number = str | int | float | Decimal

KEPT = 256  # plans and answers in memory; the ledger has all answers
LARGEST_KEPT = 1 << 20  # bytes
FAILED = b"failed"  # stands in the ledger for noise that could not be drawn
Kept = TypeVar("Kept")


def open_curator(
    source: object,
    policy: Policy | Path | str | None = None,
    *,
    ledger: Path | str | None = None,
    table: str | None = None,
    analyst: str | None = None,
    quantum: float = 0.0,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    reading: Reading | None = None,
) -> Curator:
    """Return who answers questions about `source` under `policy`.

    Args:
        source: A path, a URL or a frame, as `assess` takes it.
        policy: A policy or its file: bounds, units, limits and budgets.
        ledger: Where spending is kept: a file or a `postgresql://` URL. Default: `DISCREET_LEDGER`,
            else a file of this user; for a frame, memory.
        table: Which table of the source.
        analyst: Who asks, where the policy has budgets of analysts.
        quantum: Seconds that every answer takes a multiple of, so that time tells nothing.
        clock: What time it is.
        reading: How the source is read: `delimiter`, `encoding`, `memory_limit`.

    >>> import pyarrow
    >>> curator = open_curator(pyarrow.table({"sick": [True, False, True]}))
    >>> answer = curator.ask("SELECT count(*) AS n FROM data WHERE sick", epsilon=1)
    >>> answer.columns, answer.spent
    (('n',), {'epsilon': 1.0, 'delta': 0.0})
    """
    found = load_policy(policy) if isinstance(policy, (str, Path)) else policy
    book = open_ledger(ledger, source)
    try:
        catalog, engine = open_catalog(source, found, table=table, reading=reading, pins=Pins(book))
    except BaseException:
        book.close()
        raise
    return Curator(
        catalog, engine, book, policy=found, analyst=analyst, quantum=quantum, clock=clock
    )


class Curator:
    """Answers questions about the tables of one catalog, and charges them to the ledger."""

    def __init__(
        self,
        catalog: Any,
        engine: Any,
        ledger: Ledger,
        *,
        policy: Policy | None = None,
        analyst: str | None = None,
        quantum: float = 0.0,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        most_rows: int | None = None,
    ) -> None:
        self._most_rows = most_rows  # of an answer
        self.catalog, self.engine, self.ledger = catalog, engine, ledger
        self.policy, self.analyst = policy, analyst
        self._quantum, self._clock = quantum, clock
        self._questions: dict[object, tuple[Question, str]] = {}
        self._plans: dict[object, tuple[Plan, str]] = {}
        self._told: dict[object, Answer] = {}
        self._payers = Payers(self)
        # One thread: the same released tables give the same rows in the same order each time.
        self._home = DuckDB(threads=1)
        self._home.close_doors()
        # The engine's, which may be held for long, and that of `_home`, which mostly is not.
        self._lock, self._home_lock = threading.Lock(), threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the engine and the ledger."""
        self.leave()
        self.ledger.close()

    def leave(self) -> None:
        """Release the engine; the ledger stays open, for others who share it."""
        self._home.close()
        self.engine.close()

    def ask(
        self,
        question: str,
        *,
        epsilon: Number,
        delta: Number = 0,
        noise: Noise | None = None,
        confidence: float = 0.95,
        consistent: bool = False,
        cut_share: Number = str(float(CUT_SHARE)),
        stop: Stop | None = None,
    ) -> Answer:
        """Return a private answer to `question`, and charge it.

        The same question on the same data returns the same answer, and costs nothing again.

        Args:
            question: One SELECT with aggregates.
            epsilon: What it may cost at most, for all aggregates together.
            delta: The chance that a rare group is told, or that Gaussian noise does not cover.
            noise: `laplace` or `gaussian`; by default the one with the smaller error.
            confidence: How sure the intervals are.
            consistent: No negative counts.
            cut_share: The share of epsilon that tells how many rows the limits cut off; 0: none.
            stop: Ends it from another thread.

        Raises:
            InvalidQuestion: The text cannot be read, or names what is not there.
            QuestionRefused: There is no private answer to it; nothing was spent.
            BudgetExceeded: Too little is left; nothing was spent.
            StatementFailed: 57014, it was stopped; asked again, it is not charged again.
        """
        stop = stop or Stop()
        with self._padded():
            plan, text = self.plan(
                question, epsilon=epsilon, delta=delta, noise=noise, cut_share=cut_share
            )
            _check_confidence(confidence)
            at = self._clock()
            turn = partial(stop.turn, self._lock, self.engine)
            charged = self._payers.find(plan, at=at, turn=turn)
            accounts = charged.accounts
            key = key_of(text, plan, accounts, analyst=self.analyst, options=[noise, consistent])
            told, is_known = self._told.get(key), True
            if told is None:
                if plan.searches:
                    plan = self._search(plan, question, at, stop)
                    accounts = self._payers.find(plan, at=at, turn=turn).accounts
                reservation = self.ledger.reserve(
                    accounts, plan.price, key=key, at=at, question=text
                )
                self._payers.remember(plan, at=at, turn=turn)
                told, is_known = self._answered(plan, reservation, stop, consistent=consistent)
            left = told_remaining(self.ledger.remaining(accounts))
            return told.with_budget(
                left, confidence=confidence, cached=is_known, cautions=charged.cautions
            )

    def measure(
        self, plan: Plan, text: str
    ) -> tuple[Mapping[str, Released], Mapping[str, Any], bool]:
        """Return what a plan releases that no SQL asks for, what is left, and whether it was known.

        It is charged as a question is, and the same plan on the same data is free again.
        """
        at, stop = self._clock(), Stop()
        turn = partial(stop.turn, self._lock, self.engine)
        accounts = self._payers.find(plan, at=at, turn=turn).accounts
        key = key_of(text, plan, accounts, analyst=self.analyst, options=[])
        reservation = self.ledger.reserve(accounts, plan.price, key=key, at=at, question=text)
        self._payers.remember(plan, at=at, turn=turn)
        packed = reservation.answer or self._release(plan, reservation, stop, consistent=False)
        if packed == FAILED:
            raise EngineFailed("It was charged, but noise could not be added. Try another epsilon.")
        left = told_remaining(self.ledger.remaining(accounts))
        return unpack_released(packed), left, reservation.answer is not None

    def _search(self, plan: Plan, question: str, at: datetime, stop: Stop) -> Plan:
        """Find the bounds that a plan needs, and return it with them; each search is charged apart."""
        turn = partial(stop.turn, self._lock, self.engine)
        accounts = self._payers.find(plan, at=at, turn=turn).accounts
        require_room(self.ledger.remaining(accounts), plan.price)
        found, paid = dict(plan.found), dict(plan.paid)
        for search in plan.searches:
            alone = replace(plan, leaves=(search.plan,), noise="laplace", searches=())
            reservation = self.ledger.reserve(
                self._payers.find(alone, at=at, turn=turn).accounts,
                search.price,
                key=search.key,
                at=at,
                question=search.question,
            )
            self._payers.remember(alone, at=at, turn=turn)
            packed = reservation.answer or self._release(alone, reservation, stop, consistent=False)
            if packed == FAILED:
                raise EngineFailed(
                    "Finding bounds was charged, but noise could not be added. Give the column "
                    "bounds in the policy."
                )
            (released,) = unpack_released(packed).values()
            found[search.column] = read_bounds(released)
            if reservation.is_new:
                paid[search.column] = search.price.epsilon or to_fraction(0)
        return replace(self._planned(question, plan, found), paid=paid)

    def _planned(self, question: str, plan: Plan, found: Mapping[Place, Bounds]) -> Plan:
        """Return the plan of a question with bounds that were found."""
        with self._lock:
            asked = resolve(parse(question), self.catalog.with_bounds(found))
        made = make_plan(
            asked,
            epsilon=plan.epsilon * (1 - SEARCH_SHARE),
            delta=plan.delta,
            noise=plan.noise,
            cut_share=plan.cut_share,
        )
        return replace(made, epsilon=plan.epsilon, found=found)

    def _answered(
        self, plan: Plan, reservation: Reservation, stop: Stop, *, consistent: bool
    ) -> tuple[Answer, bool]:
        """Return the answer to what the ledger has or gets, and whether it was there."""
        packed = reservation.answer
        is_known = packed is not None
        if packed is None:
            packed = self._release(plan, reservation, stop, consistent=consistent)
        if packed == FAILED:
            raise EngineFailed(
                "The question was charged, but noise could not be added to what it counts. Ask for "
                "fewer groups or aggregates."
            )
        told = self._finish(plan, packed, stop)
        if len(packed) < LARGEST_KEPT:
            _keep(self._told, reservation.key, told)
        return told, is_known

    def plan(
        self,
        question: str,
        *,
        epsilon: Number,
        delta: Number = 0,
        noise: Noise | None = None,
        cut_share: Number = str(float(CUT_SHARE)),
    ) -> tuple[Plan, str]:
        """Return how a question would be answered, and its normal form; nothing is spent or read."""
        key = (question, str(epsilon), str(delta), noise, str(cut_share))
        found = self._plans.get(key)
        if found is None:
            asked, text = self._read(question)
            whole, share = to_fraction(epsilon), SEARCH_SHARE if asked.searched else 0
            made = make_plan(
                asked,
                epsilon=whole * (1 - share),
                delta=to_fraction(delta),
                noise=noise,
                cut_share=to_fraction(cut_share),
            )
            found = made, text
            if asked.searched:
                # Whether bounds are known by now is looked up each time.
                return self._with_searches(question, made, asked, whole), text
            # That a public table has one row for each person's was looked up: it must be each time.
            if not self.catalog.has_public:
                _keep(self._plans, key, found)
        return found

    def _with_searches(self, question: str, plan: Plan, asked: Question, epsilon: Fraction) -> Plan:
        """Return the plan with the bounds that are known, or with the searches that find them."""
        found: dict[Place, Bounds] = {}
        searches: list[Search] = []
        for table, column in asked.searched:
            held = self.catalog.find(table)
            known = self.ledger.find(bounds_key(held, column, self.analyst))
            if known is not None and known != FAILED:
                (released,) = unpack_released(known).values()
                found[table, column] = read_bounds(released)
                continue
            each = epsilon * SEARCH_SHARE / len(asked.searched)
            searches.append(make_search(held, column, epsilon=each, analyst=self.analyst))
        plan = replace(plan, epsilon=epsilon)
        if not searches:
            return self._planned(question, plan, found)
        return replace(with_searches(plan, searches, epsilon), found=found)

    def _read(self, question: str) -> tuple[Question, str]:
        """Return what a text asks, and its normal form; whatever it may cost, it is read once."""
        found = self._questions.get(question)
        if found is None:
            statement = parse(question)
            asked = self._resolved(statement)
            found = asked, statement.sql(dialect=DIALECT, normalize=True, comments=False)
            if not self.catalog.has_public:
                _keep(self._questions, question, found)
        return found

    def _resolved(self, statement: exp.Query) -> Question:
        try:
            with self._lock:  # public tables are looked at
                asked = resolve_searching(statement, self.catalog)
            with self._home_lock:
                rehearse(asked, self._home)
        except RecursionError:
            pass
        else:
            return asked
        raise InvalidQuestion("The question is nested too deeply. Split it.")

    def shape(self, plan: Plan) -> ArrowSchema:
        """Return the columns that the answer to a plan has; nothing is spent or read."""
        with self._home_lock:
            return shape(plan.question, self._home)

    def explain(
        self,
        plan: Plan,
        question: str,
        *,
        confidence: float = 0.95,
        size: int = 1000,
        within: Fraction | None = None,
    ) -> Explanation:
        """Return what a plan costs and how far off its answer would be; nothing is spent or read."""
        charged = self._payers.foretell(plan, at=self._clock())
        found = explain(
            plan,
            question=question,
            size=size,
            confidence=confidence,
            within=within,
            remaining=told_remaining(self.ledger.remaining(charged.accounts)),
            policy=self.policy,
        )
        return replace(found, cautions=(*found.cautions, *charged.cautions))

    def _release(
        self, plan: Plan, reservation: Reservation, stop: Stop, *, consistent: bool
    ) -> bytes:
        """Return the released tables that the ledger keeps: those of whoever was first.

        The queries can be stopped, and asked again they return the same. From the first random number
        until the ledger has all of them nothing stops, and a failure is kept in their place:
        otherwise time or failure would tell something about noise that is drawn anew the next time.
        """
        with stop.turn(self._lock, self.engine):
            try:
                exact = withheld(lambda: [run_queries(leaf, self.engine) for leaf in plan.leaves])
            except DiscreetError:
                stop.check()
                raise
        try:
            source = system_noise()
            packed = pack_released(
                {
                    leaf.leaf.name: release(
                        leaf, found, noise=source, kind=plan.noise, consistent=consistent
                    )
                    for leaf, found in zip(plan.leaves, exact, strict=True)
                }
            )
        except Exception:  # noqa: BLE001 -- its words may quote people
            packed = FAILED
        except BaseException:
            self.ledger.commit(reservation, FAILED)
            raise
        return self.ledger.commit(reservation, packed)

    def _finish(self, plan: Plan, packed: bytes, stop: Stop) -> Answer:
        """Return the answer that follows from released tables, which everybody may know.

        It may be stopped, fail or take long: the next time it starts from the same tables.
        """
        released = unpack_released(packed)
        with stop.turn(self._home_lock, self._home):
            try:
                finished = withheld(
                    lambda: finish(plan.question, released, self._home, most=self._most_rows)
                )
            except DiscreetError:
                stop.check()
                finished = None
        if finished is None:
            raise EngineFailed(
                "The question was charged, but what it computes from noisy numbers failed, such as "
                "the root of a negative one, or has too many rows. Ask for the aggregates, and compute "
                "it from these."
            )
        epsilon = (plan.price.epsilon or 0) + sum(plan.paid.values())
        spent = {"epsilon": float(epsilon), "delta": float(plan.price.delta)}
        cut_off = cautions.cut_off(plan, released)
        told = (*cautions.of(plan, self.policy), *(c.caution for c in cut_off if c.caution))
        return make_answer(finished, spent=spent, noise=plan.noise, cautions=told, cut_off=cut_off)

    @contextmanager
    def _padded(self) -> Generator[None]:
        """Let what happens inside end only at a multiple of the quantum, also when it fails."""
        start = time.monotonic()
        try:
            yield
        finally:
            if self._quantum > 0:
                time.sleep(self._quantum - (time.monotonic() - start) % self._quantum)


def _keep(place: dict[object, Kept], key: object, value: Kept) -> None:
    """Remember `value`, and forget the oldest one if there are many."""
    while len(place) >= KEPT:
        # Others may be at it, too: the list is made in one step.
        place.pop(next(iter(list(place)), None), None)
    place[key] = value


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InvalidBudget("The confidence must be between 0 and 1, such as 0.95.")
