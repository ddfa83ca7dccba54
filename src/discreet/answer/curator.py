"""The curator: reserve budget, query, add noise, commit, compute, return: always in this order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from discreet.answer import cautions, finish
from discreet.answer.accounts import require_remaining_budget, summarize_remaining
from discreet.answer.answer import Answer, make_answer
from discreet.answer.bounds_search import read_private_bounds
from discreet.answer.cancellation import CancelToken
from discreet.answer.cut_rows import CUT_SHARE
from discreet.answer.explain import Explanation, explain_plan
from discreet.answer.ledgers import open_ledger
from discreet.answer.limits import LimitAdvice, advise_limits
from discreet.answer.payment import Payments
from discreet.answer.perturb import ReleasedTable
from discreet.answer.plan import Noise, Plan
from discreet.answer.planner import QuestionPlanner, cache_value, find_workload
from discreet.answer.question_key import question_key
from discreet.answer.register import RegisteredTable, RegistrableSource
from discreet.answer.released_format import (
    MeasuredTables,
    unpack_released,
)
from discreet.answer.spending import Spending, read_spending
from discreet.answer.tables import ReadOptions, open_catalog
from discreet.answer.unexpected_errors import hide_unexpected_errors, pad_duration
from discreet.answer.workload import (
    LAYOUT,
    PlannedStatement,
    Strategy,
    WorkloadPlan,
    statement_tables,
)
from discreet.answer.workload_answer import (
    WorkloadAnswer,
    WorkloadExplanation,
    empty_answer,
    explain_workload,
    gather_answers,
)
from discreet.dp.accounting.exact import ExactNumber, to_fraction
from discreet.dp.ledger.ledger import Ledger
from discreet.dp.ledger.records import Reservation
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import ArrowSchema
from discreet.errors import DiscreetError, EngineFailed, WrongUsage
from discreet.policy.load import load_policy
from discreet.policy.model import Policy

LARGEST_CACHED = 1 << 20  # bytes


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
        self._answers: dict[object, Answer] = {}
        self.payments = Payments(self)
        # One thread: the same released tables give the same rows in the same order each time.
        self._home = DuckDB(threads=1)
        self._home.lock_external_access()
        self._home_lock = threading.Lock()
        self._planner = QuestionPlanner(
            catalog, ledger, analyst, self._home, self.payments.lock, self._home_lock
        )

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
            question = self._planner.weigh(question) if weighted else question
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

    def ask_all(
        self,
        questions: str | Sequence[str],
        *,
        epsilon: ExactNumber | None = None,
        delta: ExactNumber = 0,
        confidence: float = 0.95,
        weighted: bool = False,
        cut_share: ExactNumber = str(float(CUT_SHARE)),
        strategy: Strategy = "residuals",
        stop: CancelToken | None = None,
    ) -> WorkloadAnswer:
        """Return private answers to several questions, and charge them once, as one.

        Shares and measurements are those of the least total error. Counts of the same rows by public keys add
        up over all answers. The same questions on the same data cost nothing again, in any order.

        Args:
            questions: The questions, one text in which semicolons separate them, or the name of a workload
                of the policy.
            epsilon: What they may cost at most, all together; by default what the policy declares.
            delta: The chance that Gaussian noise does not cover, such as 1e-6; 0: as the policy declares.
            confidence: The confidence level of intervals.
            weighted: Each row counts as its sampling weight.
            cut_share: The share of epsilon that measures how many rows the limits cut off; 0: none.
            strategy: `residuals`; to compare with, `shares` and `equal` measure each question apart.
            stop: Ends it from another thread.

        Raises:
            QuestionRefused: There is no private answer to one of them; nothing was spent.
            BudgetExceeded: Too little is left; nothing was spent.

        >>> with open_curator("patients.csv", "policy.yaml", ledger=":memory:") as curator:
        ...     total = "SELECT count(*) AS n FROM patients"
        ...     found = curator.ask_all([total, f"{total} WHERE salary > 50000"], epsilon=1, delta="1e-6")
        >>> [answer.columns for answer in found]
        [('n',), ('n',)]
        """
        with pad_duration(self.quantum):
            finish.require_confidence(confidence)
            plan = self._planner.plan_all(
                *find_workload(self.policy, questions, epsilon, delta),
                weighted=weighted,
                cut_share=cut_share,
                strategy=strategy,
            )
            stop = stop or CancelToken()
            measured = self.measure(plan, plan.text, options=[LAYOUT, strategy], stop=stop)
            finished = [self._finish_statement(one, measured, stop) for one in plan.statements]
            return gather_answers(plan, finished, measured, confidence=confidence)

    def shape_all(
        self,
        questions: str | Sequence[str],
        *,
        epsilon: ExactNumber | None = None,
        delta: ExactNumber = 0,
        cut_share: ExactNumber = str(float(CUT_SHARE)),
    ) -> list[ArrowSchema]:
        """Return the columns that the answers to several questions have; nothing is spent or read."""
        plan = self._planner.plan_all(
            *find_workload(self.policy, questions, epsilon, delta),
            weighted=False,
            cut_share=cut_share,
        )
        statements = [plan.statements[place] for place in plan.asked]
        return [self._statement_shape(one) for one in statements]

    def _statement_shape(self, statement: PlannedStatement) -> ArrowSchema:
        counts = finish.DECIMALS if any(statement.families) else finish.INTEGERS
        return self._planner.shape(statement.plan.question, counts=counts)

    def _finish_statement(
        self, statement: PlannedStatement, measured: MeasuredTables, stop: CancelToken
    ) -> Answer:
        """Return the answer to one question of a workload, without rows if it cannot be computed.

        All of them are paid for, and one that fails must not cost the others.
        """
        tables = statement_tables(statement, measured.released)
        try:
            return self._finish_answer(statement.plan, tables, stop)
        except EngineFailed as error:
            return empty_answer(
                self._statement_shape(statement), statement.plan, caution=str(error)
            )

    def explain_all(
        self,
        questions: str | Sequence[str],
        *,
        epsilon: ExactNumber | None = None,
        delta: ExactNumber = 0,
        confidence: float = 0.95,
        weighted: bool = False,
        cut_share: ExactNumber = str(float(CUT_SHARE)),
        size: int = 1000,
    ) -> WorkloadExplanation:
        """Return what several questions would cost together and how far off their answers would be.

        Arguments are those of `ask_all`, and the rows that a group is taken to have. Nothing is spent or read.
        """
        finish.require_confidence(confidence)
        plan = self._planner.plan_all(
            *find_workload(self.policy, questions, epsilon, delta),
            weighted=weighted,
            cut_share=cut_share,
        )
        charged = self.payments.predict_accounts(plan.touches, at=self.clock())
        left = summarize_remaining(self.ledger.remaining(charged.accounts))
        found = explain_workload(plan, self.policy, left, size=size, confidence=confidence)
        return replace(found, cautions=(*found.cautions, *charged.cautions))

    def measure(
        self,
        plan: Plan | WorkloadPlan,
        text: str,
        *,
        options: Sequence[object] = (),
        key: str | None = None,
        at: datetime | None = None,
        stop: CancelToken | None = None,
    ) -> MeasuredTables:
        """Return the released tables of a plan, the budget left, and whether it was known.

        It is charged as a question is, and the same plan on the same data is free again. `key` is its key in
        the ledger, where it has one of its own.
        """
        at, stop = at or self.clock(), stop or CancelToken()
        charged = self.payments.find_accounts(plan.touches, at=at, stop=stop)
        accounts = charged.accounts
        key = key or question_key(text, plan, accounts, analyst=self.analyst, options=options)
        reservation = self.payments.reserve(
            plan.touches, accounts, plan.price, key=key, at=at, question=text
        )
        packed = reservation.answer or self.payments.release_plan(
            plan, reservation, stop, consistent=False
        )
        left = summarize_remaining(self.ledger.remaining(accounts))
        tables, is_known = unpack_released(packed), reservation.answer is not None
        return MeasuredTables(tables, left, is_known, reservation.is_new, charged.cautions)

    def _search(self, plan: Plan, question: str, at: datetime, stop: CancelToken) -> Plan:
        """Find the bounds that a plan needs, and return it with them; each search is charged apart."""
        accounts = self.payments.find_accounts(plan.touches, at=at, stop=stop).accounts
        require_remaining_budget(self.ledger.remaining(accounts), plan.price)
        found, paid = dict(plan.found), dict(plan.paid)
        for search in plan.searches:
            alone = replace(
                plan,
                private_queries=(search.plan,),
                noise="laplace",
                price=search.price,
                searches=(),
            )
            measured = self.measure(alone, search.question, key=search.key, at=at, stop=stop)
            (released,) = measured.released.values()
            found[search.column] = read_private_bounds(released)
            if measured.is_new:
                paid[search.column] = search.price.epsilon or to_fraction(0)
        return replace(self._planner.plan_with_bounds(question, plan, found), paid=paid)

    def _answer_reservation(
        self, plan: Plan, reservation: Reservation, stop: CancelToken, *, consistent: bool
    ) -> tuple[Answer, bool]:
        """Return the answer to what the ledger has or gets, and whether it was there."""
        packed = reservation.answer
        is_known = packed is not None
        if packed is None:
            packed = self.payments.release_plan(plan, reservation, stop, consistent=consistent)
        answer = self._finish_answer(plan, unpack_released(packed), stop)
        if len(packed) < LARGEST_CACHED:
            cache_value(self._answers, reservation.key, answer)
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
        return self._planner.plan(
            question, epsilon=epsilon, delta=delta, noise=noise, cut_share=cut_share
        )

    def shape(self, plan: Plan) -> ArrowSchema:
        """Return the columns that the answer to a plan has; nothing is spent or read."""
        return self._planner.shape(plan.question)

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
        question = self._planner.weigh(question) if weighted else question
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

    def _finish_answer(
        self, plan: Plan, released: Mapping[str, ReleasedTable], stop: CancelToken
    ) -> Answer:
        """Return the answer computed from released tables, which are public.

        It may be stopped, fail or take long: the next time it starts from the same tables.
        """
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
