"""The answers of a workload, and what they would cost and how far off they would be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.answer import cautions
from discreet.answer.answer import Answer, make_answer
from discreet.answer.explain import expected_errors
from discreet.answer.finish import FinishedAnswer, interval_half_width
from discreet.answer.marginals import MarginalsPlan
from discreet.answer.plan import Plan
from discreet.answer.question import PrivateQuery
from discreet.answer.released_format import MeasuredTables
from discreet.answer.workload import WorkloadPlan
from discreet.engines.engine import ArrowSchema
from discreet.policy.model import Policy
from discreet.result import Result, TabularResult, to_plain_data

_SHARED = ("spent", "remaining", "confidence", "noise", "cached")  # the same for all answers


@dataclass(frozen=True)
class WorkloadAnswer(Result):
    """The answers to several questions that were paid for once.

    Counts by public keys of the same rows add up over all answers. `spent` is the price of all of them
    together, which each answer has too; `remaining` is what is left of each budget.

    >>> import discreet
    >>> questions = ["SELECT count(*) AS n FROM patients", "SELECT avg(salary) AS pay FROM patients"]
    >>> with discreet.open("patients.csv", "policy.yaml", ledger=":memory:") as curator:
    ...     found = curator.ask_all(questions, epsilon=1, delta="1e-6")
    >>> [answer.columns for answer in found]
    [('n',), ('pay',)]
    """

    questions: tuple[str, ...]
    answers: tuple[Answer, ...]
    spent: Mapping[str, float]
    remaining: Mapping[str, Any]
    confidence: float = 0.95
    noise: str = "gaussian"
    cached: bool = False
    cautions: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return how many answers there are."""
        return len(self.answers)

    def __iter__(self) -> Iterator[Answer]:
        """Return the answers, in the order of the questions."""
        return iter(self.answers)

    def __getitem__(self, place: int) -> Answer:
        """Return one answer."""
        return self.answers[place]

    def to_dict(self) -> dict[str, Any]:
        """Return the answers as plain JSON values."""
        found = super().to_dict()
        found["answers"] = [
            {key: value for key, value in answer.to_dict().items() if key not in _SHARED}
            for answer in self.answers
        ]
        return to_plain_data(found)


@dataclass(frozen=True)
class StatementError:
    """How far off one aggregate of one question is expected to be in each group.

    `together` says that it comes from the residuals that several questions share.
    """

    statement: int
    aggregate: str
    groups: int | None
    standard_error: float | None
    within: float | None
    ranks: float | None
    together: bool


@dataclass(frozen=True)
class WorkloadExplanation(TabularResult):
    """The price of a workload and the errors of its answers; nothing was read and nothing spent."""

    _records: ClassVar[str] = "expected"

    questions: tuple[str, ...]
    epsilon: float
    delta: float
    rho: float | None
    noise: str
    measurements: int
    confidence: float
    expected: tuple[StatementError, ...]
    remaining: Mapping[str, object]
    cautions: tuple[str, ...]


def gather_answers(
    plan: WorkloadPlan, finished: Sequence[Answer], measured: MeasuredTables, *, confidence: float
) -> WorkloadAnswer:
    """Return the answers in the order of the questions; `finished` has one for each statement of the plan."""
    answers = [
        finished[place].with_budget(
            measured.remaining, confidence=confidence, cached=measured.is_known
        )
        for place in plan.asked
    ]
    return WorkloadAnswer(
        questions=tuple(plan.texts[place] for place in plan.asked),
        answers=tuple(answers),
        spent=answers[0].spent,
        remaining=measured.remaining,
        confidence=confidence,
        noise=plan.noise,
        cached=measured.is_known,
        cautions=tuple(
            dict.fromkeys(
                [c for answer in answers for c in answer.cautions]
                + [*plan.cautions, *measured.cautions]
            )
        ),
    )


def empty_answer(columns: ArrowSchema, plan: Plan, *, caution: str) -> Answer:
    """Return an answer without rows to a question of a workload that could not be computed."""
    finished = FinishedAnswer(columns.empty_table(), (None,) * len(columns.names))
    spent = {"epsilon": float(plan.epsilon), "delta": float(plan.delta)}
    return make_answer(finished, plan, spent=spent, cautions=(caution,))


def explain_workload(
    plan: WorkloadPlan,
    policy: Policy | None,
    remaining: Mapping[str, object],
    *,
    size: int,
    confidence: float,
) -> WorkloadExplanation:
    """Return what a workload costs, and how far off its answers would be."""
    notes = [note for one in plan.statements for note in cautions.plan_cautions(one.plan, policy)]
    return WorkloadExplanation(
        questions=tuple(plan.texts[place] for place in plan.asked),
        epsilon=float(plan.epsilon),
        delta=float(plan.delta),
        rho=None if plan.price.rho is None else float(plan.price.rho),
        noise=plan.noise,
        measurements=_count_measurements(plan),
        confidence=confidence,
        expected=tuple(_expected_errors(plan, size=size, confidence=confidence)),
        remaining=remaining,
        cautions=tuple(dict.fromkeys([*notes, *plan.cautions])),
    )


def _expected_errors(plan: WorkloadPlan, *, size: int, confidence: float) -> list[StatementError]:
    """Return the errors of every aggregate of every question, in a group of `size` rows."""
    found: list[StatementError] = []
    for number, place in enumerate(plan.asked, 1):
        statement = plan.statements[place]
        for leaf, family in zip(statement.plan.private_queries, statement.families, strict=True):
            groups = leaf.domain.size if leaf.domain is not None else None
            if family is not None:
                deviation = _finest_deviation(family, leaf.private_query)
                half = interval_half_width(deviation, confidence=confidence, kind=plan.noise)
                found.append(StatementError(number, "count", groups, deviation, half, None, True))
                continue
            found += [
                StatementError(
                    number, one.aggregate, groups, one.standard_error, one.within, one.ranks, False
                )
                for one in expected_errors(
                    statement.plan, leaves=(leaf,), size=size, confidence=confidence
                )
            ]
    return found


def _finest_deviation(family: MarginalsPlan, leaf: PrivateQuery) -> float:
    places = {key.typed.tree.sql(): place for place, key in enumerate(family.family.keys)}
    return family.cell_deviation(tuple(sorted(places[key.tree.sql()] for key in leaf.keys)))


def _count_measurements(plan: WorkloadPlan) -> int:
    """Return how many vectors are measured."""
    return sum(
        len(one.residuals)
        if isinstance(one, MarginalsPlan)
        else len(one.blocks) + len(one.ranks) + len(one.distincts)
        for one in plan.private_queries
    )
