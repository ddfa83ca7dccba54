"""The limit on a person's rows with the least error, from a private histogram of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any, ClassVar

import numpy as np

from discreet.answer.catalog import Catalog, CatalogTable
from discreet.answer.contribution import Contribution
from discreet.answer.cut_rows import ONE, Bins, CutProbe, cut_query, read_bins
from discreet.answer.finish import interval_half_width
from discreet.answer.keys import KeyDomain
from discreet.answer.perturb import noise_deviation
from discreet.answer.plan import LARGEST_EPSILON, Plan, PrivateQueryPlan
from discreet.answer.question import PrivateQuery, Question
from discreet.answer.released_format import MeasuredTables
from discreet.answer.sources import scan_table
from discreet.dp import event as events
from discreet.dp.accounting.exact import ExactNumber, to_fraction
from discreet.dp.budget import Price
from discreet.dp.noise import representable
from discreet.errors import InvalidBudget, QuestionRefused
from discreet.result import TabularResult
from discreet.sql import build

# Releases a plan once, and charges it: the tables, the budget left, whether it was known.
Measure = Callable[[Plan, str], MeasuredTables]

BINS = Bins(base=2, count=20)  # of people by their rows: 1, 2, up to 4, up to 8 … up to a million
_ALL = Contribution("rescale", 1, 1, 1, 1)
_NAME = "limits"


@dataclass(frozen=True)
class LimitError:
    """How far off a count is with this limit: rows cut off, and noise.

    `cut_off` is the share of rows that do not count. `bias` and `noise` are in rows of one group, the
    noise at the stated confidence, and `error` is both together.
    """

    limit: int
    cut_off: float
    bias: float
    noise: float
    error: float


@dataclass(frozen=True)
class LimitAdvice(TabularResult):
    """The error of a count against the limit on a person's rows, and the limit that errs least.

    `people` and `rows` are noisy. `epsilon` and `groups` are of the question that the errors are for;
    `spent` is what this cost.
    """

    _records: ClassVar[str] = "curve"

    table: str
    unit: str
    people: float
    rows: float
    epsilon: float
    groups: int
    confidence: float
    curve: tuple[LimitError, ...]
    recommended: int | None  # None where noise hides how many rows people have
    spent: Mapping[str, float]
    remaining: Mapping[str, Any]
    cached: bool


def advise_limits(
    catalog: Catalog,
    measure: Measure,
    table: str | None = None,
    *,
    epsilon: ExactNumber,
    for_epsilon: ExactNumber = 1,
    groups: int = 1,
    confidence: float = 0.95,
) -> LimitAdvice:
    """Return which `rows-per-unit` suits questions of `for_epsilon`, and charge `epsilon`.

    Guarantee: epsilon-DP between tables that differ in all rows of one unit, however many these are:
    each unit adds 1 to one bin (discrete Laplace noise).

    Raises:
        QuestionRefused: Each row is a person, or the table is public.
        BudgetExceeded: Too little is left; nothing was spent.
    """
    price, asked = to_fraction(epsilon), to_fraction(for_epsilon)
    for amount in (price, asked):
        if not 0 < amount <= LARGEST_EPSILON:
            raise InvalidBudget(f"epsilon must be above 0 and at most {LARGEST_EPSILON}.")
    held = catalog.find_named(table)
    probe = _make_probe(held, price)
    plan = _make_limits_plan(held, probe, price)
    measured = measure(plan, f"discreet limits {held.name}")
    noisy = measured.released[_NAME].cut or ()
    deviation = noise_deviation(float(probe.scale), "laplace")
    found = read_bins(noisy, deviation, BINS)
    curve = tuple(
        _limit_error(limit, found.kept, found.rows, float(asked), groups, confidence)
        for limit in _candidate_limits(len(found.kept))
    )
    return LimitAdvice(
        table=held.name,
        unit=held.unit or "",
        people=max(float(found.kept.sum()), 0.0),
        rows=max(float(found.rows.sum()), 0.0),
        epsilon=float(asked),
        groups=groups,
        confidence=confidence,
        curve=curve,
        recommended=None if found.is_hidden else min(curve, key=lambda one: one.error).limit,
        spent={"epsilon": 0.0 if measured.is_known else float(price), "delta": 0.0},
        remaining=measured.remaining,
        cached=measured.is_known,
    )


def _make_probe(held: CatalogTable, epsilon: Fraction) -> CutProbe:
    if held.is_public or held.unit is None:
        raise QuestionRefused(
            f"Table '{held.name}' has no `unit:`, so that each row is a person and none is cut off. "
            "Name the column that identifies the person."
        )
    query = cut_query(scan_table(held, held.name), (), _ALL, BINS)
    return CutProbe(query, _ALL, ONE, representable(ONE / epsilon), BINS)


def _make_limits_plan(held: CatalogTable, probe: CutProbe, epsilon: Fraction) -> Plan:
    event = events.Sequence((events.Laplace(Fraction(ONE), probe.scale),))
    leaf = PrivateQueryPlan(
        private_query=PrivateQuery(_NAME, scan_table(held, held.name), (), (), ((),)),
        domain=KeyDomain((), ()),
        query=None,
        limit=_ALL,
        blocks=(),
        readings={},
        ranks=(),
        distincts=(),
        selector=None,
        threshold=None,
        cut=probe,
        event=event,
    )
    asked = Question(
        (leaf.private_query,), build.select(source=build.table(_NAME)), (), is_direct=False
    )
    cost = Price(epsilon, Fraction(0), epsilon**2 / 2, Fraction(0))
    return Plan(asked, (leaf,), "laplace", epsilon, Fraction(0), event, cost, Fraction(1))


def _candidate_limits(bins: int) -> list[int]:
    """Return the limits at the ends of the bins that people are in."""
    return [BINS.base**number for number in range(bins)]


def _limit_error(
    limit: int, people: Any, rows: Any, epsilon: float, groups: int, confidence: float
) -> LimitError:
    place = round(log(limit, BINS.base)) + 1
    whole = max(float(np.sum(rows)), 1.0)
    counted = float(np.sum(rows[:place]) + limit * np.sum(people[place:]))
    lost = min(max(whole - counted, 0.0), whole)
    spread = noise_deviation(limit / epsilon, "laplace")
    noise = interval_half_width(spread, confidence=confidence, kind="laplace")
    bias = lost / groups
    return LimitError(limit, lost / whole, bias, noise, bias + noise)
