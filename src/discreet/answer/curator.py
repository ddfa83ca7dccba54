"""The curator: reserve budget, query, add noise, commit, compute, return: always in this order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlglot import exp

from discreet.answer import cautions, finish
from discreet.answer.accounts import require_remaining_budget, summarize_remaining
from discreet.answer.answer import Answer, make_answer
from discreet.answer.bounds_search import (
    SEARCH_SHARE,
    bounds_key,
    make_search,
    read_private_bounds,
    resolve_searching,
    with_searches,
)
from discreet.answer.bounds_search import Column as Place
from discreet.answer.bounds_search import Range as Bounds
from discreet.answer.cancellation import CancelToken
from discreet.answer.cut_rows import CUT_SHARE
from discreet.answer.explain import Explanation, explain_plan
from discreet.answer.ledgers import open_ledger
from discreet.answer.limits import LimitAdvice, advise_limits
from discreet.answer.payment import FAILED, Payments
from discreet.answer.perturb import ReleasedTable
from discreet.answer.plan import BoundsSearch, Noise, Plan, make_plan
from discreet.answer.question import Question
from discreet.answer.question_key import question_key
from discreet.answer.register import RegisteredTable, RegistrableSource
from discreet.answer.released_format import unpack_released
from discreet.answer.resolve import resolve_question
from discreet.answer.spending import Spending, read_spending
from discreet.answer.statement import DIALECT, parse_question
from discreet.answer.tables import ReadOptions, open_catalog
from discreet.answer.unexpected_errors import hide_unexpected_errors, pad_duration
from discreet.answer.weighting import weigh_question
from discreet.dp.accounting.exact import ExactNumber, to_fraction
from discreet.dp.ledger.ledger import Ledger
from discreet.dp.ledger.records import Reservation
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import ArrowSchema
from discreet.errors import DiscreetError, EngineFailed, InvalidQuestion, WrongUsage
from discreet.policy.load import load_policy
from discreet.policy.model import Policy

CACHE_SIZE = 256  # plans and answers in memory; the ledger has all answers
LARGEST_CACHED = 1 << 20  # bytes
Kept = TypeVar("Kept")


def open_curator(  # noqa: PLR0913 -- the flags of the command
    source: object,
    policy: Policy | Path | str | None = None,
    *,
    ledger: Path | str | None = None,
    table: str | None = None,
    analyst: str | None = None,
    quantum: float = 0.0,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
) -> Curator:
    """Return the curator that answers questions about `source` under `policy`.

    Args:
        source: A path, a URL or a frame, as `assess` takes it.
        policy: A policy or its file: bounds, units, limits and budgets.
        ledger: A file or a `postgresql://` URL; `DISCREET_LEDGER`, the user's file, or memory for a frame.
        table: Which table of the source.
        analyst: The analyst's name, if the policy has budgets of analysts.
        quantum: Every answer takes a multiple of so many seconds, so that time reveals nothing.
        clock: What time it is.
        delimiter: What separates the columns of a CSV file.
        encoding: The encoding of a CSV file.
        memory: How much memory the engine may use, such as `4GB`.

    >>> import pyarrow
    >>> curator = open_curator(pyarrow.table({"sick": [True, False, True]}))
    >>> answer = curator.ask("SELECT count(*) AS n FROM data WHERE sick", epsilon=1)
    >>> answer.columns, answer.spent
    (('n',), {'epsilon': 1.0, 'delta': 0.0})
    """
    found = load_policy(policy) if isinstance(policy, (str, Path)) else policy
    reading = ReadOptions(delimiter=delimiter, encoding=encoding, memory_limit=memory)
    opened_ledger = open_ledger(ledger, source)
    try:
        catalog, engine = open_catalog(
            source, found, opened_ledger, table=table, reading=reading, clock=clock
        )
    except BaseException:
        opened_ledger.close()
        raise
    place = RegistrableSource(source, table, reading) if isinstance(source, (str, Path)) else None
    return Curator(
        catalog,
        engine,
        opened_ledger,
        policy=found,
        analyst=analyst,
        quantum=quantum,
        clock=clock,
        opened_from=place,
    )


class Curator:
    """Answers questions about the tables of one catalog, and charges them to the ledger.

    >>> curator = open_curator("patients.csv", "policy.yaml", ledger="ledger.sqlite")
    >>> curator.explain("SELECT count(*) AS n FROM patients", epsilon="0.5").epsilon
    0.5
    """

    def __init__(  # noqa: PLR0913 -- a curator's parts
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
        opened_from: RegistrableSource | None = None,
    ) -> None:
        self._opened_from, self._most_rows = opened_from, most_rows
        self.catalog, self.engine, self.ledger = catalog, engine, ledger
        self.policy, self.analyst = policy, analyst
        self.quantum, self.clock = quantum, clock
        self._questions: dict[object, tuple[Question, str]] = {}
        self._plans: dict[object, tuple[Plan, str]] = {}
        self._answers: dict[object, Answer] = {}
        self.payments = Payments(self)
        # One thread: the same released tables give the same rows in the same order each time.
        self._home = DuckDB(threads=1)
        self._home.lock_external_access()
        self._home_lock = threading.Lock()

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

    def ask(  # noqa: PLR0913 -- the flags of the command
        self,
        question: str,
        *,
        epsilon: ExactNumber,
        delta: ExactNumber = 0,
        noise: Noise | None = None,
        confidence: float = 0.95,
        consistent: bool = False,
        weighted: bool = False,
        cut_share: ExactNumber = str(float(CUT_SHARE)),
        stop: CancelToken | None = None,
    ) -> Answer:
        """Return a private answer to `question`, and charge it.

        The same question on the same data returns the same answer, and costs nothing again.

        Args:
            question: One SELECT with aggregates.
            epsilon: What it may cost at most, for all aggregates together.
            delta: The chance that a rare group is released, or that Gaussian noise does not cover.
            noise: `laplace` or `gaussian`; by default the one with the smaller error.
            confidence: The confidence level of intervals.
            consistent: No negative counts.
            weighted: Each row counts as its sampling weight: answers estimate the population.
            cut_share: The share of epsilon that measures how many rows the limits cut off; 0: none.
            stop: Ends it from another thread.

        Raises:
            InvalidQuestion: The text cannot be read, or names what is not there.
            QuestionRefused: There is no private answer to it; nothing was spent.
            BudgetExceeded: Too little is left; nothing was spent.
            StatementFailed: 57014, it was stopped; asked again, it is not charged again.

        >>> with open_curator("patients.csv", "policy.yaml", ledger=":memory:") as curator:
        ...     answer = curator.ask("SELECT count(*) AS n FROM patients", epsilon="0.5")
        >>> abs(answer.rows[0][0] - 2000) < 100
        True
        """
        stop = stop or CancelToken()
        with pad_duration(self.quantum):
            question = (
                weigh_question(question, self.catalog, self.payments.lock) if weighted else question
            )
            plan, text = self.plan(
                question, epsilon=epsilon, delta=delta, noise=noise, cut_share=cut_share
            )
            finish.require_confidence(confidence)
            at = self.clock()
            charged = self.payments.find_accounts(plan.touches, at=at, stop=stop)
            accounts = charged.accounts
            key = question_key(
                text, plan, accounts, analyst=self.analyst, options=[noise, consistent]
            )
            answer, is_known = self._answers.get(key), True
            if answer is None:
                if plan.searches:
                    plan = self._search(plan, question, at, stop)
                    found = self.payments.find_accounts(plan.touches, at=at, stop=stop)
                    accounts = found.accounts
                reservation = self.payments.reserve(
                    plan.touches, accounts, plan.price, key=key, at=at, question=text
                )
                answer, is_known = self._answer_reservation(
                    plan, reservation, stop, consistent=consistent
                )
            left = summarize_remaining(self.ledger.remaining(accounts))
            return answer.with_budget(
                left, confidence=confidence, cached=is_known, cautions=charged.cautions
            )

    def measure(
        self, plan: Plan, text: str
    ) -> tuple[Mapping[str, ReleasedTable], Mapping[str, Any], bool]:
        """Return the released tables of a plan, the budget left, and whether it was known.

        It is charged as a question is, and the same plan on the same data is free again.
        """
        at, stop = self.clock(), CancelToken()
        accounts = self.payments.find_accounts(plan.touches, at=at, stop=stop).accounts
        key = question_key(text, plan, accounts, analyst=self.analyst, options=[])
        reservation = self.payments.reserve(
            plan.touches, accounts, plan.price, key=key, at=at, question=text
        )
        packed = reservation.answer or self.payments.release_plan(
            plan, reservation, stop, consistent=False
        )
        if packed == FAILED:
            raise EngineFailed("It was charged, but noise could not be added. Try another epsilon.")
        left = summarize_remaining(self.ledger.remaining(accounts))
        return unpack_released(packed), left, reservation.answer is not None

    def _search(self, plan: Plan, question: str, at: datetime, stop: CancelToken) -> Plan:
        """Find the bounds that a plan needs, and return it with them; each search is charged apart."""
        accounts = self.payments.find_accounts(plan.touches, at=at, stop=stop).accounts
        require_remaining_budget(self.ledger.remaining(accounts), plan.price)
        found, paid = dict(plan.found), dict(plan.paid)
        for search in plan.searches:
            alone = replace(plan, private_queries=(search.plan,), noise="laplace", searches=())
            reservation = self.payments.reserve(
                alone.touches,
                self.payments.find_accounts(alone.touches, at=at, stop=stop).accounts,
                search.price,
                key=search.key,
                at=at,
                question=search.question,
            )
            packed = reservation.answer or self.payments.release_plan(
                alone, reservation, stop, consistent=False
            )
            if packed == FAILED:
                raise EngineFailed(
                    "Finding bounds was charged, but noise could not be added. Give the column "
                    "bounds in the policy."
                )
            (released,) = unpack_released(packed).values()
            found[search.column] = read_private_bounds(released)
            if reservation.is_new:
                paid[search.column] = search.price.epsilon or to_fraction(0)
        return replace(self._plan_with_bounds(question, plan, found), paid=paid)

    def _plan_with_bounds(self, question: str, plan: Plan, found: Mapping[Place, Bounds]) -> Plan:
        """Return the plan of a question with bounds that were found."""
        with self.payments.lock:
            asked = resolve_question(parse_question(question), self.catalog.with_bounds(found))
        made = make_plan(
            asked,
            epsilon=plan.epsilon * (1 - SEARCH_SHARE),
            delta=plan.delta,
            noise=plan.noise,
            cut_share=plan.cut_share,
        )
        return replace(made, epsilon=plan.epsilon, found=found)

    def _answer_reservation(
        self, plan: Plan, reservation: Reservation, stop: CancelToken, *, consistent: bool
    ) -> tuple[Answer, bool]:
        """Return the answer to what the ledger has or gets, and whether it was there."""
        packed = reservation.answer
        is_known = packed is not None
        if packed is None:
            packed = self.payments.release_plan(plan, reservation, stop, consistent=consistent)
        if packed == FAILED:
            raise EngineFailed(
                "The question was charged, but noise could not be added to what it counts. Ask for "
                "fewer groups or aggregates."
            )
        answer = self._finish_answer(plan, packed, stop)
        if len(packed) < LARGEST_CACHED:
            _cache_value(self._answers, reservation.key, answer)
        return answer, is_known

    def plan(
        self,
        question: str,
        *,
        epsilon: ExactNumber,
        delta: ExactNumber = 0,
        noise: Noise | None = None,
        cut_share: ExactNumber = str(float(CUT_SHARE)),
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
                _cache_value(self._plans, key, found)
        return found

    def _with_searches(self, question: str, plan: Plan, asked: Question, epsilon: Fraction) -> Plan:
        """Return the plan with the bounds that are known, or with the searches that find them."""
        found: dict[Place, Bounds] = {}
        searches: list[BoundsSearch] = []
        for table, column in asked.searched:
            held = self.catalog.find(table)
            known = self.ledger.find(bounds_key(held, column, self.analyst))
            if known is not None and known != FAILED:
                (released,) = unpack_released(known).values()
                found[table, column] = read_private_bounds(released)
                continue
            each = epsilon * SEARCH_SHARE / len(asked.searched)
            searches.append(make_search(held, column, epsilon=each, analyst=self.analyst))
        plan = replace(plan, epsilon=epsilon)
        if not searches:
            return self._plan_with_bounds(question, plan, found)
        return replace(with_searches(plan, searches, epsilon), found=found)

    def _read(self, question: str) -> tuple[Question, str]:
        """Return the parsed question and its normal form; it is parsed once for all prices."""
        found = self._questions.get(question)
        if found is None:
            statement = parse_question(question)
            asked = self._resolve_statement(statement)
            found = asked, statement.sql(dialect=DIALECT, normalize=True, comments=False)
            if not self.catalog.has_public:
                _cache_value(self._questions, question, found)
        return found

    def _resolve_statement(self, statement: exp.Query) -> Question:
        try:
            with self.payments.lock:  # public tables are looked at
                asked = resolve_searching(statement, self.catalog)
            with self._home_lock:
                finish.rehearse_question(asked, self._home)
        except RecursionError:
            pass
        else:
            return asked
        raise InvalidQuestion("The question is nested too deeply. Split it.")

    def shape(self, plan: Plan) -> ArrowSchema:
        """Return the columns that the answer to a plan has; nothing is spent or read."""
        with self._home_lock:
            return finish.answer_column_types(plan.question, self._home)

    def explain(  # noqa: PLR0913 -- the flags of the command
        self,
        question: str,
        *,
        epsilon: ExactNumber,
        delta: ExactNumber = 0,
        noise: Noise | None = None,
        cut_share: ExactNumber = str(float(CUT_SHARE)),
        confidence: float = 0.95,
        weighted: bool = False,
        size: int = 1000,
        within: ExactNumber | None = None,
    ) -> Explanation:
        """Return what a question would cost and how far off its answer would be; nothing is spent or read.

        Args:
            question: One SELECT with aggregates.
            epsilon: What it may cost at most, for all aggregates together.
            delta: The chance that a rare group is released, or that Gaussian noise does not cover.
            noise: `laplace` or `gaussian`; by default the one with the smaller error.
            cut_share: The share of epsilon for measuring how many rows the limits cut off; 0: none.
            confidence: The confidence level of intervals.
            weighted: Each row counts as its sampling weight.
            size: The rows that a group is taken to have.
            within: Also say what epsilon this relative error would need, such as 0.05.

        >>> import pyarrow
        >>> with open_curator(pyarrow.table({"sick": [True, False]})) as curator:
        ...     explained = curator.explain("SELECT count(*) AS n FROM data", epsilon=1)
        >>> explained.expected[0].aggregate, round(explained.expected[0].standard_error, 1)
        ('count', 1.4)
        """
        finish.require_confidence(confidence)
        question = (
            weigh_question(question, self.catalog, self.payments.lock) if weighted else question
        )
        plan, text = self.plan(
            question, epsilon=epsilon, delta=delta, noise=noise, cut_share=cut_share
        )
        return self.explain_plan(
            plan,
            text,
            confidence=confidence,
            size=size,
            within=None if within is None else to_fraction(within),
        )

    def budget(self, account: str | None = None, *, entries: int = 10) -> Spending:
        """Return what each budget has spent, what is left of it, and the latest entries of the ledger.

        Args:
            account: Only entries of this account.
            entries: How many of the latest entries.

        >>> import pyarrow
        >>> people = pyarrow.table({"sick": [True, False]})
        >>> with open_curator(people, ledger=":memory:") as curator:
        ...     answer = curator.ask("SELECT count(*) AS n FROM data", epsilon=1)
        ...     found = curator.budget()
        >>> [entry["epsilon"] for entry in found.entries if entry["state"] == "committed"]
        [1.0]
        """
        return read_spending(self.ledger, account, entries=entries)

    def limits(
        self,
        table: str | None = None,
        *,
        epsilon: ExactNumber,
        for_epsilon: ExactNumber = 1,
        groups: int = 1,
        confidence: float = 0.95,
    ) -> LimitAdvice:
        """Return how far off counts are with each limit on a person's rows, and charge `epsilon`.

        Args:
            table: Which table; by default the only one.
            epsilon: What this may cost.
            for_epsilon: The epsilon of the questions that the limit is for.
            groups: How many groups their answers have.
            confidence: The confidence level of what is shown.

        >>> with open_curator("visits.csv", "policy.yaml", ledger=":memory:") as curator:
        ...     advice = curator.limits(epsilon="0.1", for_epsilon="0.5", groups=7)
        >>> advice.unit, advice.spent["epsilon"]
        ('patient_id', 0.1)
        """
        return advise_limits(
            self.catalog,
            self.measure,
            table,
            epsilon=epsilon,
            for_epsilon=for_epsilon,
            groups=groups,
            confidence=confidence,
        )

    def register(self, output: Path | str, *, force: bool = False) -> RegisteredTable:
        """Write a Parquet copy of the source whose rows are numbered by chance within each person.

        Questions about the copy are about as quick as plain SQL.

        Args:
            output: Where the copy goes, a `.parquet` file.
            force: Replace what is at `output`.

        >>> with open_curator("visits.csv", "policy.yaml", ledger=":memory:") as curator:
        ...     curator.register("numbered.parquet").unit
        'patient_id'
        """
        if self._opened_from is None or self.policy is None:
            raise WrongUsage("Only a file whose policy names its unit is registered. Open it so.")
        return self._opened_from.register(self.policy, output, force=force)

    def explain_plan(
        self,
        plan: Plan,
        question: str,
        *,
        confidence: float = 0.95,
        size: int = 1000,
        within: Fraction | None = None,
    ) -> Explanation:
        """Return what a plan costs and how far off its answer would be; nothing is spent or read."""
        charged = self.payments.predict_accounts(plan.touches, at=self.clock())
        found = explain_plan(
            plan,
            question=question,
            size=size,
            confidence=confidence,
            within=within,
            remaining=summarize_remaining(self.ledger.remaining(charged.accounts)),
            policy=self.policy,
        )
        return replace(found, cautions=(*found.cautions, *charged.cautions))

    def _finish_answer(self, plan: Plan, packed: bytes, stop: CancelToken) -> Answer:
        """Return the answer computed from released tables, which are public.

        It may be stopped, fail or take long: the next time it starts from the same tables.
        """
        released = unpack_released(packed)
        with stop.turn(self._home_lock, self._home):
            try:
                finished = hide_unexpected_errors(
                    lambda: finish.compute_answer(
                        plan.question, released, self._home, most=self._most_rows
                    )
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
        cut_off = cautions.measure_cut_rows(plan, released)
        notes = (
            *cautions.plan_cautions(plan, self.policy),
            *(c.caution for c in cut_off if c.caution),
        )
        return make_answer(finished, plan, spent=spent, cautions=notes, cut_off=cut_off)


def _cache_value(place: dict[object, Kept], key: object, value: Kept) -> None:
    """Remember `value`, and forget the oldest one if there are many."""
    while len(place) >= CACHE_SIZE:
        # Other threads may do the same: the list is made in one step.
        place.pop(next(iter(list(place)), None), None)
    place[key] = value
