"""A request for a statistic: what is measured, what it costs, and what follows from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from discreet.answer.coded_counts import ColumnCode
from discreet.dp.accounting import rho_of_epsilon
from discreet.dp.budget import Price
from discreet.dp.noise import Noise
from discreet.dp.spending import PureSpending, ZcdpSpending
from discreet.errors import InvalidBudget, WrongUsage
from discreet.learning.statistics.conclusion import Conclusion, StatisticPlan
from discreet.learning.statistics.kinds import StatisticSpec
from discreet.learning.statistics.looks import content_of_parts
from discreet.learning.statistics.released import (
    NoiseShape,
    ReleasedSums,
    divide_price,
    measure_look,
)
from discreet.learning.statistics.variables import Variables
from discreet.learning.training import TrainingCounts
from discreet.option_values import read_options


@dataclass(frozen=True)
class StatisticRequest:
    """A statistic that is asked for.

    Attributes:
        kind: Which one.
        plan: What is measured, and what concludes from it.
        epsilon: What it may cost.
        delta: The chance that Gaussian noise does not cover; 0 for noise without it.
    """

    kind: StatisticSpec
    plan: StatisticPlan
    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise InvalidBudget("A statistic needs an epsilon above 0, such as 1.")
        if not 0 <= self.delta < 1:
            raise InvalidBudget("A delta is from 0 to below 1, such as 1e-9.")

    @property
    def price(self) -> Price:
        """What the ledger is charged.

        Guarantee: what is measured is rho-zCDP in all, hence (epsilon, delta)-DP (Bun & Steinke 2016, Lemma
        3.5); without a delta it is epsilon-DP, hence epsilon²/2-zCDP (Proposition 3.3).
        """
        if self.delta == 0:
            return Price(self.epsilon, Fraction(0), self.epsilon**2 / 2, Fraction(0))
        whole = rho_of_epsilon(self.epsilon, delta=self.delta)
        return Price(self.epsilon, self.delta, whole, Fraction(0))

    @property
    def noise(self) -> NoiseShape:
        """The shape of the noise."""
        return "laplace" if self.delta == 0 else "gaussian"

    @property
    def column_codes(self) -> list[ColumnCode]:
        """The columns with the codes of their cells, as the engine counts them."""
        missing = self.plan.missing
        if missing is None:
            return [(one.name, one.code, one.size) for one in self.plan.columns]
        codings = [(one.name, one.coding) for one in self.plan.columns]
        return [
            (name, partial(coding.code, missing=missing), missing + 1) for name, coding in codings
        ]

    def key(self) -> str:
        """Return one text for all that decides what is measured; equal measurements are paid once.

        What is concluded, such as the level of confidence, is no part of it.
        """
        look = self.plan.look
        content = {
            "statistic": 1,
            "columns": [one.to_content() for one in self.plan.columns],
            "look": look.to_content(),
            "parts": content_of_parts(look.parts),
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
        }
        return json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))

    def predict_errors(self, *, sensitivity: int) -> Mapping[str, float]:
        """Return the standard deviation of the noise of each part, in rows: as parts of what a row changes at most."""
        spending = self._start_spending(sensitivity, 1, None)
        look = self.plan.look
        prices = divide_price(look, spending.left)
        return {
            part.name: spending.scale(price, change=part.change) / part.change.l1
            for part, price in zip(look.parts, prices, strict=True)
        }

    def measure(self, counts: TrainingCounts, *, noise: Noise | None = None) -> bytes:
        """Return what is released, for the price of the request."""
        spending = self._start_spending(counts.sensitivity, counts.one, noise)
        return measure_look(self.plan.look, counts, spending, noise=self.noise)

    def _start_spending(self, sensitivity: int, one: int, noise: Noise | None) -> ZcdpSpending:
        if self.delta == 0:
            return PureSpending(self.epsilon, sensitivity=sensitivity, one=one, noise=noise)
        whole = rho_of_epsilon(self.epsilon, delta=self.delta)
        return ZcdpSpending(whole, sensitivity=sensitivity, one=one, noise=noise)

    def conclude(self, content: bytes) -> Conclusion:
        """Return what follows from what was released."""
        return self.plan.conclude(ReleasedSums.from_bytes(content))


def plan_statistic(
    kind: StatisticSpec, variables: Variables, *, confidence: float, stated: Mapping[str, object]
) -> StatisticPlan:
    """Return what a kind of statistic measures.

    Raises:
        WrongUsage: The columns or an option are not those that the kind takes.
    """
    if not 0 < confidence < 1:
        raise WrongUsage("The level of confidence is above 0 and below 1, such as 0.95.")
    if variables.by is None and kind.by == "required":
        raise WrongUsage(f"The statistic '{kind.name}' compares groups: `--by COLUMN`.")
    if variables.by is not None and kind.by == "refused":
        raise WrongUsage(f"The statistic '{kind.name}' takes {kind.takes}, and no `--by`.")
    known = {option.name: option for option in kind.options}
    given = {name: value for name, value in stated.items() if value is not None}
    try:
        options = read_options(known, given, owner=f"statistic {kind.name}")
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    return kind.plan(variables, confidence=confidence, **options)
