"""The price of a question and the expected error of its answer, before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import ClassVar

import numpy as np

from discreet.answer import cautions
from discreet.answer.aggregates import Aggregate
from discreet.answer.blocks import UNITS
from discreet.answer.bounds_search import SEARCH_SHARE
from discreet.answer.finish import interval_half_width
from discreet.answer.perturb import noise_deviation
from discreet.answer.plan import LARGEST_EPSILON, Plan, PrivateQueryPlan, make_plan
from discreet.answer.statistics import AggregateReading, read_aggregate_value, value_changes
from discreet.errors import QuestionRefused
from discreet.policy.model import Policy
from discreet.result import TabularResult

ASSUMED_GROUP_SIZE = 1000  # the assumed rows of a group, by default


@dataclass(frozen=True)
class ExpectedError:
    """How far off one aggregate is expected to be in a group of the assumed size.

    `ranks` is for quantiles: how many rows the chosen value may be off in their order.
    """

    aggregate: str
    standard_error: float | None
    within: float | None
    relative: float | None
    ranks: float | None = None


@dataclass(frozen=True)
class Explanation(TabularResult):
    """The price of a question and the errors of its answer; nothing was read and nothing spent."""

    _records: ClassVar[str] = "expected"

    question: str
    epsilon: float
    delta: float
    rho: float | None
    noise: str
    mechanisms: int
    groups: int | None
    threshold: int | None
    size: int
    confidence: float
    expected: tuple[ExpectedError, ...]
    needed_epsilon: float | None
    cells: Mapping[str, list[str] | None]
    remaining: Mapping[str, object]
    cautions: tuple[str, ...]
    cut_epsilon: float = 0.0  # the share that measures how many rows the limits cut off


def explain_plan(
    plan: Plan,
    *,
    question: str,
    size: int = ASSUMED_GROUP_SIZE,
    confidence: float = 0.95,
    within: Fraction | None = None,
    remaining: Mapping[str, object] | None = None,
    policy: Policy | None = None,
) -> Explanation:
    """Return what the plan costs, and what epsilon would bring all errors `within` a share of the value."""
    leaf = plan.private_queries[0]
    needed = None
    if within is not None:
        needed = needed_epsilon(plan, within=within, size=size, confidence=confidence)
    has_cut = any(part.cut is not None for part in plan.private_queries)
    touches = [touch for part in plan.private_queries for touch in part.private_query.rows.touches]
    return Explanation(
        question=question,
        epsilon=float(plan.price.epsilon or 0),
        delta=float(plan.price.delta),
        rho=None if plan.price.rho is None else float(plan.price.rho),
        noise=plan.noise,
        mechanisms=sum(
            len(part.blocks) + len(part.ranks) + len(part.distincts)
            for part in plan.private_queries
        ),
        groups=leaf.domain.size if leaf.domain else None,
        threshold=leaf.threshold,
        size=size,
        confidence=confidence,
        expected=tuple(expected_errors(plan, size=size, confidence=confidence)),
        needed_epsilon=needed,
        cells={
            touch.held.name: None if touch.cells is None else sorted(touch.cells)
            for touch in touches
        },
        remaining=remaining or {},
        cautions=cautions.plan_cautions(plan, policy),
        cut_epsilon=float(plan.epsilon * _answer_share(plan) * plan.cut_share) if has_cut else 0.0,
    )


def _answer_share(plan: Plan) -> Fraction:
    """Return the share of epsilon that is left for the answer where bounds are private."""
    return 1 - SEARCH_SHARE if plan.searches or plan.found else Fraction(1)


def expected_errors(
    plan: Plan,
    *,
    size: int,
    confidence: float,
    leaves: Sequence[PrivateQueryPlan] | None = None,
) -> list[ExpectedError]:
    """Return the errors of every aggregate in a group of `size` rows in the middle of its bounds.

    With `leaves` it is the aggregates of these only.
    """
    return [
        _expected_error(
            aggregate,
            leaf,
            plan.noise,
            size=size,
            confidence=confidence,
            # Before bounds are found, what depends on them is unknown.
            is_open=bool(plan.searches),
        )
        for leaf in (plan.private_queries if leaves is None else leaves)
        for aggregate in leaf.private_query.aggregates
    ]


def _expected_error(
    aggregate: Aggregate,
    leaf: PrivateQueryPlan,
    kind: str,
    *,
    size: int,
    confidence: float,
    is_open: bool,
) -> ExpectedError:
    label = _aggregate_label(aggregate)
    if is_open and aggregate.argument is not None and aggregate.argument.low is not None:
        return ExpectedError(label, None, None, None)
    probe = next((item for item in leaf.ranks if item.aggregate == aggregate), None)
    if probe is not None:
        return ExpectedError(label, None, None, None, probe.rank_error(confidence))
    distinct = next((item for item in leaf.distincts if item.aggregate == aggregate), None)
    if distinct is not None:
        error, value = noise_deviation(float(distinct.scale), kind), None
    else:
        reading = leaf.readings[aggregate]
        noisy = next(item for item in leaf.blocks if item.block.name == reading.block.name)
        # Where rows are weighted, the noise is in units of the full weight, as the sums are.
        one = 1 if reading.block.name == UNITS else leaf.limit.one
        value, error = _value_and_error(
            reading, noise_deviation(float(noisy.scale), kind) / one, size
        )
    half = interval_half_width(error, confidence=confidence, kind=kind)
    relative = half / abs(value) if value else None
    return ExpectedError(label, error, half, relative)


def _aggregate_label(aggregate: Aggregate) -> str:
    if aggregate.argument is None:
        return str(aggregate.ask)
    text = aggregate.argument.tree.find_all(_column_type())
    names = ", ".join(dict.fromkeys(column.name for column in text))
    share = f" {float(aggregate.quantile):g}" if aggregate.quantile is not None else ""
    return f"{aggregate.ask}{share} of {names}" if names else str(aggregate.ask)


def _column_type() -> type:
    from sqlglot import exp

    return exp.Column


def _value_and_error(reading: AggregateReading, deviation: float, size: int) -> tuple[float, float]:
    """Return the value of an aggregate in the middle of its bounds, and its standard error."""
    sums = _middle_vertices(reading, size)
    arrays = [np.array([value]) for value in sums]
    squares = sum(float(change[0]) ** 2 for change in value_changes(reading, arrays, deviation))
    return float(read_aggregate_value(reading, arrays)[0]), sqrt(squares)


def _middle_vertices(reading: AggregateReading, size: int) -> list[float]:
    """Return the vertices of a group whose numbers are half at one bound, half at the other."""
    block, typed = reading.block, reading.aggregate.argument
    if block.degree == 0:
        return [float(size)]
    if len(block.vertices) == 1 and typed is not None:
        low, high = typed.low or 0, typed.high or 0
        return [float(size * (low + high) / 2 / block.step)]
    weights = {1: (0.5, 0.5), 2: (0.375, 0.25, 0.375)}[block.degree]
    shares = [*weights, 0.0] if block.has_rest else list(weights)
    return [size * block.weight * share for share in shares]


def needed_epsilon(plan: Plan, *, within: Fraction, size: int, confidence: float) -> float:
    """Return the least epsilon at which every error is at most `within` of its value.

    Raises:
        QuestionRefused: The error of an aggregate cannot be known in advance, such as a median's.
    """

    def is_enough(epsilon: Fraction) -> bool:
        tried = make_plan(
            plan.question,
            epsilon=epsilon * _answer_share(plan),
            delta=plan.delta,
            noise=plan.noise,
            cut_share=plan.cut_share,
        )
        found = expected_errors(tried, size=size, confidence=confidence)
        if any(item.relative is None for item in found):
            raise QuestionRefused(
                "How far off a quantile or a number of distinct values is depends on the data, and "
                "there is no share of a sum or mean that is 0 in the middle of its bounds. Ask "
                "without --within, or for other counts, sums and means."
            )
        return all(item.relative is not None and item.relative <= within for item in found)

    low, high = Fraction(1, 10**6), LARGEST_EPSILON
    if not is_enough(high):
        raise QuestionRefused(
            f"No epsilon up to {LARGEST_EPSILON} gives errors that small in groups of {size} rows. "
            "Ask for larger groups, or for fewer aggregates at once."
        )
    for _ in range(30):
        # The middle of the exponents, so that few steps suffice.
        middle = Fraction(sqrt(float(low) * float(high))).limit_denominator(10**9)
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return float(high)
