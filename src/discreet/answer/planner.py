"""From the text of questions to their plans, which are remembered; no row is read and nothing is spent."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeVar

from sqlglot import exp

from discreet.answer import finish
from discreet.answer.bounds_search import (
    SEARCH_SHARE,
    find_known_bounds,
    resolve_searching,
    with_searches,
)
from discreet.answer.bounds_search import Column as Place
from discreet.answer.bounds_search import Range as Bounds
from discreet.answer.plan import Noise, Plan, make_plan
from discreet.answer.question import Question
from discreet.answer.resolve import resolve_question
from discreet.answer.statement import DIALECT, parse_question, split_questions
from discreet.answer.weighting import weigh_question
from discreet.answer.workload import Strategy, WorkloadPlan, name_statement, plan_workload
from discreet.dp.accounting.exact import ExactNumber, to_fraction
from discreet.dp.ledger.ledger import Ledger
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import ArrowSchema
from discreet.errors import InvalidBudget, InvalidQuestion
from discreet.policy.model import Policy

CACHE_SIZE = 256  # plans and answers in memory; the ledger has all answers
Kept = TypeVar("Kept")


@dataclass
class QuestionPlanner:
    """Plans questions about the tables of one catalog.

    `lock` is that of the engine, which may be held for long; `home_lock` that of `home`, a DuckDB without any
    data, which mostly is not.
    """

    catalog: Any
    ledger: Ledger
    analyst: str | None
    home: DuckDB
    lock: threading.Lock
    home_lock: threading.Lock
    _questions: dict[object, tuple[Question, str]] = field(
        default_factory=dict[object, "tuple[Question, str]"]
    )
    _plans: dict[object, tuple[Plan, str]] = field(default_factory=dict[object, "tuple[Plan, str]"])

    def plan(
        self,
        question: str,
        *,
        epsilon: ExactNumber,
        delta: ExactNumber,
        noise: Noise | None,
        cut_share: ExactNumber,
    ) -> tuple[Plan, str]:
        """Return how a question would be answered, and its normal form."""
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
                cache_value(self._plans, key, found)
        return found

    def plan_all(
        self,
        questions: Sequence[str],
        epsilon: Fraction,
        delta: Fraction,
        *,
        weighted: bool,
        cut_share: ExactNumber,
        strategy: Strategy = "residuals",
    ) -> WorkloadPlan:
        """Return how several questions would be answered together."""
        asked: list[tuple[Question, str]] = []
        for number, text in enumerate(questions, 1):
            with name_statement(number):
                asked.append(self._read(self.weigh(text) if weighted else text))
        plan = plan_workload(
            asked,
            epsilon=epsilon,
            delta=delta,
            cut_share=to_fraction(cut_share),
            strategy=strategy,
        )
        for number, place in enumerate(plan.asked, 1):
            if any(plan.statements[place].families):
                question = plan.statements[place].plan.question
                with name_statement(number), self.home_lock:
                    finish.rehearse_question(question, self.home, counts=finish.DECIMALS)
        return plan

    def weigh(self, question: str) -> str:
        """Return the question in which each row counts as its weight."""
        return weigh_question(question, self.catalog, self.lock)

    def shape(
        self, question: Question, *, counts: finish.ArrowType = finish.INTEGERS
    ) -> ArrowSchema:
        """Return the columns that the answer to a question has; `counts` is the type of counts."""
        with self.home_lock:
            return finish.answer_column_types(question, self.home, counts=counts)

    def plan_with_bounds(self, question: str, plan: Plan, found: Mapping[Place, Bounds]) -> Plan:
        """Return the plan of a question with bounds that were found."""
        with self.lock:
            asked = resolve_question(parse_question(question), self.catalog.with_bounds(found))
        made = make_plan(
            asked,
            epsilon=plan.epsilon * (1 - SEARCH_SHARE),
            delta=plan.delta,
            noise=plan.noise,
            cut_share=plan.cut_share,
        )
        return replace(made, epsilon=plan.epsilon, found=found)

    def _with_searches(self, question: str, plan: Plan, asked: Question, epsilon: Fraction) -> Plan:
        """Return the plan with the bounds that are known, or with the searches that find them."""
        found, searches = find_known_bounds(
            asked, self.catalog, self.ledger, epsilon=epsilon, analyst=self.analyst
        )
        plan = replace(plan, epsilon=epsilon)
        if not searches:
            return self.plan_with_bounds(question, plan, found)
        return replace(with_searches(plan, searches, epsilon), found=found)

    def _read(self, question: str) -> tuple[Question, str]:
        """Return the parsed question and its normal form; it is parsed once for all prices."""
        found = self._questions.get(question)
        if found is None:
            statement = parse_question(question)
            asked = self._resolve_statement(statement)
            found = asked, statement.sql(dialect=DIALECT, normalize=True, comments=False)
            if not self.catalog.has_public:
                cache_value(self._questions, question, found)
        return found

    def _resolve_statement(self, statement: exp.Query) -> Question:
        try:
            with self.lock:  # public tables are looked at
                asked = resolve_searching(statement, self.catalog)
            with self.home_lock:
                finish.rehearse_question(asked, self.home)
        except RecursionError:
            pass
        else:
            return asked
        raise InvalidQuestion("The question is nested too deeply. Split it.")


def find_workload(
    policy: Policy | None,
    questions: str | Sequence[str],
    epsilon: ExactNumber | None,
    delta: ExactNumber,
) -> tuple[Sequence[str], Fraction, Fraction]:
    """Return the questions of a workload and what they may cost; one that the policy declares goes by its name."""
    found = to_fraction(delta)
    declared = None
    if isinstance(questions, str):
        declared = policy.workloads.get(questions) if policy is not None else None
        questions = declared.queries if declared is not None else split_questions(questions)
    if not questions:
        raise InvalidQuestion("A workload needs at least one question. Write a SELECT.")
    if declared is not None:
        epsilon, found = epsilon or declared.epsilon, found or to_fraction(declared.delta)
    if epsilon is None:
        raise InvalidBudget("A workload needs an epsilon, such as 1: what all of it may cost.")
    return questions, to_fraction(epsilon), found


def cache_value(place: dict[object, Kept], key: object, value: Kept) -> None:
    """Remember `value`, and forget the oldest one if there are many."""
    while len(place) >= CACHE_SIZE:
        # Other threads may do the same: the list is made in one step.
        place.pop(next(iter(list(place)), None), None)
    place[key] = value
